"""Print the tables of `docs/results.md` from the JSON that the benchmarks wrote; what stands between them is by hand.

python benchmarks/results.py locomo.json beam.json store.json crash.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from common.report import shown

ABOUT = {
    "LoCoMo": """Turn-level recall: the share of the evidence turns among the first k that a search finds, mean over
questions. One setting for every set; questions are put as they are. The peers get the same texts with the speaker in
front, and Chroma the same MiniLM vectors; "cosine, MiniLM" ranks by those vectors exactly. ms/query is the median with
the query's embedding.""",
    "BEAM": """The same setting as above, with the batches of a chat as sessions.""",
    "store": """Texts are made up (Zipf's law, 20 words in the middle), vectors are unit rows of 384 around random
centres, and all engines get the same. Embedding is excluded. "Waits for the disk" is the number of calls of fsync and
fdatasync for one add, counted by strace: peers that wait are compared with ours at FULL, others with ours at NORMAL.
"Open and first" is opening a file in a new process and the first search in it; the file is in the system's cache.
"First search ever" makes the index, once, after a bulk import. mem0 runs in its default local form (Qdrant in process),
with `infer=False`. Recall is that of the ten nearest by exact cosine. Our hybrid search does more than a peer's: it
ranks by words and by vectors. A disk where others write makes every wait longer, in both columns of the add table, and
then the ratio counts waits rather than work: read it where the p95 is near the p50.""",
    "crash": """A writer is killed (SIGKILL) at random moments, again and again on one file; then every acknowledged id
must be there, every batch whole or absent, and `Memory.check()` content. SIGKILL does not show what a power cut
does.""",
}


def main() -> None:
    """Print a part for each file."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("results", type=Path, nargs="+", help="what the benchmarks wrote with --json")
    given = options.parse_args()
    found = [json.loads(path.read_text(encoding="utf-8")) for path in given.results]
    names = [each["benchmark"] for each in found]
    parts = [part(each, again=each["benchmark"] in names[:place]) for place, each in enumerate(found)]
    print("\n".join(parts))


def part(found: Mapping[str, object], *, again: bool) -> str:
    """Return what the page says of one run; of a benchmark met before, without what it measures."""
    name, machine, notes, tables = (found[each] for each in ("benchmark", "machine", "notes", "tables"))
    assert isinstance(machine, dict)
    assert isinstance(notes, list)
    assert isinstance(tables, list)
    facts = ", ".join(f"{fact} {shown(value)}" for fact, value in machine.items())
    opening = [f"## {name}, in another setting"] if again else [f"## {name}", ABOUT.get(str(name), "")]
    lines = [*opening, f"```sh\n{found['command']}\n```", f"Machine: {facts}.", *tables]
    return "\n\n".join(each.strip("\n") for each in lines if each) + "\n" + _list(notes)


def _list(notes: list[str]) -> str:
    return "\n" + "\n".join(f"- {note}" for note in notes) + "\n" if notes else ""


if __name__ == "__main__":
    main()
