"""Write `docs/results.md` from the JSON that the benchmarks wrote.

python benchmarks/results.py locomo.json beam.json store.json crash.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from common.report import shown

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results.md"

INTRO = """# Results

Measured by the scripts in `benchmarks/`; each part gives its command, and `benchmarks/results.py` writes this page from
their JSON. Times depend on the machine and on what else it does, so read the ratios to the peers, which were measured
in the same run. No test depends on a time.

The data is not part of this project: LoCoMo is `locomo10.json` of snap-research/LoCoMo (CC BY-NC 4.0), BEAM five of the
100K-token chats of mohammadtavakoli78/BEAM. The peers are found with `--peer-python`, the Python of an environment that
has `chromadb`, `mem0ai` and `bm25s` with `PyStemmer`; for `langgraph-checkpoint-sqlite` it must be one whose `sqlite3`
can load extensions. Set `OPENBLAS_NUM_THREADS=1` for steadier times.
"""

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

NOT_MEASURED = """## What is not measured

- A power cut: FULL waits for the disk at every write, and what the disk then does is its own.
- Answers: no language model reads what was found, so these figures are of retrieval alone.
- BEAM's longer chats (500K tokens and more), and LoCoMo's images beyond their captions.
- Peers as servers (Qdrant, Chroma and Postgres over a network), and peers with their own language models.
- 1,000,000 records in one scope, unless a command above says `--million`.
- Windows and macOS, and disks other than the one of this machine.
- Reads while another process writes without pause.
"""


def main() -> None:
    """Write the page."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("results", type=Path, nargs="+", help="what the benchmarks wrote with --json")
    options.add_argument("--out", type=Path, default=PAGE)
    given = options.parse_args()
    found = [json.loads(path.read_text(encoding="utf-8")) for path in given.results]
    names = [each["benchmark"] for each in found]
    parts = [part(each, again=each["benchmark"] in names[:place]) for place, each in enumerate(found)]
    given.out.write_text("\n".join([INTRO, *parts, NOT_MEASURED]), encoding="utf-8")


def part(found: Mapping[str, object], *, again: bool) -> str:
    """Return what the page says of one run; of a benchmark met before, without what it measures."""
    name, machine, notes, tables = (found[each] for each in ("benchmark", "machine", "notes", "tables"))
    assert isinstance(machine, dict)
    assert isinstance(notes, list)
    assert isinstance(tables, list)
    facts = ", ".join(f"{fact} {shown(value)}" for fact, value in machine.items())
    opening = [f"## {name}, in another setting"] if again else [f"## {name}", ABOUT.get(str(name), "")]
    lines = [*opening, f"    {found['command']}", f"Machine: {facts}.", *tables]
    return "\n\n".join(each.strip("\n") for each in lines if each) + "\n" + _list(notes)


def _list(notes: list[str]) -> str:
    return "\n" + "\n".join(f"- {note}" for note in notes) + "\n" if notes else ""


if __name__ == "__main__":
    main()
