"""Counting tokens. True counts are the larger of cl100k_base and o200k_base, taken from the tokenizers by hand."""

from __future__ import annotations

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import InvalidInput, WrongType
from seasoned.image_tokens import image_tokens
from seasoned.tokens import EstimatedCounter, count_message, count_messages, estimate, resolve_counter

TRUE = [
    (
        "Could you book the earlier train for us? The later one arrives after "
        "the museum closes, and my mother would like to see it.",
        27,
    ),
    (
        "Können Sie uns bitte den früheren Zug buchen? Der spätere kommt "
        "erst an, wenn das Museum schon geschlossen hat.",
        30,
    ),
    (
        "¿Podría reservarnos el tren de la mañana? El de la tarde llega cuando el museo ya está cerrado.",
        28,
    ),
    (
        "Пожалуйста, закажите нам билеты на утренний поезд: вечерний приходит, когда музей уже закрыт.",
        48,
    ),
    (
        "请帮我们预订早一点的火车票，晚一点的那班到达时博物馆已经关门了。",
        39,
    ),
    (
        "早い方の電車を予約していただけますか。遅い方だと美術館が閉まった後に着いてしまいます。",
        50,
    ),
    (
        "이른 기차를 예약해 주시겠어요? 늦은 기차는 박물관이 문을 닫은 뒤에 도착합니다.",
        48,
    ),
    (
        'def total(prices: dict[str, float]) -> float:\n    """Return the sum."""\n    '
        "return sum(price for price in prices.values() if price > 0)\n",
        35,
    ),
    (
        '{"id": "call_Xk29fQpLw81", "name": "book_train", "arguments": {"from": '
        '"Porto", "date": "2026-05-01T08:15:00Z", "seats": [12, 14]}}',
        61,
    ),
    (
        "https://www.example.org/en/articles/2026/05/how-to-book?ref=mail&page=2",
        22,
    ),
    (
        "3.14159265358979 2.71828 1000000 42 7 12345678901234567890",
        28,
    ),
    (
        "550e8400-e29b-41d4-a716-446655440000 9f86d081884c7d659a2feaa0c55ad015",
        38,
    ),
    (
        "😀👍🎉",
        8,
    ),
    (
        "ok",
        1,
    ),
    (
        "a",
        1,
    ),
    (
        "\n\n\n",
        1,
    ),
]

WITH_MORE_ROOM = [
    (
        "من فضلك احجز لنا القطار المبكر، فالقطار المتأخر يصل بعد إغلاق المتحف.",
        47,
    ),
    ("สวัสดีครับ ช่วยจองตั๋วรถไฟเที่ยวเช้าให้หน่อยได้ไหม", 49),
]


@pytest.mark.parametrize(("text", "true"), TRUE)
def test_the_estimate_is_not_below_the_true_count_and_not_far_above(text, true):
    """1.0 to 1.4 times the true count, and two tokens for short texts."""
    assert true <= estimate(text) <= 1.4 * true + 2


@pytest.mark.parametrize(("text", "true"), WITH_MORE_ROOM)
def test_scripts_that_the_estimate_knows_less_well_have_more_room(text, true):
    """Arabic and Thai: up to 1.75 times the true count."""
    assert true <= estimate(text) <= 1.75 * true + 2


@given(text=st.text(), more=st.text())
def test_more_text_never_counts_less(text, more):
    """So a context that is over its budget gets within it by leaving out."""
    assert estimate(text) <= estimate(text + more)


@given(text=st.text(min_size=1))
def test_every_text_counts_something(text):
    """And nothing counts nothing."""
    assert estimate(text) >= 1
    assert estimate("") == 0


def test_a_lone_surrogate_is_counted_like_any_character():
    """It is no error."""
    assert estimate("\ud800") >= 1


def test_a_message_counts_its_marks_and_every_text_in_it():
    """Name, calls with arguments and ids, results: each adds."""
    plain = count_message({"role": "user", "content": "hello"})
    assert plain == 4 + estimate("hello")
    assert count_message({"role": "user", "content": "hello", "name": "Ann"}) == plain + 1 + estimate("Ann")
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q": 1}'}}
    expected = 4 + 8 + estimate("look") + estimate('{"q": 1}') + estimate("c1")
    assert count_message({"role": "assistant", "content": None, "tool_calls": [call]}) == expected
    assert count_message({"role": "tool", "tool_call_id": "c1", "content": ""}) == 4 + estimate("c1")


def test_a_list_counts_its_messages_and_the_start_of_the_reply():
    """Three tokens more."""
    message = {"role": "user", "content": "hello"}
    assert (
        count_messages([message, message]) == EstimatedCounter()([message, message]) == 3 + 2 * count_message(message)
    )


def png(width: int, height: int) -> str:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x02\x00\x00\x00"
    return "data:image/png;base64," + base64.b64encode(head).decode()


def gif(width: int, height: int) -> str:
    return (
        "data:image/gif;base64," + base64.b64encode(b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0").decode()
    )


def jpeg(width: int, height: int) -> str:
    head = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03" * 12
    return "data:image/jpeg;base64," + base64.b64encode(head).decode()


def webp(width: int, height: int) -> str:
    size = struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    head = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + size
    return "data:image/webp;base64," + base64.b64encode(head).decode()


@pytest.mark.parametrize("made", [png, gif, jpeg, webp])
@pytest.mark.parametrize(
    ("size", "tokens"),
    [((512, 512), 255), ((1024, 1024), 765), ((2048, 4096), 1105), ((300, 20), 255), ((513, 512), 425)],
)
def test_an_image_counts_its_tiles(made, size, tokens):
    """OpenAI's own examples: 1024 by 1024 is 765, 2048 by 4096 is 1105."""
    assert image_tokens({"url": made(*size)}) == tokens


def test_an_image_at_low_detail_counts_85():
    """Whatever its size."""
    assert image_tokens({"url": png(4000, 4000), "detail": "low"}) == 85


@pytest.mark.parametrize(
    "url", ["https://example.com/a.png", "data:image/png;base64,AAAA", "data:text/plain,x", 7, None]
)
def test_an_image_of_unknown_size_counts_the_most_that_one_can(url):
    """Eight tiles."""
    assert image_tokens({"url": url}) == 85 + 8 * 170


def test_a_counter_is_a_function_or_an_object_that_counts_messages():
    """A name makes its counts last."""

    class Camel:
        fingerprint = "camel/1"

        def count_tokens_from_messages(self, messages: list[object]) -> int:
            return 7 * len(messages)

    counter = resolve_counter(Camel())
    assert (counter([{}, {}]), counter.fingerprint) == (14, "camel/1")
    assert resolve_counter(len).fingerprint is None
    assert resolve_counter(None).fingerprint == "estimate/1"


@pytest.mark.parametrize("wrong", [7, "cl100k", EstimatedCounter, [len]])
def test_what_cannot_count_is_refused(wrong):
    """A class is no counter; an object of it is."""
    with pytest.raises(WrongType):
        resolve_counter(wrong)


@pytest.mark.parametrize(
    ("given_back", "error"), [(-1, InvalidInput), (1.5, WrongType), (True, WrongType), (None, WrongType)]
)
def test_what_a_counter_returns_is_checked(given_back, error):
    """A wrong number would overrun the budget in silence."""
    with pytest.raises(error):
        resolve_counter(lambda messages: given_back)([])
