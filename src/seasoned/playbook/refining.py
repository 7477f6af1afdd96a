"""Refining: what is new in a playbook is compared with the rest, and what says the same becomes one entry.

Only entries that changed since the last time are compared, each with its nearest by words or by vector, so that the
cost grows with what is new. How far it came is kept in one record, with the contradictions that are still open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from seasoned.asking import Flow
from seasoned.errors import InvalidInput
from seasoned.playbook.contradictions import Contradiction, opposed, settled
from seasoned.playbook.core import Core
from seasoned.playbook.deltas import Applied, Changed, Effect, Merge
from seasoned.playbook.entries import Entry
from seasoned.playbook.folds import folds_of
from seasoned.playbook.grouping import Kept, Star, as_one, exact, stars
from seasoned.playbook.likeness import THRESHOLD, folded
from seasoned.playbook.nearest import Nearest, Seen, seen
from seasoned.playbook.watermark import Mark, changed_since, read_mark
from seasoned.playbook.wording import worded
from seasoned.ports import Put
from seasoned.records import finite

ROUNDS: Final = 20
"""How often what a merge has made is compared again; a merge leaves fewer entries, so it ends long before."""

REASON: Final = "refined"

By: TypeAlias = Literal["exact", "rules", "model"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Entries that became one: all their ids, the lowest similarity, the text, and what it was worded by.

    `into` is the id that stays, that of the entry written first; the others resolve to it.
    """

    into: str
    ids: tuple[str, ...]
    similarity: float
    text: str
    by: By


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """What refining did: groups that became one entry each, near pairs that stay apart with the reason, contradictions.

    `changed` has the effects of all its changes, with the number of the last. `calls` are replies of a model;
    `warnings` say what went wrong, and that nothing was lost by it.
    """

    groups: tuple[Merged, ...] = ()
    kept: tuple[Kept, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    changed: Changed
    calls: int = 0
    warnings: tuple[str, ...] = ()


def refine(
    core: Core, *, ids: Sequence[str] | None = None, threshold: float = THRESHOLD, word: bool = False
) -> Flow[Refined]:
    """Merge what says the same, settle what contradicts itself, and return what was done and what was left.

    Compared are the entries named by `ids`, or without it all that changed since the last time (all of them after a
    change of embedder, or for a lower threshold). Exact duplicates always become one. Near ones do where one text can
    say what all of them say; with `word` a model writes it, and is also asked where the rules find none. A text of a
    model that loses something is not taken.

    Raises:
        InvalidInput: a threshold that does not lie above 0 and up to 1.
        NotFound: an id that names no entry.
    """
    if not 0 < finite(threshold, "threshold") <= 1:
        raise InvalidInput(f"threshold lies above 0 and up to 1, found {threshold!r}")
    work, mark, number = _Work(core, threshold), read_mark(core), core.number
    if ids is not None:
        new = [core.get(name).id for name in ids]
    else:
        new = changed_since(core, mark.number if mark.holds(core, number, threshold) else 0, number)
    for _ in range(ROUNDS):
        changed = (yield from work.round(new, word=word)) if new else None
        if changed is None:
            break
        others = () if work.wrote and changed == number + 1 else changed_since(core, number, changed)
        new, number = [*dict.fromkeys((*work.again, *others))], changed
    pairs, changed = work.settle(mark.open, number)
    number = changed if changed == number + 1 else number
    now = replace(mark, open=pairs) if ids is not None else Mark.of(core, number, threshold, pairs)
    if now != mark and number > 0:
        core.store.apply([Put(now.record(core))])
    return work.refined(changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """Entries that are to become one, the first written first; `text` None keeps that of the first."""

    members: tuple[Entry, ...]
    text: str
    section: str
    similarity: float
    by: By

    @classmethod
    def exact(cls, group: Sequence[Entry]) -> _Plan:
        """Return the plan for exact duplicates: the text of the first stays."""
        first = group[0]
        return cls(members=tuple(group), text=first.content, section=first.section, similarity=1.0, by="exact")

    def delta(self) -> Merge:
        """Return what makes it so."""
        first = self.members[0]
        return Merge(
            ids=tuple(entry.id for entry in self.members),
            content=None if self.text == first.content else self.text,
            section=None if self.section == first.section else self.section,
        )


class _Shelf:
    """The entries that one round looks at: new ones, exact duplicates as the one that they become, and what is near."""

    def __init__(self, core: Core, new: Sequence[str]) -> None:
        sets = folds_of(core).alike()
        self._seen = seen(core, dict.fromkeys((*new, *(name for names in sets for name in sorted(names)))))
        self.alike = [
            group
            for names in sets
            for group in exact(self._ordered(self._seen[name] for name in names if name in self._seen))
        ]
        self._becomes = {group[0].id: as_one(group) for group in self.alike}
        self._gone = {entry.id for group in self.alike for entry in group[1:]}

    def _ordered(self, found: Iterable[Seen]) -> list[Entry]:
        return [each.entry for each in sorted(found, key=lambda each: each.place)]

    def take(self, found: Seen) -> Entry | None:
        """Take in an entry that was found, and return it as it stands here."""
        self._seen.setdefault(found.entry.id, found)
        return self.get(found.entry.id)

    def get(self, name: str) -> Entry | None:
        """Return an entry; None where it is not shown, or becomes part of an exact duplicate."""
        if name in self._gone or name not in self._seen:
            return None
        return self._becomes.get(name) or self._seen[name].entry

    def place(self, entry: Entry) -> int:
        """Return the place of an entry in the order of first writing."""
        return self._seen[entry.id].place

    def entries(self) -> list[Entry]:
        """Return them in the order of first writing."""
        found = (self.get(each.id) for each in self._ordered(self._seen.values()))
        return [entry for entry in found if entry is not None]


class _Work:
    """One refining under way."""

    def __init__(self, core: Core, threshold: float) -> None:
        self._core = core
        self._threshold = threshold
        self._groups: dict[str, Merged] = {}
        self._kept: dict[tuple[str, str], Kept] = {}
        self._opposed: dict[tuple[str, str], None] = {}
        self._contradictions: list[Contradiction] = []
        self._effects: list[Effect] = []
        self._calls = 0
        self._mute = False
        self._done: set[str] = set()
        self.again: list[str] = []
        self.wrote = False
        self._asked: set[tuple[str, ...]] = set()
        self._warnings: dict[str, None] = {}

    def round(self, new: Sequence[str], *, word: bool) -> Flow[int | None]:
        """Compare what is new with the rest and merge what says the same; return the number of the change, if any."""
        shelf, self._done = _Shelf(self._core, new), set()
        pairs = self._compare(shelf, new)
        self._kept = {ids: kept for ids, kept in self._kept.items() if not set(new).intersection(ids)}
        entries = shelf.entries()
        made, kept = stars(entries, pairs)
        self._kept |= {each.ids: each for each in kept}
        plans = [_Plan.exact(group) for group in shelf.alike]
        place = {entry.id: number for number, entry in enumerate(entries)}
        for star in made:
            plan = yield from self._planned(star, place, word=word)
            plans.append(plan)
            self._note(plan, pairs)
        if word:
            plans += yield from self._asked_for(kept, plans, shelf)
        return self._apply(plans)

    def _compare(self, shelf: _Shelf, new: Sequence[str]) -> dict[tuple[str, str], float]:
        """Return how near new entries are to others, where near enough, and take note of what contradicts them."""
        nearest, pairs = Nearest(self._core, self._threshold), dict[tuple[str, str], float]()
        for entry, others in nearest.of([entry for name in new if (entry := shelf.get(name)) is not None]):
            for each in others:
                other = shelf.take(each.seen)
                if other is None or other.id == entry.id:
                    continue
                first, second = (entry, other) if shelf.place(entry) < shelf.place(other) else (other, entry)
                ids = (first.id, second.id)
                if each.similarity >= self._threshold:
                    pairs[ids] = max(each.similarity, pairs.get(ids, 0.0))
                if opposed(first, second) is not None:
                    self._opposed[ids] = None
        if nearest.failed is not None:
            self._warnings[nearest.failed] = None
        return pairs

    def _note(self, plan: _Plan, pairs: Mapping[tuple[str, str], float]) -> None:
        """Take note of a merged entry that need not be compared: a member had its text, and was near no other."""
        ids = {entry.id for entry in plan.members}
        same = {entry.id for entry in plan.members if entry.content == plan.text}
        if same and not any(same.intersection(pair) and not ids.issuperset(pair) for pair in pairs):
            self._done.add(plan.members[0].id)

    def _planned(self, star: Star, place: Mapping[str, int], *, word: bool) -> Flow[_Plan]:
        texts = [*{folded(entry.content): entry.content for entry in star.members}.values()]
        found = (yield from self._word(texts)) if word and star.text not in texts else None
        return _Plan(
            members=tuple(sorted(star.members, key=lambda entry: place[entry.id])),
            text=star.text if found is None else found,
            section=star.members[0].section,
            similarity=star.similarity,
            by="rules" if found is None else "model",
        )

    def _asked_for(self, kept: Sequence[Kept], plans: Sequence[_Plan], shelf: _Shelf) -> Flow[list[_Plan]]:
        """Ask a model for one text of near entries for which the rules found none."""
        taken, made = {entry.id for plan in plans for entry in plan.members}, list[_Plan]()
        for pair in sorted(kept, key=lambda each: -each.similarity):
            if not pair.open or taken.intersection(pair.ids):
                continue
            members = tuple(entry for name in pair.ids if (entry := shelf.get(name)) is not None)
            text = yield from self._word([entry.content for entry in members])
            if text is not None:
                made.append(
                    _Plan(
                        members=members, text=text, section=members[0].section, similarity=pair.similarity, by="model"
                    )
                )
                taken.update(pair.ids)
                self._kept.pop(pair.ids, None)
        return made

    def _word(self, texts: Sequence[str]) -> Flow[str | None]:
        """Return a model's text, None where it has none that can be taken; no text is asked for twice."""
        if self._mute or tuple(texts) in self._asked:
            return None
        self._asked.add(tuple(texts))
        found = yield from worded(texts)
        self._calls += found.calls
        self._mute = found.calls == 0
        if found.warning is not None:
            self._warnings[found.warning] = None
        return found.text

    def _apply(self, plans: Sequence[_Plan]) -> int | None:
        self.again, self.wrote = [], False
        if not plans:
            return None
        versions = {entry.id: entry.version for plan in plans for entry in plan.members}
        changed = self._core.apply([plan.delta() for plan in plans], reason=REASON, expect=versions)
        self._effects += changed.effects
        for plan, effect in zip(plans, changed.effects, strict=True):
            if effect.status is Applied.REFUSED:
                self._warnings[f"an entry changed while it was to be merged: {effect.reason}"] = None
                self.again += [entry.id for entry in plan.members]
            else:
                self._record(plan)
                self.wrote = True
        return changed.number

    def _record(self, plan: _Plan) -> None:
        ids, similarity = [plan.members[0].id], plan.similarity
        for entry in plan.members:
            before = self._groups.pop(entry.id, None)
            ids += [entry.id] if before is None else before.ids
            similarity = min(similarity, 1.0 if before is None else before.similarity)
        first, names = plan.members[0], tuple(dict.fromkeys(ids))
        known = first.content == plan.text or first.id in self._done
        if not known or any(entry.outcome is not first.outcome for entry in plan.members):
            self.again.append(first.id)
        self._groups[names[0]] = Merged(into=names[0], ids=names, similarity=similarity, text=plan.text, by=plan.by)

    def settle(self, known: Iterable[tuple[str, str]], number: int) -> tuple[tuple[tuple[str, str], ...], int]:
        """Retire the sides of contradictions that have clearly less evidence.

        Returned are the pairs that stay open, and the number of the last change.
        """
        resolve = self._core.resolve
        pairs = [*dict.fromkeys((resolve(one) or "", resolve(other) or "") for one, other in (*known, *self._opposed))]
        names = {name for pair in pairs for name in pair} - {""}
        entries = {name: each.entry for name, each in seen(self._core, names).items()}
        found = dict[tuple[str, str], Contradiction]()
        for one, other in pairs:
            if one != other and one in entries and other in entries:
                reason = opposed(entries[one], entries[other])
                if reason is not None:
                    found[one, other] = Contradiction(ids=(one, other), reason=reason)
        self._contradictions, deltas = settled(self._core, found.values(), entries)
        if deltas:
            versions = {name: entries[name].version for pair in found for name in pair}
            changed = self._core.apply(deltas, reason=REASON, expect=versions)
            self._effects += changed.effects
            number = changed.number
        return tuple(each.ids for each in self._contradictions if each.retired is None), number

    def refined(self, number: int) -> Refined:
        """Return what was done and what was left."""
        shown = seen(self._core, {name for ids in self._kept for name in ids}).keys()
        return Refined(
            groups=tuple(self._groups.values()),
            kept=tuple(kept for kept in self._kept.values() if shown >= set(kept.ids)),
            contradictions=tuple(self._contradictions),
            changed=Changed(number=number, effects=tuple(self._effects)),
            calls=self._calls,
            warnings=tuple(self._warnings),
        )
