"""Writing messages and notes that were read elsewhere, each into its own scope, and comparing what is there already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, Protocol, TypeVar

from seasoned.errors import InvalidInput, WrongType
from seasoned.notes import Note
from seasoned.pins import set_pin
from seasoned.ports import Clock, Store
from seasoned.query import Query
from seasoned.records import JSON, Hit, Key, Scope, clean_text
from seasoned.results import Added, Status
from seasoned.search import Searcher
from seasoned.transfer.importers.items import Imported, Noted
from seasoned.trust import Origin

NOTE: Final = "note"
"""The kind of a note."""

MESSAGE: Final = "message"
"""The kind of a message."""

_OTHER_MESSAGE: Final = (
    "another message is stored under its id; is this another file of the same name? Then name its session"
)
_BLOCK: Final = "<memory>"
_OTHER_NOTE: Final = "another text is stored under its id: it was changed here, or there since it was imported"

T = TypeVar("T", Imported, Noted)


class Conversation(Protocol):
    """The verb of a conversation memory that an import needs."""

    def add(
        self,
        messages: object,
        session: str = ...,
        at: Sequence[datetime | None] = ...,
        ids: Sequence[str | None] | None = ...,
    ) -> list[Added]:
        """Write messages of one session, each with its time and id."""
        ...


class Notebook(Protocol):
    """What messages and notes are written to: a memory, with what says how a text is stored."""

    scope: Scope
    _store: Store
    _searcher: Searcher
    _clock: Clock

    @property
    def conversation(self) -> Conversation:
        """Where messages go."""
        ...

    @property
    def store(self) -> Store:
        """The engine below."""
        ...

    def within(self, *parts: str) -> Notebook:
        """Return the memory of a scope below."""
        ...

    def get(self, id: str, kind: str | None = None) -> Hit:  # noqa: A002 - the field's name everywhere
        """Return a record."""
        ...

    def remember_all(self, notes: Sequence[Note | str]) -> list[Added]:
        """Write notes in one write."""
        ...


def write_messages(memory: Notebook, items: Iterable[Imported]) -> Iterator[tuple[Imported, Added]]:
    """Write messages, session by session in the order of each, and yield what became of each.

    Users and other parts of a scope are named by the redaction, where the memory has one; see `_placed`.
    """
    placed, refused = _placed(memory, items)
    yield from refused
    for below, mine in _grouped(placed, lambda item: item.below):
        target = memory.within(*below) if below else memory
        for _, said in _grouped(mine, lambda item: (item.session,)):
            for item, added in zip(said, _added(target.conversation, said), strict=True):
                yield item, _compared(target, item, added)


def write_notes(memory: Notebook, items: Sequence[Noted]) -> Iterator[tuple[Noted, Added]]:
    """Write notes into their scopes, all in one write with their vectors, and yield what became of each.

    Those that are pinned follow, each by itself: named as pinned, then written, so that no import that is killed leaves
    one that is not. What is there already is never pinned, since somebody may have let it go.

    Their origin is `import`: what another product's model made of a conversation is no person's word, and what its
    program wrote is none of ours. A context labels them as imported and not verified.
    """
    placed, refused = _placed(memory, items)
    yield from refused
    plain = [item for item in placed if not item.pinned]
    for item, added in zip(plain, _noted(memory, plain) if plain else [], strict=True):
        yield item, _unlike(_at(memory, item), item, added)
    for item in placed:
        if item.pinned:
            yield item, _pinned(memory, item)


def stored_key(memory: Notebook, key: Key) -> Key:
    """Return a key as the memory stores it: in a scope at or below its own, whose parts below come from a file.

    Raises:
        InvalidInput: id or scope holds personal data that the redaction has no name for.
    """
    below = memory._searcher.below(key.scope[len(memory.scope) :])
    return memory._searcher.key(Key(memory.scope.within(*below), key.kind, key.id))


def _placed(memory: Notebook, items: Iterable[T]) -> tuple[list[T], list[tuple[T, Added]]]:
    """Return the items in the scopes that they are stored in, and those that can be in none, without it, and why.

    What stands in a file is not the operator's own choice: a user that is called by an e-mail address is named as an
    id would be, or refused.
    """
    placed: list[T] = []
    refused: list[tuple[T, Added]] = []
    known: dict[tuple[str, ...], tuple[str, ...] | str] = {}
    for item in items:
        if item.below not in known:
            known[item.below] = _below(memory, item.below)
        below = known[item.below]
        if isinstance(below, str):
            refused.append((replace(item, below=()), _refused(below)))
        else:
            placed.append(item if below == item.below else replace(item, below=below))
    return placed, refused


def _below(memory: Notebook, parts: tuple[str, ...]) -> tuple[str, ...] | str:
    try:
        return memory._searcher.below(parts)
    except InvalidInput as error:
        return str(error)


def _at(memory: Notebook, item: Noted) -> Notebook:
    return memory.within(*item.below) if item.below else memory


def _grouped(items: Iterable[T], of: Callable[[T], tuple[str, ...]]) -> list[tuple[tuple[str, ...], list[T]]]:
    groups: dict[tuple[str, ...], list[T]] = {}
    for item in items:
        groups.setdefault(of(item), []).append(item)
    return list(groups.items())


def _added(conversation: Conversation, items: Sequence[Imported]) -> list[Added]:
    """Write messages of one session; where one breaks a rule, which stops them all, write each by itself."""
    try:
        return conversation.add(
            [item.message for item in items],
            session=items[0].session,
            at=[item.at for item in items],
            ids=[item.id for item in items],
        )
    except (InvalidInput, WrongType) as error:
        if len(items) == 1:
            return [_refused(str(error))]
    return [added for item in items for added in _added(conversation, [item])]


def _compared(memory: Notebook, item: Imported, added: Added) -> Added:
    """Refuse a duplicate that says something else: most often another file of the same name."""
    if added.status is not Status.DUPLICATE:
        return added
    known = memory.get(item.id, "message").record.data.get("message")
    if not isinstance(known, dict):
        return added
    said, heard = memory._searcher.clear(_text_of(item.message), memory.scope), _text_of(known)
    same = said == heard or (said.startswith(_BLOCK) and said.endswith(heard))  # stored without what was recalled
    told = (item.message.get("role"), _called(item.message)) == (known.get("role"), _called(known))
    return added if same and told else _refused(_OTHER_MESSAGE)


def _text_of(message: Mapping[str, JSON]) -> str:
    """Return what a message says: its text, or that of its parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part)


