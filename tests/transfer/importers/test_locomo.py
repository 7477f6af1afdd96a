"""LoCoMo samples become dated sessions of named speakers."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from seasoned.transfer.importers import Format, Imported, Refused, detect, read
from seasoned.transfer.importers.locomo import date_of

SAMPLE = {
    "sample_id": "conv-1",
    "qa": [{"question": "Where?", "answer": "Lyon", "evidence": ["D1:2"]}],
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Zoë",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "Where do you live?"},
            {
                "speaker": "Zoë",
                "dia_id": "D1:2",
                "text": "In Lyon!",
                "img_url": ["https://example.org/a.jpg"],
                "blip_caption": "a photo of a bridge",
            },
        ],
        "session_10_date_time": "12:05 am on 1 January, 2024",
        "session_10": [{"speaker": "Ann", "dia_id": "D10:1", "text": "Happy new year"}],
        "session_2_date_time": "some day",
        "session_2": [{"speaker": "Ann", "text": "No id here"}, {"speaker": "Zoë", "text": "  "}, "not a turn"],
    },
}


def test_a_turn_keeps_its_speaker_its_session_and_its_date(write):
    """A turn is a user message named by its speaker, in a session named by the sample, at the session's date."""
    path = write([SAMPLE])
    assert detect(path) is Format.LOCOMO
    assert next(read(path)) == Imported(
        session="conv-1/session_1",
        position=0,
        id="locomo/conv-1/D1:1",
        message={"role": "user", "name": "Ann", "content": "Where do you live?"},
        at=datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
    )


def test_the_caption_of_an_image_stands_below_the_text(write):
    """What the image shows can be found by words."""
    _, second, *_ = read(write([SAMPLE]))
    assert isinstance(second, Imported)
    assert second.message["content"] == "In Lyon!\n[image: a photo of a bridge]"


def test_sessions_come_in_the_order_of_their_numbers(write):
    """Session 10 comes after session 2, though its name sorts before."""
    sessions = [item.session for item in read(write([SAMPLE])) if isinstance(item, Imported)]
    assert sessions == ["conv-1/session_1", "conv-1/session_1", "conv-1/session_2", "conv-1/session_10"]


def test_a_turn_without_an_id_is_named_by_its_place_and_one_without_text_is_refused(write):
    """Nothing is dropped without a word: each broken turn is refused where it stands."""
    items = list(read(write([SAMPLE])))
    assert items[2].id == "locomo/conv-1/session_2/#0"
    assert items[2].at is None
    assert [str(item) for item in items if isinstance(item, Refused)] == [
        "chat.json, item 1, session_2 turn 2: a turn needs a text",
        "chat.json, item 1, session_2 turn 3: a turn is an object, not 'not a turn'",
    ]


def test_one_sample_and_a_bare_conversation_are_read_too(write):
    """A sample need not stand in a list, nor a conversation in a sample; the file's name stands in for the sample's."""
    assert next(read(write(SAMPLE))).id == "locomo/conv-1/D1:1"
    assert next(read(write(SAMPLE["conversation"], "talk.json"))).id == "locomo/talk/D1:1"


@pytest.mark.parametrize(
    ("written", "hour", "minute"), [("12:00 am", 0, 0), ("12:30 pm", 12, 30), ("1:05 am", 1, 5), ("11:59 pm", 23, 59)]
)
def test_noon_and_midnight_are_told_apart(written, hour, minute):
    """12 am is hour 0 and 12 pm is hour 12."""
    assert date_of(f"{written} on 29 February, 2024") == datetime(2024, 2, 29, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    "written", ["", "soon", "1:00 pm on 30 February, 2023", "1:75 pm on 1 May, 2023", "9:00 am on 1 Foo, 2023"]
)
def test_a_date_that_is_none_gives_none(written):
    """An impossible date is no date, and no error."""
    assert date_of(written) is None
