"""Records as files of experience hold them, in our own form and in LifeStackMemory's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from seasoned.errors import InvalidInput, WrongType
from seasoned.experience.feedback import OutcomeFeedback
from seasoned.experience.forms import DECISION, FEEDBACK, TRAJECTORY, Draft, feedback_record
from seasoned.experience.metrics import checked_metrics, checked_world, is_number
from seasoned.ports import Clock
from seasoned.records import JSON, Key, Record, Scope, checked_id, clean_json, instant


@dataclass(frozen=True, slots=True)
class Item:
    """One record as it stands in a file."""

    id: object
    text: object
    fields: Mapping[str, object]
    vector: object = None
    at: object = None
    until: object = None
    own: bool = False


def own_items(items: object) -> Iterator[Item]:
    """Give the records of our own form."""
    for item in items if isinstance(items, list) else ():
        found = item if isinstance(item, dict) else {}
        data = found.get("data")
        yield Item(
            found.get("id"),
            found.get("text"),
            data if isinstance(data, dict) else {},
            at=found.get("at"),
            until=found.get("until"),
            own=True,
        )


def seed_items(part: object) -> Iterator[Item]:
    """Give the records of LifeStackMemory's form, in which each field is a list."""
    found = part if isinstance(part, dict) else {}
    ids, documents = _list(found, "ids"), _list(found, "documents")
    fields, vectors = _list(found, "metadatas"), _list(found, "embeddings")
    for place in range(max(len(ids), len(documents), len(fields))):
        data = _at(fields, place)
        yield Item(_at(ids, place), _at(documents, place), data if isinstance(data, dict) else {}, _at(vectors, place))


def _list(found: Mapping[str, object], name: str) -> list[object]:
    value = found.get(name)
    return value if isinstance(value, list) else []


def _at(values: Sequence[object], place: int) -> object:
    return values[place] if place < len(values) else None


def record_of(item: Item, kind: str, scope: Scope, clock: Clock) -> Record:
    """Return the record that an item stands for; a route among the decisions is a trajectory.

    Raises:
        InvalidInput, WrongType: it breaks a rule of what would be stored.
    """
    name = checked_id(item.id)
    at = clock.now() if item.at is None else instant(item.at)
    if kind == FEEDBACK:
        return _feedback(item, Key(scope, FEEDBACK, name), scope, at=item.at)
    route = _said(item, "route_taken")
    if kind == DECISION and route and not _said(item, "action_type") and not _said(item, "action"):
        kind = TRAJECTORY
    key, until = Key(scope, kind, name), None if item.until is None else instant(item.until)
    draft = _decision(item) if kind == DECISION else _trajectory(item)
    made = draft.decision if kind == DECISION else draft.trajectory_record
    return made(key, at, until, ())


def _said(item: Item, *names: str) -> str | None:
    """Return the first field that is a text which is not blank."""
    found = (item.fields.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value.strip()), None)


def _decision(item: Item) -> Draft:
    document = _document(item)
    data = item.fields
    return Draft(
        situation=_said(item, "situation", "conflict_title") or document.split(" Action: ")[0],
        action=_said(item, "action", "action_type") or "",
        reward=_reward(data, "reward"),
        domain=_said(item, "domain", "target_domain"),
        reasoning=_said(item, "reasoning") or "",
        state=checked_metrics(_object(data, "metrics", "metrics_snapshot")),
        tags=_tags(data),
        episode=_said(item, "episode", "episode_id"),
        personality=_said(item, "personality", "personality_type"),
        metrics_diff=_said(item, "metrics_diff", "metrics_diff_str"),
        route_outcome=_said(item, "route_outcome"),
        text=document,
        preseeded=True,
    )


def _trajectory(item: Item) -> Draft:
    document, data = _document(item), item.fields
    task = _said(item, "task", "task_id")
    return Draft(
        situation=_said(item, "situation", "conflict_title") or task or document.removeprefix("TaskDomain: "),
        action=_said(item, "action", "route_taken") or "",
        reward=_reward(data, "reward", "total_reward"),
        reasoning=_said(item, "reasoning") or "",
        state=checked_world(_object(data, "world")),
        tags=_tags(data),
        episode=_said(item, "episode", "episode_id"),
        personality=_said(item, "personality", "personality_type"),
        task=task,
        summary=_summary(data),
        metrics_diff=_said(item, "metrics_diff", "metrics_diff_str"),
        text=document,
        preseeded=True,
    )


def _feedback(item: Item, key: Key, scope: Scope, *, at: object) -> Record:
    data = item.fields
    decisions = [str(name) for name in _list(data, "decisions")]
    episode = _said(item, "episode", "episode_id")
    feedback = OutcomeFeedback(
        episode or (decisions[0] if decisions else ""),
        instant(at if at is not None else data.get("submitted_at")),
        data.get("rating", data.get("overall_effectiveness")),  # type: ignore[arg-type]  # checked inside
        _names(data, "improved", "domains_improved"),
        _names(data, "worsened", "domains_worsened"),
        item.text if isinstance(item.text, str) else "",
        _hours(data),
    )
    sources = tuple(Key(scope, DECISION, name) for name in decisions)
    return feedback_record(key, feedback, episode, decisions, sources)


def _hours(data: Mapping[str, object]) -> float:
    found = data.get("hours", data.get("resolution_time_hours"))
    return float(found) if is_number(found) else 0.0  # type: ignore[arg-type]  # a number


def _names(data: Mapping[str, object], *names: str) -> list[str]:
    return [str(each) for name in names for each in _list(data, name)]


def _document(item: Item) -> str:
    if not isinstance(item.text, str) or not item.text.strip():
        raise WrongType(f"a document is a text that is not blank, not {item.text!r:.80}")
    return item.text


def _reward(data: Mapping[str, object], *names: str) -> float | None:
    return next((data[name] for name in names if name in data), None)  # type: ignore[return-value]  # checked later


def _tags(data: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(tag for tag in _list(data, "tags") if isinstance(tag, str))


def _object(data: Mapping[str, object], *names: str) -> object:
    """Return a mapping that stands there as one, or as JSON text; None where there is none."""
    found = next((data[name] for name in names if data.get(name) is not None), None)
    return _parsed(found) if isinstance(found, str) else found


def _parsed(text: str) -> object:
    try:
        return json.loads(text) if text.strip() else None
    except ValueError as error:
        raise InvalidInput(f"{text!r:.80} is not JSON") from error


def _summary(data: Mapping[str, object]) -> JSON:
    found = next((data[name] for name in ("summary", "trajectory_summary") if data.get(name) is not None), None)
    if isinstance(found, str):
        try:
            found = json.loads(found)
        except ValueError:
            return found
    return clean_json(found)
