"""Deltas as plain JSON: how a checkpoint keeps what was learned until it is applied, and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from seasoned.errors import StoreCorrupt, WrongType
from seasoned.playbook.deltas import Add, Delta, Merge, Remove, Tag, Update
from seasoned.playbook.entries import Counts, Mark, Outcome
from seasoned.records import JSON, Key, Scope, instant


def delta_json(delta: Delta) -> dict[str, JSON]:
    """Return a delta as plain JSON; what is None is left out."""
    return {name: value for name, value in _fields(delta).items() if value is not None}


def delta_from(given: JSON) -> Delta:
    """Return the delta that `delta_json` wrote.

    Raises:
        StoreCorrupt: it is damaged.
    """
    try:
        if not isinstance(given, Mapping):
            raise WrongType(f"a delta is an object, not {given!r:.80}")
        return _READERS[str(given["type"])](given)
    except (ValueError, TypeError, LookupError) as error:
        raise StoreCorrupt(f"a delta of the checkpoint is damaged: {error}: {given!r:.200}") from error


def _fields(delta: Delta) -> dict[str, JSON]:
    match delta:
        case Add():
            return {
                "type": "add",
                "content": delta.content,
                "section": delta.section,
                "outcome": str(delta.outcome),
                "id": delta.id,
                "counts": [delta.counts.helpful, delta.counts.harmful, delta.counts.neutral],
                "sources": [[list(key.scope), key.kind, key.id] for key in delta.sources],
                "at": None if delta.at is None else delta.at.isoformat(),
            }
        case Update():
            outcome = None if delta.outcome is None else str(delta.outcome)
            return {"type": "update", "id": delta.id, "content": delta.content, "section": delta.section,
                    "outcome": outcome, "retired": delta.retired}  # fmt: skip
        case Tag():
            return {"type": "tag", "id": delta.id, "mark": str(delta.mark), "times": delta.times}
        case Merge():
            return {"type": "merge", "ids": [*delta.ids], "content": delta.content, "section": delta.section}
        case Remove():
            return {"type": "remove", "id": delta.id}


def _add(given: Mapping[str, JSON]) -> Delta:
    helpful, harmful, neutral = (_whole(each) for each in _several(given["counts"]))
    return Add(
        content=_word(given["content"]),
        section=_word(given["section"]),
        outcome=Outcome(_word(given["outcome"])),
        id=_maybe(given.get("id")),
        counts=Counts(helpful=helpful, harmful=harmful, neutral=neutral),
        sources=tuple(_key(each) for each in _several(given["sources"])),
        at=None if given.get("at") is None else instant(given["at"]),
    )


def _update(given: Mapping[str, JSON]) -> Delta:
    outcome = _maybe(given.get("outcome"))
    return Update(
        id=_word(given["id"]),
        content=_maybe(given.get("content")),
        section=_maybe(given.get("section")),
        outcome=None if outcome is None else Outcome(outcome),
        retired=_maybe(given.get("retired")),
    )


def _tag(given: Mapping[str, JSON]) -> Delta:
    return Tag(id=_word(given["id"]), mark=Mark(_word(given["mark"])), times=_whole(given["times"]))


def _merge(given: Mapping[str, JSON]) -> Delta:
    names = tuple(_word(each) for each in _several(given["ids"]))
    return Merge(ids=names, content=_maybe(given.get("content")), section=_maybe(given.get("section")))


def _remove(given: Mapping[str, JSON]) -> Delta:
    return Remove(id=_word(given["id"]))


_READERS: Final = {"add": _add, "update": _update, "tag": _tag, "merge": _merge, "remove": _remove}


def _key(given: JSON) -> Key:
    scope, kind, name = _several(given)
    return Key(Scope(tuple(_word(part) for part in _several(scope))), _word(kind), _word(name))


def _several(given: JSON) -> Sequence[JSON]:
    if not isinstance(given, list):
        raise WrongType(f"a list is wanted, not {given!r:.80}")
    return given


def _word(given: JSON) -> str:
    if not isinstance(given, str):
        raise WrongType(f"a text is wanted, not {given!r:.80}")
    return given


def _maybe(given: JSON) -> str | None:
    return None if given is None else _word(given)


def _whole(given: JSON) -> int:
    if isinstance(given, bool) or not isinstance(given, int):
        raise WrongType(f"an integer is wanted, not {given!r:.80}")
    return given
