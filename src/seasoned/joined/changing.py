"""What stands beside the newest user message: the run's phase and observations, examples, and what is recalled.

It is chosen once for each user message, among what was stored before it, and kept at hand for the whole tool loop, as
long as each thing in it is stored as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from seasoned.context import Item, Used, block
from seasoned.conversation.assembly import NAME, NOTE, Recall, Recalled
from seasoned.conversation.following import MESSAGE, Session
from seasoned.conversation.recalling import SAME, distinct, longest, may_be_shown
from seasoned.conversation.units import Turn
from seasoned.joined.sources import Sources, Wanted
from seasoned.notes import BOOKKEEPING, LAYERS
from seasoned.query import Compare, Filter, Not, Op, Query
from seasoned.records import Hit, Key
from seasoned.text import is_idle, likeness
from seasoned.tokens import estimate
from seasoned.trust import trusted

OBSERVATIONS: Final = "observations"
EXAMPLES: Final = "examples"
RECALLED: Final = "recalled"

_SHOWN: Final = 200
_UNSEARCHED: Final[Filter] = Not(
    Compare("kind", Op.IN, (*BOOKKEEPING, *(kind for kind in LAYERS if kind not in (MESSAGE, "langgraph_item"))))
)


@dataclass(frozen=True, slots=True)
class Part:
    """One item of the block, the records that it shows, and their texts."""

    name: str
    item: Item
    keys: tuple[Key, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen for a user message: the block, and each record in it with the version it had."""

    shown: Recalled
    used: tuple[Used, ...]
    versions: tuple[tuple[Key, int], ...]


