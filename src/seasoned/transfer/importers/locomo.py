"""LoCoMo samples: two people talking over many dated sessions (https://github.com/snap-research/locomo).

Every turn becomes a user message with its speaker as `name`; a shared image's caption stands below the text as
`[image: …]`. Sessions are called `<sample>/session_<n>` and give all their turns their own date, taken as UTC. A turn's
id ends in its `dia_id`: `locomo/conv-26/D1:3`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from seasoned.transfer.importers.fields import Json, as_object, is_object, joined, text
from seasoned.transfer.importers.items import Draft, Item, Place, finished

KIND: Final = "locomo"

_SESSION: Final = re.compile(r"session_(\d+)\Z")
_DATE: Final = re.compile(r"(\d{1,2}):(\d{2}) ?([ap])\.?m\.? on (\d{1,2}) ([a-z]+),? (\d{4})", re.IGNORECASE)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@dataclass(frozen=True, slots=True)
class _Where:
    sample: str
    session: str
    position: int
    at: datetime | None


def fits(value: object) -> bool:
    """Tell whether `value` is a LoCoMo sample, or the conversation within one."""
    return is_object(value) and any(isinstance(turns, list) for _, turns in _sessions(_conversation(value)))


def items(value: Json, place: Place) -> Iterator[Item]:
    """Yield the turns of a sample, session by session."""
    conversation = _conversation(value)
    sample = text(value, "sample_id") or place.name()
    for number, turns in _sessions(conversation):
        name = f"session_{number}"
        if not isinstance(turns, list):
            yield place.refused(f"a session is a list of turns, not {turns!r:.80}", name)
            continue
        at = date_of(text(conversation, f"{name}_date_time"))
        for position, turn in enumerate(turns):
            yield _turn(turn, place, _Where(sample, name, position, at))


def date_of(written: str) -> datetime | None:
    """Return the instant of a session's date such as `1:56 pm on 8 May, 2023`, or None for another form."""
    found = _DATE.search(written)
    if found is None or found[5][:3].lower() not in _MONTHS:
        return None
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "p" else 0)
    month = _MONTHS.index(found[5][:3].lower()) + 1
    try:
        return datetime(int(found[6]), month, int(found[4]), hour, int(found[2]), tzinfo=UTC)
    except ValueError:
        return None


def _conversation(value: Json) -> Json:
    return as_object(value["conversation"]) if "conversation" in value else value


def _sessions(conversation: Json) -> list[tuple[int, object]]:
    """Return the sessions by number; the number decides, since names sort 10 before 2."""
    found = ((_SESSION.match(key), turns) for key, turns in conversation.items())
    return sorted(((int(match[1]), turns) for match, turns in found if match), key=lambda session: session[0])


def _turn(turn: object, place: Place, where: _Where) -> Item:
    inner = f"{where.session} turn {where.position + 1}"
    if not is_object(turn):
        return place.refused(f"a turn is an object, not {turn!r:.80}", inner)
    caption = text(turn, "blip_caption")
    said = joined(text(turn, "text"), f"[image: {caption}]" if caption else "")
    if not said:
        return place.refused("a turn needs a text", inner)
    dia_id, speaker = text(turn, "dia_id"), text(turn, "speaker")
    message: Json = {"role": "user", "content": said}
    draft = Draft(
        kind=KIND,
        session=f"{where.sample}/{where.session}",
        position=where.position,
        message=message | ({"name": speaker} if speaker else {}),
        source=(where.sample, dia_id) if dia_id else (where.sample, where.session, where.position),
        at=where.at,
        inner=inner,
    )
    return finished(draft, place)
