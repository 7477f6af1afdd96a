"""What is gathered to stand beside a user message: the run's phase and observations, examples, what is recalled.

Each is an item of one block; an item is taken as long as the share of its kind and the room for the block hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from seasoned.context import Item, LeftOut, opening, shown_item
from seasoned.conversation.assembly import NAME, NOTE
from seasoned.conversation.following import MESSAGE, in_session
from seasoned.conversation.recalling import LEAST_SHARE, longest, may_be_shown
from seasoned.experience import Match, OutcomeFeedback
from seasoned.experience.fewshot import few_shot, one_line
from seasoned.joined.outcomes import SEEN
from seasoned.joined.said import Said
from seasoned.joined.sources import Sources, Wanted
from seasoned.joined.system import NO_ROOM, SAID
from seasoned.notes import BOOKKEEPING, LAYERS
from seasoned.query import MAX_K, Compare, Filter, Not, Op, both
from seasoned.records import Hit, Key
from seasoned.text import is_idle
from seasoned.trust import TRUST, Origin, trusted

OBSERVATIONS: Final = "observations"
EXAMPLES: Final = "examples"
RECALLED: Final = "recalled"

LEAST_SCORE: Final = 0.1
"""A decision whose score is less was made in a situation too unlike this one to be shown."""

SITUATION: Final = 160
"""How much of a decision's situation its label shows, in characters."""

ASKED_CHARS: Final = 4_000
"""How much of a task is compared with situations."""

_SHOWN: Final = 200
"""How many of the messages shown anyway are allowed for among the hits."""

