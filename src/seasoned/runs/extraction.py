"""Finding atoms in one window of turns: the extractor is asked, its atoms are checked and decided on."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from seasoned.ports import Put, Store
from seasoned.runs.deciding import Decision, decide, kept
from seasoned.runs.head import Failed, Head
from seasoned.runs.models import L1Atom, TurnWindow
from seasoned.runs.policy import RunPolicy
from seasoned.runs.protocols import AtomExtractor
from seasoned.runs.reading import atoms_by_id
from seasoned.runs.rows import StoredAtom, StoredTurn, atom_row
from seasoned.search import Searcher

MAX_TRIES: Final = 3
"""How often a window is tried; then it waits for the end of the run."""

MAX_LOOKBACK: Final = 10_000
"""Most turns before its new ones that an extractor is shown."""

MAX_FAILED: Final = 1_000
"""Most failed windows that are kept apart; neighbours are joined beyond."""

MAX_SOURCES: Final = 200
"""Most sources of an episode, and most atoms that wait for one."""

VERB: Final = "extract_atoms"

_LOG: Final = logging.getLogger("seasoned.runs")


@dataclass(frozen=True, slots=True)
class Window:
    """Turns to look at: `turns[fresh:]` are new, those before them were in the window before."""

    turns: Sequence[StoredTurn]
    fresh: int
    tries: int = 0

    @property
    def first(self) -> int:
        """The number of the first new turn."""
        return self.turns[self.fresh].turn.turn

    @property
    def last(self) -> int:
        """The number of the last turn."""
        return self.turns[-1].turn.turn


@dataclass(frozen=True, slots=True)
class Extracted:
    """The head after a window, the puts to write before it, and the new atoms."""

    head: Head
    puts: Sequence[Put] = ()
    atoms: Sequence[L1Atom] = ()


def lookback_of(extractor: AtomExtractor) -> int:
    """Return how many turns before the new ones an extractor is to see, at least 1."""
    asked = getattr(extractor, "lookback", 1)
    number = asked if isinstance(asked, int) and not isinstance(asked, bool) else 1
    return min(max(number, 1), MAX_LOOKBACK)


def extract(
    store: Store, searcher: Searcher, head: Head, window: Window, extractor: AtomExtractor, policy: RunPolicy
) -> Extracted:
    """Return what one window gives; an extractor that fails gives nothing, and the window waits in the head."""
    ring = atoms_by_id(store, head.ids, head.ring)
    found = _found(extractor, window, [each.atom for each in ring])
    if isinstance(found, str):
        return Extracted(_failed(head, window, found))
    atoms, refused = found
    known = {each.atom.id: each for each in (*ring, *atoms_by_id(store, head.ids, (atom.id for atom in atoms)))}
    new, changed = list[str](), dict[str, StoredAtom]()
    for atom in atoms:
        decided = decide(_stored(atom, window), known)
        name = decided.stored.atom.id
        known[name] = decided.stored
        unknown = atom.turn >= window.first and not (name in head.ring and name in head.since)
        if decided.decision is not Decision.SKIP or unknown:  # unknown: a process wrote it and died before the head
            changed[name] = decided.stored
        if decided.decision in (Decision.STORE, Decision.UPDATE):
            new.append(name)
    after = _after(head, window, kept(ring, changed.values(), policy.max_atoms), changed)
    puts = _puts(searcher, after, changed.values())
    return Extracted(_reporting(after, refused), puts, [known[name].atom for name in dict.fromkeys(new)])


def _found(extractor: AtomExtractor, window: Window, existing: list[L1Atom]) -> tuple[list[L1Atom], list[str]] | str:
    """Return the atoms of a window and why others are refused, or why there are none at all."""
    shown = TurnWindow([each.turn for each in window.turns], window.fresh)
    try:
        given: object = extractor.extract(shown, existing)
        items = list(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes, dict)) else None
    except Exception as error:  # noqa: BLE001  # the caller's own code: whatever it raises, the run goes on
        return f"the extractor failed: {type(error).__name__}: {error!s:.300}"
    if items is None:
        return f"the extractor returned {given!r:.80}, not a list of L1Atom"
    atoms = [item for item in items if isinstance(item, L1Atom)]
    return atoms, [f"{item!r:.80} is not an L1Atom" for item in items if not isinstance(item, L1Atom)]


def _stored(atom: L1Atom, window: Window) -> StoredAtom:
    """Return the atom with its turns; one that names none of the window's was derived from all that is new in it."""
    at = {each.turn.turn: each.at for each in window.turns}
    named = sorted({turn for turn in atom.turns or [atom.turn] if turn in at})
    turns = tuple(named) or tuple(each.turn.turn for each in window.turns[window.fresh :])
    return StoredAtom(replace(atom, turns=[*turns]), turns, at.get(atom.turn, at[turns[-1]]))


def _after(head: Head, window: Window, ring: Sequence[StoredAtom], changed: Iterable[str]) -> Head:
    since = tuple(dict.fromkeys((*head.since, *changed)))[-MAX_SOURCES:]
    failed = tuple(each for each in head.failed if (each.first, each.last) != (window.first, window.last))
    return replace(
        head,
        extracted=max(head.extracted, window.last),
        ring=tuple(each.atom.id for each in ring),
        since=since,
        failed=failed,
    )


def _puts(searcher: Searcher, head: Head, changed: Iterable[StoredAtom]) -> list[Put]:
    rows = [atom_row(head.ids, each) for each in changed]
    vectors, _ = searcher.vectors([row.text for row in rows]) if rows else ([], None)
    return [Put(row, vector) for row, vector in zip(rows, vectors, strict=True)]


def _reporting(head: Head, refused: Sequence[str]) -> Head:
    if not refused:
        return head if head.failed else head.clear(VERB)
    reason = f"{len(refused)} atoms were refused: {'; '.join(refused)[:300]}"
    _LOG.warning("run %s: %d atoms were refused", head.ids.run, len(refused))
    return replace(head.failing(VERB, reason), refused=head.refused + len(refused))


def _failed(head: Head, window: Window, reason: str) -> Head:
    _LOG.warning("run %s, turns %d to %d: the extractor failed", head.ids.run, window.first, window.last)
    others = [each for each in head.failed if (each.first, each.last) != (window.first, window.last)]
    failed = sorted([*others, Failed(window.first, window.last, window.tries + 1)], key=lambda each: each.first)
    if len(failed) > MAX_FAILED:
        failed = [Failed(failed[0].first, failed[1].last, max(failed[0].tries, failed[1].tries)), *failed[2:]]
    after = replace(head, extracted=max(head.extracted, window.last), failed=tuple(failed))
    return after.failing(VERB, f"turns {window.first} to {window.last}: {reason}")