def _called(message: Mapping[str, JSON]) -> list[JSON]:
    """Return what a message calls, by ids and names, and the id of the call that it is the result of."""
    calls = message.get("tool_calls")
    made: list[JSON] = [message.get("tool_call_id")]
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict):
            function = call.get("function")
            made += [call.get("id"), function.get("name") if isinstance(function, dict) else None]
    return made


def _noted(memory: Notebook, items: Sequence[Noted]) -> list[Added]:
    """Write notes; where one breaks a rule, which stops them all, write each by itself."""
    try:
        return memory.remember_all(
            [
                Note(
                    text=item.text,
                    kind=NOTE,
                    id=item.id,
                    tags=item.tags,
                    data=item.data,
                    at=item.at,
                    until=item.until,
                    origin=Origin.IMPORT,
                    below=item.below,
                )
                for item in items
            ]
        )
    except (InvalidInput, WrongType) as error:
        if len(items) == 1:
            return [_refused(str(error))]
    return [added for item in items for added in _noted(memory, [item])]


def _unlike(memory: Notebook, item: Noted, added: Added) -> Added:
    """Refuse a duplicate that says something else."""
    if added.status is not Status.DUPLICATE:
        return added
    known = memory.get(item.id, NOTE).text
    return added if known == memory._searcher.clear(clean_text(item.text), memory.scope) else _refused(_OTHER_NOTE)


def _pinned(memory: Notebook, item: Noted) -> Added:
    """Write a pinned note; where as many are pinned as can be, it is found all the same, and that is said."""
    try:
        full = _named_as_pinned(_at(memory, item), item)
    except (InvalidInput, WrongType) as error:
        return _refused(str(error))
    added = _unlike(_at(memory, item), item, _noted(memory, [item])[0])
    return replace(added, reason=f"degraded: not pinned: {full}") if full and added.status is Status.WRITTEN else added


def _named_as_pinned(memory: Notebook, item: Noted) -> str:
    """Name a note as pinned before it is there, which contexts pass over, and return why it cannot be."""
    key = memory._searcher.key(Key(memory.scope, NOTE, item.id))
    if memory._store.find(Query(scope=memory.scope, keys=(key,), k=1)).hits:
        return ""
    try:
        set_pin(memory._store, memory._clock, key, pinned=True)
    except InvalidInput as error:
        return str(error)
    return ""


def _refused(reason: str) -> Added:
    return Added(id="", status=Status.REFUSED, reason=reason)
