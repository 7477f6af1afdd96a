"""Words by what they do in a piece of advice: turn it around, bound it, exclude each other, or add nothing."""

from __future__ import annotations

from typing import Final


def _by_group(groups: str) -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for number, line in enumerate(groups.strip().splitlines()):
        for word in line.split():
            found.setdefault(word, set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


EXCLUSIVE: Final = _by_group("""
most least fewest
more less fewer
maximum minimum
max min
highest lowest
higher lower
high low
largest smallest biggest
larger smaller bigger
longest shortest
longer shorter
newest oldest
newer older
new old
latest earliest
later earlier
before after
first last third fourth fifth
next previous
start end finish stop
starts ends finishes stops
increase decrease
increasing decreasing
increased decreased
ascending descending
above below
over under
enable disable
enabled disabled
on off
up down
left right
top bottom
add remove delete
adding removing deleting
include exclude
included excluded
allow deny forbid
accept reject
accepted rejected
approve deny reject
approved denied rejected
open close
opened closed
public private
true false
success failure
succeed fail
succeeds fails
succeeded failed
successful failed unsuccessful
read write
reading writing
send receive
sent received
sender recipient receiver
buy sell
like unlike dislike
liked unliked disliked
follow unfollow
with without
and or
all any none
always sometimes
sync async
synchronous asynchronous
row column
rows columns
hourly daily weekly monthly yearly
hour hours day days week weeks month months year years minute minutes second seconds millisecond milliseconds
monday tuesday wednesday thursday friday saturday sunday weekday weekend
january february march april may june july august september october november december
today yesterday tomorrow
morning noon afternoon evening night midnight
north south east west
login logout
upload download
import export
encrypt decrypt
lock unlock
input output
source destination target
local remote
positive negative
even odd
inner outer
horizontal vertical
required optional
same different
full empty
valid invalid
safe unsafe
inside outside
early late
fast slow
""")
"""Words that cannot stand for each other, by the groups they belong to."""

FORBIDDING: Final = frozenset({"never", "avoid", "avoids", "avoiding", "avoided"})
"""Words that turn advice to do something into advice against it."""

_NOT: Final = """
    not no nor neither none nothing cannot non
    nicht kein keine keinen keinem keiner nie niemals ohne pas jamais sans ne nunca jamas sin nao sem mai senza niet
    geen nooit zonder не нет никогда без нельзя nigdy bez inte aldrig لا لم لن ليس नहीं मत
"""
_BOUNDS: Final = "only except unless until without but otherwise"
LOGIC: Final = (
    dict.fromkeys(_NOT.split(), "not")
    | dict.fromkeys(("if", "when", "whenever", "whether"), "if")
    | dict.fromkeys(("instead", "rather"), "instead")
    | {word: word for word in _BOUNDS.split()}
)
"""Words that turn a sentence around or bound it, by what they do; as `seasoned.text.words` folds them."""

NEGATES: Final = r"[不没沒別别勿莫未無无非禁]|ない|ません|ずに|않|못|마세요|금지|ไม่|อย่า|ห้าม"
"""Negation in scripts without spaces between words, as a pattern."""

_OPENINGS: Final = "for if when whenever while where once during before after unless until in on given"
CONDITIONS: Final = frozenset(_OPENINGS.split())
"""Words that a sentence opens with to say when it holds."""

NUMBERS: Final = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
    "ten": "10", "eleven": "11", "twelve": "12", "twenty": "20", "hundred": "100", "thousand": "1000",
    "twice": "2", "thrice": "3",
}  # fmt: skip
"""Numbers in words."""

_LIGHT: Final = """
    a about also always am an and are as at be been being both by can could did do does doing done during each else
    ensure ensures ensuring etc for from had has have having he her here his how i in into involve involves involving
    is it its itself just made make makes making may might must my of or ought our please really s shall she should
    simply so such sure t than that the their them then there these they this those thus to too upon us very via was
    we were what where which while who whom whose why will with would you your
"""
LIGHT: Final = frozenset(_LIGHT.split()) | FORBIDDING | LOGIC.keys()
"""Words that say nothing by themselves; what a merged text need not repeat."""