_UNSEARCHED: Final[Filter] = Not(
    Compare("kind", Op.IN, (*BOOKKEEPING, *(kind for kind in LAYERS if kind not in (MESSAGE, "langgraph_item"))))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One item of the block as it is shown, the record that it shows, that one's text where it is known, what it says.

    `feedback` is what is shown of what a person said of it.
    """

    name: str
    item: str
    key: Key
    text: str | None
    says: str
    feedback: OutcomeFeedback | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the block is gathered for.

    `room` is how many tokens it may take, of which each kind has its share, and `fits` tells whether a text does.
    `said` is what the context says already, `shown` the ids of its messages. Only what was stored before the place
    `before` is recalled; None for all.
    """

    room: int
    fits: Callable[[str], bool]
    said: Said
    shown: Collection[str]
    before: int | None


class Gatherer:
    """Gathers the pieces of one block; `left_out` says what is not among them, and `degraded` what did not work."""

    def __init__(self, sources: Sources, wanted: Wanted, asked: Asked) -> None:
        self._sources, self._wanted, self._asked = sources, wanted, asked
        self._pieces: list[Piece] = []
        self._left: dict[str, list[str]] = {}
        self.degraded: tuple[str, ...] = ()

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """What was found but is not shown, and why."""
        return tuple(LeftOut(reason, tuple(ids)) for reason, ids in self._left.items())

    def pieces(self) -> list[Piece]:
        """Return the pieces; what one kind leaves of its share goes to the next."""
        policy, idle = self._wanted.policy, is_idle(self._wanted.task)
        self._observe(int(policy.observations * self._asked.room))
        if not idle and policy.examples_k:
            self._exemplify(int((policy.observations + policy.examples) * self._asked.room))
        if not idle and policy.recall_k:
            self._recall()
        return self._pieces

    def _observe(self, room: int) -> None:
        """Take the phase and the observations of the run, if it is the one under way."""
        run = self._wanted.run
        if run is None or self._sources.runs.state().run_id != run:
            return
        for key, text, at in self._sources.runs.observed():
            where, date = ("from", f"this run, {key.kind}"), ("date", at.date().isoformat())
            labels = (where, date, ("trust", TRUST[Origin.MODEL]))
            item = shown_item(Item(text=text, labels=labels))
            piece = Piece(name=OBSERVATIONS, item=item, key=key, text=None, says=text)
            self._take(piece, room)

    def _exemplify(self, room: int) -> None:
        """Take what was decided in similar situations, what went well and then what to avoid."""
        task, most = self._wanted.task[:ASKED_CHARS], self._wanted.policy.examples_k
        found = self._sources.experience.few_shot(task, budget=MAX_K, n=most)
        for match in (*found.examples, *found.avoided):
            if match.score >= LEAST_SCORE:
                self._take(_example(match, avoid=match in found.avoided), room)

    def _recall(self) -> None:
        """Take the best of what is found for the task, down to what hardly answers; the last may be cut to fit."""
        best, left = 0.0, self._wanted.policy.recall_k
        for hit in self._hits():
            if not left or hit.score < LEAST_SHARE * best:
                return
            if self._again(RECALLED, hit.id, hit.text):
                continue
            best, left = best or hit.score, left - 1
            if not self._take(self._piece(hit, hit.text), None, said=False) and self._take_cut(hit):
                return

    def _take_cut(self, hit: Hit) -> bool:
        """Take as much of a hit's beginning as fits; False where too little does."""
        kept = longest(hit, lambda text: self._fit(self._piece(hit, text)))
        return kept is not None and self._take(self._piece(hit, kept), None, said=False)

    def _hits(self) -> Iterator[Hit]:
        """Give what may be recalled, best first; more is looked for only where the first do not do."""
        few = 4 * self._wanted.policy.recall_k + 8
        seen = 0
        for k in (few, few + min(len(self._asked.shown), _SHOWN)):
            found = self._sources.searcher.search(
                self._wanted.task, k=k, scope=self._sources.scope, where=both(_UNSEARCHED, self._sessions())
            )
            self.degraded = found.degraded
            yield from (hit for hit in found[seen:] if self._may_be_recalled(hit))
            seen = len(found)
            if seen < k:
                return

    def _sessions(self) -> Filter | None:
        own = self._wanted.session
        return Not(in_session(own)) if own and self._wanted.conversation.recall_session == "others" else None

    def _may_be_recalled(self, hit: Hit) -> bool:
        early = self._asked.before is None or hit.order < self._asked.before
        return early and hit.id not in self._asked.shown and may_be_shown(hit)

    def _piece(self, hit: Hit, text: str) -> Piece:
        data, kind = hit.record.data, hit.record.key.kind
        name = data.get("name")
        labels = [
            ("from", f"a {kind}" if kind != MESSAGE else _session(str(data.get("session", "")), self._wanted.session)),
            ("date", hit.record.at.date().isoformat()),
            ("trust", trusted(hit.record)),
            *([("name", name)] if isinstance(name, str) else []),
        ]
        item = shown_item(Item(text=text, labels=labels))
        return Piece(name=RECALLED, item=item, key=hit.record.key, text=hit.text, says=hit.text)

    def _take(self, piece: Piece, room: int | None, *, said: bool = True) -> bool:
        """Take a piece if it fits and, where `said` asks for it, is not said already; note it as left out if not."""
        if said and self._again(piece.name, piece.key.id, piece.says):
            return False
        if self._fit(piece, room):
            self._pieces.append(piece)
            self._asked.said.add(piece.says)
            left = self._left.get(NO_ROOM.format(piece.name), [])
            if piece.key.id in left:
                left.remove(piece.key.id)
            return True
        self._leave(NO_ROOM.format(piece.name), piece.key.id)
        return False

    def _again(self, name: str, of: str, text: str) -> bool:
        again = self._asked.said.has(text)
        if again:
            self._leave(SAID.format(name), of)
        return again

    def _leave(self, reason: str, name: str) -> None:
        self._left.setdefault(reason, []).append(name)

    def _fit(self, piece: Piece, room: int | None = None) -> bool:
        text = shown([*self._pieces, piece])
        if room is not None and self._wanted.counter.one({"role": "user", "content": text}) > room:
            return False
        return self._asked.fits(text)


def shown(pieces: Sequence[Piece]) -> str:
    """Return the block of pieces."""
    return "\n".join([opening(NAME, NOTE), *(piece.item for piece in pieces), f"</{NAME}>"])


def _session(of: str, own: str | None) -> str:
    return "this conversation" if of == own else f"an earlier session, {of}"


def _example(match: Match, *, avoid: bool) -> Piece:
    """Return a decision as it is shown; what outcomes gave it as an example is no person's word but a label."""
    said, seen = match.feedback, ""
    if said is not None and said.unexpected_effects.startswith(SEEN):
        seen, said = f"{said.overall_effectiveness:g}/10 as an example", None
    plain = replace(match, feedback=said)
    text = few_shot([] if avoid else [plain], [plain] if avoid else [], MAX_K).text.partition("\n")[2]
    labels = [
        ("from", "a decision in a similar situation"),
        ("situation", one_line(match.situation, SITUATION)),
        ("date", match.at.date().isoformat()),
        ("trust", trusted(match.record)),
        *([("rated", seen)] if seen else []),
    ]
    return Piece(
        name=EXAMPLES,
        item=shown_item(Item(text=text, labels=labels)),
        key=match.record.key,
        text=match.record.text,
        says=f"{match.action} {match.reasoning}",
        feedback=match.feedback,
    )
