"""Any sequence of verbs: a memory in a file, one in this process, and a plain dictionary agree after every step."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from seasoned import Key, Memory, Status
from seasoned.errors import NotFound
from seasoned.testing import FakeClock

from .helping import ids, spelling, texts

NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
WORDS = st.lists(st.sampled_from(["tea", "milk", "rain", "oslo", "茶叶", "wood"]), min_size=1, max_size=4).map(" ".join)
WHERE = st.sampled_from([(), ("below",)])


class Verbs(RuleBasedStateMachine):
    """Writes the same to both memories and to `held`: scope and id -> versions of the text, and the id it came from."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = FakeClock()
        self.held: dict[tuple[tuple[str, ...], str], tuple[list[str], str | None]] = {}
        self.memories = [self.open(self.folder / "a.db"), self.open(None)]

    def open(self, place):
        return Memory(place, scope=("x",), embedder=spelling(), clock=self.clock, durability="normal")

    def both(self, where, verb):
        """Do it on both, and return what both answered."""
        one, other = (verb(memory.within(*where) if where else memory) for memory in self.memories)
        assert one == other
        return one

    @rule(where=WHERE, name=NAMES, text=WORDS, source=st.none() | NAMES)
    def remember(self, where, name, text, source):
        sources = [] if source is None else [Key(("x", *where), "note", source)]
        status = self.both(where, lambda memory: memory.remember(text, id=name, sources=sources).status)
        assert (status is Status.DUPLICATE) == ((where, name) in self.held)
        self.held.setdefault((where, name), ([text], source))

    @rule(where=WHERE, name=NAMES, text=WORDS)
    def update(self, where, name, text):
        if (where, name) not in self.held:
            return
        self.both(where, lambda memory: memory.update(name, text=text).text)
        self.held[where, name][0].append(text)

    @rule(where=WHERE, name=NAMES, hard=st.booleans())
    def forget(self, where, name, hard):
        def verb(memory):
            try:
                receipt = memory.forget(name, hard=hard)
            except NotFound:
                return None
            return receipt.ids, sorted(receipt.derived), receipt.rows, receipt.left, receipt.pending

        answer = self.both(where, verb)
        assert (answer is None) == ((where, name) not in self.held)
        gone, waiting = set(), [name] if answer else []
        while waiting:
            gone.add(each := waiting.pop())
            waiting += [n for (w, n), (_, src) in self.held.items() if w == where and src == each and n not in gone]
        self.held = {key: kept for key, kept in self.held.items() if key[0] != where or key[1] not in gone}

    @rule()
    def reopen(self):
        self.memories[0].close()
        self.memories[0] = self.open(self.folder / "a.db")

    @rule()
    def rebuild(self):
        self.memories[0].rebuild()

    @rule()
    def carry_over(self):
        """Export and import the file's memory into a new one, and go on with that."""
        self.memories[0].export(self.folder / "all.jsonl")
        other = self.open(self.folder / f"{len(list(self.folder.iterdir()))}.db")
        other.import_(self.folder / "all.jsonl")
        other.export(self.folder / "again.jsonl")
        lines = [(self.folder / name).read_text().splitlines()[1:-1] for name in ("all.jsonl", "again.jsonl")]
        graves = [[line for line in each if line.startswith('{"gone"')] for each in lines]
        assert sorted(graves[0]) == sorted(graves[1])
        assert lines[0][len(graves[0]) :] == lines[1][len(graves[1]) :]
        other.close()

    @rule(asked=WORDS)
    def recall(self, asked):
        for where in ((), ("below",)):
            found = self.both(
                where, lambda memory: [(hit.id, round(hit.score, 5)) for hit in memory.recall(asked, k=9)]
            )
            assert {name for name, _ in found} <= {name for w, name in self.held if w == where}
            kept = {name for (w, name), (told, _) in self.held.items() if w == where}
            sharing = {n for n in kept if set(asked.split()) & set(self.held[where, n][0][-1].split())}
            assert sharing <= {name for name, _ in found}

    @invariant()
    def all_agree(self):
        for where in ((), ("below",)):
            listed = self.both(where, lambda memory: list(zip(ids(memory.list()), texts(memory.list()), strict=True)))
            told = {name: versions[-1] for (w, name), (versions, _) in self.held.items() if w == where}
            assert dict(listed) == told
            assert len(listed) == len(told)
            for name in told:
                history = self.both(where, lambda m, n=name: [(h.version, h.record.text) for h in m.history(n)])
                assert history == list(enumerate(self.held[where, name][0], 1))
        assert self.both((), lambda memory: memory.count(subtree=True)) == len(self.held)
        old = sum(len(versions) - 1 for versions, _ in self.held.values())
        assert self.both((), lambda memory: memory.count(kinds="superseded", subtree=True)) == old

    def teardown(self):
        for memory in self.memories:
            assert memory.check() == []
            memory.close()
        shutil.rmtree(self.folder)


Verbs.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestVerbs = Verbs.TestCase
