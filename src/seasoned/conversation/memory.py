"""`ConversationMemory`: what was said, in sessions; found again, and put into the next context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Literal

from seasoned.asking import Flow, Model, run
from seasoned.context import Context, budget_left
from seasoned.conversation.adding import RETRIES, Writer, drafted
from seasoned.conversation.assembly import OUTSIDE, Recall, Wanted, assemble
from seasoned.conversation.following import (
    MESSAGE,
    SUMMARY,
    Following,
    Kept,
    Session,
    in_session,
    stored_message,
)
from seasoned.conversation.messages import content_text, session_name
from seasoned.conversation.policy import ConversationPolicy
from seasoned.conversation.recalling import Asked, nothing_recalled, recaller
from seasoned.conversation.relevance import no_relevance, relevance_to
from seasoned.conversation.sessions import SessionInfo, Sessions
from seasoned.conversation.summary import Summarised, condense, covered_order, pick, summary_message
from seasoned.conversation.summary_writing import SOURCE_GONE, SummaryWriter
from seasoned.errors import Conflict, InvalidInput, NotFound, WrongType
from seasoned.following import pages
from seasoned.forgetting import Selection, forget
from seasoned.notes import SUPERSEDED, age_limit
from seasoned.ports import Clock, IdSource, Message, Put, Store
from seasoned.query import Compare, Not, Op, Order, Query, Where, both, parse_filter
from seasoned.records import JSON, WHEN, Hit, Key, Scope, checked_id, instant  # noqa: F401  # type hints name JSON
from seasoned.results import Added, Receipt
from seasoned.search import Hits, Searcher, says_something


class ConversationMemory:
    """The conversations of one scope: messages in OpenAI form, in sessions.

    Threads may share it. `policy` says how contexts are chosen; each call may override it. What leaves a window stays
    stored and searchable; only `clear` and `forget` remove.
    """

    def __init__(
        self,
        store: Store,
        scope: Scope,
        searcher: Searcher,
        clock: Clock,
        ids: IdSource,
        policy: ConversationPolicy | None = None,
    ) -> None:
        self._store = store
        self._scope = scope
        self._searcher = searcher
        self._clock = clock
        self._ids = ids
        self.policy = policy or ConversationPolicy()
        self._writer = Writer(store, scope, searcher, ids)
        self._following = Following(store, scope)
        self._sessions = Sessions(store, scope)
        self._summaries = SummaryWriter(store, scope, searcher, clock)

    def add(
        self,
        messages: object,
        session: str = "default",
        at: WHEN | Sequence[WHEN] = None,
        ids: str | Sequence[str | None] | None = None,
    ) -> list[Added]:
        """Store one message or a list of them, in order, and say what became of each.

        A message is a mapping in OpenAI form or a LangChain message; see `parse_message`. Its id is that of `ids`, or
        its own `id`, or a new one. One with an id that is stored already is a duplicate and changes nothing; without
        an id each is new, so two honest "ok" stand. A message that says nothing is refused and the others are
        written. `at` is when it was said (one time for all, or one each), by default now; see
        `seasoned.records.instant`. A block of recalled texts at the start of a message is not stored again.

        Raises:
            InvalidMessage, InvalidInput: a message breaks a rule: nothing of the list was written.
            WrongType: not a message, or another type than said here: nothing was written.
        """
        drafts = drafted(messages, ids, at, self._clock.now())
        return self._writer.write(drafts, session_name(session), self.policy.counter)

    def search(
        self,
        query: str,
        k: int = 10,
        session: str | None = None,
        exclude_session: str | None = None,
        since: WHEN = None,
        until: WHEN = None,
        where: Where = None,
    ) -> Hits:
        """Return the k messages that answer a query best, of all sessions or one, said from `since` to before `until`.

        Raises:
            InvalidInput: a blank query, k below 1, or a filter that is not in the grammar.
            WrongType: a value of another type.
        """
        parts = [
            None if session is None else in_session(session_name(session)),
            None if exclude_session is None else Not(in_session(session_name(exclude_session))),
            None if since is None else Compare("at", Op.GE, instant(since)),
            None if until is None else Compare("at", Op.LT, instant(until)),
            parse_filter(where),
        ]
        return self._searcher.search(query, k=k, scope=self._scope, kinds=(MESSAGE,), where=both(*parts))

    def context(
        self,
        budget: int | None = None,
        *,
        reserve: int = 0,
        query: str | Literal[True] | None = None,
        session: str = "default",
        **overrides: object,
    ) -> Context:
        """Return the messages for the session's next turn, in at most `budget` less `reserve` tokens. Writes nothing.

        System messages first, then what the policy keeps of the conversation; see `ConversationPolicy`, of which any
        value may be given here. With a `query`, messages that answer it and are not shown anyway are recalled into
        the newest user message, before its text; True asks with that text. They are chosen once for each user
        message, among what was stored before it, so that a tool loop repeats the same prompt in this process. Another
        process that joins the loop recalls from the same messages, but ranked with the word statistics of all that is
        stored by then, so its choice may differ; it repeats the prompt up to the newest user message.

        Raises:
            BudgetTooSmall: system messages and newest user message, cut as far as it goes, need more.
            InvalidInput: a value out of its range.
            WrongType: a value of another type, or an unknown name.
        """
        policy = self.policy.overridden(**overrides)
        name, tokens = session_name(session), budget_left(policy.token_limit if budget is None else budget, reserve)
        if query is not None and query is not True and not isinstance(query, str):
            raise WrongType(f"a query is a text, True or None, not {query!r:.80}")
        with self.followed(name) as kept:
            return assemble(self._wanted(kept, policy, tokens, query, name))

    def _wanted(
        self, kept: Session, policy: ConversationPolicy, budget: int, query: str | Literal[True] | None, name: str
    ) -> Wanted:
        layout = kept.layout(policy.counter)
        newest = layout.units[layout.newest_user()].turns[0] if layout.newest_user() >= 0 else None
        said = content_text(newest.message.get("content")) if newest else ""
        asked = said if query is True else query
        recall: Recall | None = None
        if newest and asked is not None and policy.recall_k:
            recall = nothing_recalled
        if recall and newest and asked and says_something(asked):
            recall = recaller(self._searcher, kept, policy, Asked(asked, newest, name, self._scope, budget))
        return Wanted(
            layout=layout,
            policy=policy,
            budget=budget,
            relevance=relevance_to(asked or said) if policy.selection == "scored" else no_relevance,
            pinned=kept.pinned(),
            summary=summary_message(kept.summary) if policy.summary and kept.summary else None,
            recall=recall,
            unreadable=sorted(kept.unreadable),
        )

    @contextmanager
    def followed(self, session: str) -> Iterator[Session]:
        """Give a session as it stands now, locked for this thread; for contexts over several memories."""
        kept = self._following.session(session)
        with kept.lock:
            self._following.follow(kept, session, self._clock.now())
            yield kept

    def sessions(self) -> list[SessionInfo]:
        """Return the sessions, the one written to last first."""
        return self._sessions.all(self._clock.now())

    def messages(self, session: str = "default") -> list[Message]:
        """Return all messages of a session in order, as they were added; copies, without ids.

        A record of another program that holds no message that `add` would take is passed over; `turns` has it, and
        `Context.left_out` names it.
        """
        found = (stored_message(hit.record) for hit in self.turns(session))
        return [message for message in found if message is not None]

    def turns(self, session: str = "default") -> list[Hit]:
        """Return all records of a session's messages in order: what `messages` shows, with id, time and pin."""
        query = Query(
            scope=self._scope, kinds=(MESSAGE,), where=in_session(session_name(session)), order=Order.OLDEST, k=2_000
        )
        return [hit for page in pages(self._store, query) for hit in page.hits]

    def pin(self, id: str) -> bool:  # noqa: A002  # the field's name everywhere
        """Keep a message in every context of its session; return whether that is new.

        Raises:
            NotFound: no message has that id.
        """
        return self._set_pin(id, pinned=True)

    def unpin(self, id: str) -> bool:  # noqa: A002  # as above
        """Let a message leave the window again; return whether that is new.

        Raises:
            NotFound: no message has that id.
        """
        return self._set_pin(id, pinned=False)

    def _set_pin(self, name: str, *, pinned: bool) -> bool:
        key = Key(self._scope, MESSAGE, checked_id(name))
        for attempt in range(RETRIES):
            found = self._store.find(Query(scope=self._scope, keys=(key,), k=1)).hits
            if not found:
                raise NotFound(f"no message has the id {name!r} in this scope")
            record = found[0].record
            if (record.data.get("pinned") is True) == pinned:
                return False
            data = {field: value for field, value in record.data.items() if field != "pinned"}
            changed = replace(record, data={**data, "pinned": True} if pinned else data)
            try:
                self._store.apply([Put(changed, None, record.version)])
            except Conflict:
                if attempt + 1 == RETRIES:
                    raise
                continue
            return True
        raise AssertionError  # the loop returns or raises

    def clear(self, session: str = "default") -> int:
        """Remove all messages of a session, and its summary; return how many messages there were."""
        return self.forget(session=session).by_kind.get(MESSAGE, 0)

    def forget(
        self,
        id: str | Sequence[str] | None = None,  # noqa: A002  # the field's name everywhere
        *,
        session: str | None = None,
        before: WHEN = None,
        older_than: timedelta | float | None = None,
        dry_run: bool = False,
        hard: bool = False,
    ) -> Receipt:
        """Remove messages that pass every condition given, and summaries made from them.

        `id` one or several; `session`; `before` an instant or `older_than` an age (a number is in days). `dry_run`
        changes nothing and says what would go; `hard` erases, as `Memory.forget` does.

        Raises:
            InvalidInput: no condition.
            NotFound: an id that is not there; nothing was forgotten.
        """
        conditions = (id, session, before, older_than)
        if all(condition is None for condition in conditions):
            raise InvalidInput("say what to forget: id, session, before or older_than")
        selection = Selection(
            scope=self._scope,
            ids=(id,) if isinstance(id, str) else None if id is None else tuple(id),
            session=None if session is None else session_name(session),
            before=age_limit(self._clock.now(), older_than, before),
            kinds=(MESSAGE, SUMMARY),
        )
        return forget(self._store, selection, superseded=SUPERSEDED, dry_run=dry_run, hard=hard)

    def summarise(
        self, session: str = "default", model: Model | None = None, *, budget: int | None = None
    ) -> Summarised:
        """Write a summary of what the session's context leaves out, to stand for it after the system messages.

        A model is asked in pieces that it can read (`summary_read_tokens`); without one, sentences are picked. What
        was summarised before is not read again. No message is removed or changed. Where the model fails, the rest
        waits for the next time and the result says so. The summary names the messages it was made from as its
        sources. Where one of them is forgotten meanwhile, no summary is stored and the result says so. `budget` is that
        of the contexts, by default the policy's.

        Raises:
            BudgetTooSmall, InvalidInput, WrongType: as `context`.
            Conflict: the session's summary was written or forgotten meanwhile; nothing was written.
        """
        return run(self.summarising(session, budget=budget, with_model=model is not None), model)

    def summarising(self, session: str = "default", *, budget: int | None = None, with_model: bool) -> Flow[Summarised]:
        """Return the flow of `summarise`, to be driven by `run` or `arun`."""
        name, policy = session_name(session), self.policy
        outside = self._outside(name, budget)
        with self.followed(name) as kept:
            old = kept.summary
            done = covered_order(old, kept.by_id)
            turns = [turn for turn in kept.turns if turn.id in outside and turn.order > done]
        before = old.text if old else ""
        if with_model:
            asking = condense(before, turns, policy.summary_tokens, policy.summary_read_tokens)
            made = yield from self._searcher.guarded(asking)
        else:
            made = pick(before, turns, policy.summary_tokens)
        if made.covered and made.text and not self._summaries.write(name, old, made.text, turns[: made.covered]):
            return self._not_summarised(name, turns)
        waiting = len(turns) - made.covered
        return Summarised(id=name, text=made.text, covered=made.covered, waiting=waiting, reason=made.reason)

    def _outside(self, session: str, budget: int | None) -> set[str]:
        left = self.context(budget, session=session, summary=False).left_out
        return {name for out in left if out.reason == OUTSIDE for name in out.ids}

    def _not_summarised(self, session: str, turns: Sequence[Kept]) -> Summarised:
        """Return what is said where a message that the new text was made from is gone: nothing of that text."""
        with self.followed(session) as kept:
            text = kept.summary.text if kept.summary else ""
            waiting = sum(turn.id in kept.by_id for turn in turns)
        return Summarised(id=session, text=text, covered=0, waiting=waiting, reason=SOURCE_GONE)