class Chooser:
    """Chooses the block for one user message; `choice` is what was chosen."""

    def __init__(self, sources: Sources, wanted: Wanted, said: Sequence[str], newest: Turn | None) -> None:
        self._sources, self._wanted, self._said, self._newest = sources, wanted, said, newest
        self.choice: Choice | None = None
        self.degraded: tuple[str, ...] = ()

    def recall(self, kept: Session | None) -> Recall:
        """Return what a context asks for the block; in `kept` it is remembered for the tool loop."""
        wanted, newest = self._wanted, self._newest
        name: Hashable = ("joined", wanted.task, newest.id if newest else "", wanted.run, wanted.budget, wanted.policy)

        def recall(shown: Collection[str], fits: Callable[[str], bool]) -> Recalled | None:
            known = kept.recalled.get(name) if kept else None
            if isinstance(known, Choice) and fits(known.shown.text) and self._as_it_was(known):
                self.choice = known
            else:
                self.choice = self._chosen(shown, fits)
                if kept and self.choice:
                    kept.remember(name, self.choice)
            return self.choice.shown if self.choice else None

        return recall

    def _as_it_was(self, choice: Choice) -> bool:
        keys = tuple(key for key, _ in choice.versions)
        hits = self._sources.store.find(Query(scope=self._sources.scope, keys=keys, k=len(keys))).hits if keys else ()
        return {hit.record.key: hit.record.version for hit in hits} == dict(choice.versions)

    def _chosen(self, shown: Collection[str], fits: Callable[[str], bool]) -> Choice | None:
        whole = int(self._wanted.policy.changing * self._wanted.budget)
        room = int(self._wanted.policy.observations * whole)
        parts = self._observations(room, fits)
        room += int(self._wanted.policy.examples * whole) - _tokens(parts)
        parts += self._examples(room, parts, fits)
        parts += self._recalled(shown, parts, fits)
        return self._choice(parts)

    def _choice(self, parts: Sequence[Part]) -> Choice | None:
        if not parts:
            return None
        used = tuple(Used(key, part.name) for part in parts for key in part.keys)
        keys = tuple(dict.fromkeys(each.key for each in used))
        hits = self._sources.store.find(Query(scope=self._sources.scope, keys=keys, k=len(keys))).hits if keys else ()
        versions = tuple((hit.record.key, hit.record.version) for hit in hits)
        return Choice(Recalled(_text(parts), tuple(key.id for key in keys)), used, versions)

    def _observations(self, room: int, fits: Callable[[str], bool]) -> list[Part]:
        run = self._wanted.run
        if run is None or self._sources.runs.state().run_id != run:
            return []
        taken = list[Part]()
        for key, text in self._sources.runs.observed():
            labels = (("from", f"this run, {key.kind}"), ("trust", "derived from other records"))
            part = Part(OBSERVATIONS, Item(text=text, labels=labels), (key,), (text,))
            if not self._again(text, taken) and _tokens([*taken, part]) <= room and fits(_text([*taken, part])):
                taken.append(part)
        return taken

    def _examples(self, room: int, parts: Sequence[Part], fits: Callable[[str], bool]) -> list[Part]:
        most = self._wanted.policy.examples_k
        if not most or room < 1 or is_idle(self._wanted.task):
            return []
        found = self._sources.experience.few_shot(self._wanted.task, budget=room, n=most)
        matches = (*found.examples, *found.avoided)
        if not found.text:
            return []
        part = Part(
            EXAMPLES,
            Item(text=found.text, labels=(("from", "decisions in similar situations"),)),
            tuple(match.record.key for match in matches),
            tuple(match.record.text for match in matches),
        )
        return [part] if fits(_text([*parts, part])) else []

    def _recalled(self, shown: Collection[str], parts: Sequence[Part], fits: Callable[[str], bool]) -> list[Part]:
        if not self._wanted.policy.recall_k or is_idle(self._wanted.task):
            return []
        taken = list[Part]()
        texts = [*self._said, *(text for part in parts for text in part.texts)]
        for hit in distinct(self._hits(shown), self._wanted.policy.recall_k, texts):
            part = self._fitting(hit, lambda extra: fits(_text([*parts, *taken, extra])))
            if part is not None:
                taken.append(part)
        return taken

    def _hits(self, shown: Collection[str]) -> list[Hit]:
        wanted, hidden = self._wanted, set(shown)
        k = 4 * wanted.policy.recall_k + 8 + min(len(hidden), _SHOWN)
        found = self._sources.searcher.search(wanted.task, k=k, scope=self._sources.scope, where=_UNSEARCHED)
        self.degraded = found.degraded
        before = self._newest.order if self._newest and self._newest.id else None
        return [
            hit
            for hit in found
            if hit.id not in hidden and may_be_shown(hit) and (before is None or hit.order < before)
        ]

    def _fitting(self, hit: Hit, fits: Callable[[Part], bool]) -> Part | None:
        """Return a hit as a part, cut where the whole does not fit; None where too little does."""
        if fits(whole := self._part(hit, hit.text)):
            return whole
        kept = longest(hit, lambda text: fits(self._part(hit, text)))
        return None if kept is None else self._part(hit, kept)

    def _part(self, hit: Hit, text: str) -> Part:
        data, kind, session = hit.record.data, hit.record.key.kind, self._wanted.session
        where = f"a {kind}" if kind != MESSAGE else _session(str(data.get("session", "")), session)
        name = data.get("name")
        labels = [
            ("from", where),
            ("date", hit.record.at.date().isoformat()),
            ("trust", trusted(hit.record)),
            *([("name", name)] if isinstance(name, str) else []),
        ]
        return Part(RECALLED, Item(text=text, labels=labels), (hit.record.key,), (hit.text,))

    def _again(self, text: str, parts: Sequence[Part]) -> bool:
        others = (*self._said, *(each for part in parts for each in part.texts))
        return any(likeness(text, other) >= SAME for other in others)


def _session(of: str, own: str | None) -> str:
    return "this conversation" if of == own else f"an earlier session, {of}"


def _text(parts: Sequence[Part]) -> str:
    return block(NAME, NOTE, [part.item for part in parts])


def _tokens(parts: Sequence[Part]) -> int:
    return estimate(_text(parts)) if parts else 0
