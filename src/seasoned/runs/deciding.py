"""What becomes of an atom that was found: stored, skipped, used to update one that is known, or merged into one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from seasoned.runs.rows import StoredAtom, with_turns
from seasoned.text import likeness

ALIKE: Final = 0.9
"""From this likeness on, two atoms of one type and turn say the same."""


class Decision(StrEnum):
    """What becomes of an atom."""

    STORE = "store"
    SKIP = "skip"
    UPDATE = "update"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision, and the atom as it stands after it."""

    decision: Decision
    stored: StoredAtom


def decide(new: StoredAtom, known: Mapping[str, StoredAtom]) -> Decided:
    """Decide on an atom, given those that are known by their ids."""
    same = known.get(new.atom.id)
    if same is not None:
        return _against_same(new, same)
    alike = next((each for each in known.values() if _alike(each, new)), None)
    return Decided(Decision.STORE, new) if alike is None else _merged(new, alike)


def _against_same(new: StoredAtom, same: StoredAtom) -> Decided:
    if replace(new.atom, turns=[]) == replace(same.atom, turns=[]):
        return Decided(Decision.SKIP, same)
    return Decided(Decision.UPDATE, replace(with_turns(new, same.turns), version=same.version, credit=same.credit))


def _alike(known: StoredAtom, new: StoredAtom) -> bool:
    one, other = known.atom, new.atom
    return one.type == other.type and one.turn == other.turn and likeness(one.content, other.content) >= ALIKE


def _merged(new: StoredAtom, alike: StoredAtom) -> Decided:
    united = with_turns(alike, new.turns)
    atom = replace(united.atom, priority=max(alike.atom.priority, new.atom.priority))
    merged = replace(united, atom=atom)
    return Decided(Decision.SKIP if merged == alike else Decision.MERGE, merged)


def kept(ring: Sequence[StoredAtom], changed: Iterable[StoredAtom], most: int) -> list[StoredAtom]:
    """Return the ring after atoms were added or changed: the lowest priority leaves first, the oldest of equals."""
    atoms = {each.atom.id: each for each in (*ring, *changed)}
    places = {name: place for place, name in enumerate(atoms)}
    best = sorted(atoms.values(), key=lambda each: (-each.atom.priority, -each.atom.turn, -places[each.atom.id]))
    names = {each.atom.id for each in best[:most]}
    return [each for name, each in atoms.items() if name in names]


def observations(ring: Sequence[StoredAtom], most: int) -> list[str]:
    """Return what the most important atoms say, each text once: by priority, the newest of equals first."""
    ordered = sorted(enumerate(ring), key=lambda pair: (-pair[1].atom.priority, -pair[1].atom.turn, -pair[0]))
    return list(dict.fromkeys(each.atom.content for _, each in ordered))[:most]
