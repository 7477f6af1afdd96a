"""What changes with each user message: the block inside it.

It is chosen once for each user message, among what was stored before it, and kept at hand for the whole tool loop, as
long as each thing in it is stored as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass

from seasoned.context import LeftOut, Used
from seasoned.conversation.assembly import Recall, Recalled
from seasoned.conversation.following import Session
from seasoned.conversation.messages import message_text
from seasoned.conversation.units import Turn
from seasoned.experience import OutcomeFeedback
from seasoned.joined.gathering import Asked, Gatherer, Piece, shown
from seasoned.joined.said import Said
from seasoned.joined.sources import Sources, Wanted
from seasoned.query import Query
from seasoned.records import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What was chosen for a user message: the block, None for none, and what it was made from as that was stored."""

    shown: Recalled | None
    used: tuple[Used, ...] = ()
    texts: tuple[tuple[Key, str], ...] = ()
    feedback: tuple[tuple[Key, OutcomeFeedback], ...] = ()
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a block is chosen beside: how much room there is for it, what the system part says, and the message."""

    room: int
    says: Sequence[str]
    newest: Turn
    session: Session | None


class Chooser:
    """Chooses the block for one user message; `choice` is what was chosen."""

    def __init__(self, sources: Sources, wanted: Wanted, about: About) -> None:
        self._sources, self._wanted, self._about = sources, wanted, about
        self.choice: Choice | None = None
        self.degraded: tuple[str, ...] = ()

    def recall(self) -> Recall:
        """Return what a context asks for the block; in the session it is remembered for the tool loop."""
        wanted, kept = self._wanted, self._about.session
        form = (wanted.budget, wanted.policy, wanted.conversation.recall_session, wanted.counter.identity)
        name: Hashable = ("joined", wanted.task, self._about.newest.id, wanted.run, form)

        def recall(ids: Collection[str], fits: Callable[[str], bool]) -> Recalled | None:
            known = kept.recalled.get(name) if kept else None
            if isinstance(known, Choice) and self._stands(known, ids, fits):
                self.choice = known
            else:
                self.choice = self._chosen(ids, fits)
                if kept:
                    kept.remember(name, self.choice)
            return self.choice.shown

        return recall

    def _stands(self, choice: Choice, ids: Collection[str], fits: Callable[[str], bool]) -> bool:
        """Tell whether a choice still holds: it fits, all of it is stored as it was, none of it stands elsewhere."""
        if choice.shown is None:
            return True
        if not fits(choice.shown.text) or not set(choice.shown.ids).isdisjoint(ids):
            return False
        return self._texts([key for key, _ in choice.texts]) == dict(choice.texts) and all(
            said in self._sources.experience.feedback_history(decision=key.id) for key, said in choice.feedback
        )

    def _texts(self, keys: Sequence[Key]) -> dict[Key, str]:
        if not keys:
            return {}
        hits = self._sources.store.find(Query(scope=self._sources.scope, keys=tuple(keys), k=len(keys))).hits
        return {hit.record.key: hit.text for hit in hits}

    def _chosen(self, ids: Collection[str], fits: Callable[[str], bool]) -> Choice:
        about = self._about
        asked = Asked(
            room=about.room,
            fits=fits,
            said=Said([*about.says, message_text(about.newest.message), *self._window(ids)]),
            shown=set(ids),
            before=about.newest.order if about.session else None,
        )
        gatherer = Gatherer(self._sources, self._wanted, asked)
        pieces = gatherer.pieces()
        self.degraded = gatherer.degraded
        return self._choice(pieces, gatherer.left_out)

    def _window(self, ids: Collection[str]) -> list[str]:
        kept = self._about.session.by_id if self._about.session else {}
        return [message_text(kept[name].message) for name in ids if name in kept]

    def _choice(self, pieces: Sequence[Piece], left_out: tuple[LeftOut, ...]) -> Choice:
        if not pieces:
            return Choice(shown=None, left_out=left_out)
        texts = {piece.key: piece.text for piece in pieces if piece.text is not None}
        texts |= self._texts([piece.key for piece in pieces if piece.text is None])
        keys = list(dict.fromkeys(piece.key for piece in pieces))
        return Choice(
            shown=Recalled(shown(pieces), tuple(key.id for key in keys)),
            used=tuple(Used(piece.key, piece.name) for piece in pieces),
            texts=tuple((key, texts[key]) for key in keys if key in texts),
            feedback=tuple((piece.key, piece.feedback) for piece in pieces if piece.feedback is not None),
            left_out=left_out,
        )
