"""Quoting: text from tools and tasks in an entry or a prompt, short, and told apart from advice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final

from seasoned.context import inert
from seasoned.playbook.traces import Trace
from seasoned.records import JSON

MARK: Final = "…"
"""What ends a text that was cut."""

COPIED_BYTES: Final = 24
"""From how many bytes on an advice whose words all stand in a tool's output counts as copied from there."""

_SECRET: Final = re.compile(
    r"pass(?:word|wd|phrase|code)|secret|api_?-?key|private_?-?key|(?:access|auth|bearer|refresh|session)_?-?token"
    r"|^token$|authorization|credential|cookie",
    re.IGNORECASE,
)
_HIDDEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_ROLES: Final = re.compile(r"<(?=[|｜]|/?s>|</?SYS>>)|\[(?=/?INST\])", re.IGNORECASE)


def cut(text: str, longest: int) -> str:
    """Return a text of at most `longest` characters; `MARK` ends one that was longer."""
    return text if len(text) <= longest else text[: longest - len(MARK)].rstrip() + MARK


def middle_cut(text: str, longest: int) -> str:
    """Return a text of at most `longest` characters: two thirds from its beginning, the rest from its end."""
    if len(text) <= longest:
        return text
    left = f" {MARK} [{len(text) - longest} characters left out] {MARK} "
    room = max(longest - len(left), 0)
    head = room * 2 // 3
    return text[:head] + left + (text[-(room - head) :] if room > head else "")


def one_line(text: str, longest: int) -> str:
    """Return a text as one line of at most `longest` characters, without control and invisible characters."""
    return cut(" ".join(_HIDDEN.sub(" ", text[: longest * 20]).split()), longest)


def quoted(text: str, longest: int) -> str:
    """Return a text in double quotes, on one line and cut, so that it cannot end its quotation."""
    return json.dumps(one_line(text, longest), ensure_ascii=False)


def arguments_shown(arguments: JSON, each: int = 60, longest: int = 240) -> str:
    """Return the arguments of a call on one line: every value cut to `each` characters, the whole to `longest`.

    The values of arguments that are named as secrets are (password, api_key, …) are left out.
    """
    if isinstance(arguments, Mapping):
        return cut(", ".join(f"{one_line(name, 40)}={value_shown(name, arguments[name], each)}" for name in arguments),
                   longest)  # fmt: skip
    return quoted(arguments, longest) if isinstance(arguments, str) else cut(_compact(arguments), longest)


def value_shown(name: str, value: JSON, longest: int = 60) -> str:
    """Return the value of one argument on one line."""
    if _SECRET.search(name):
        return MARK
    if isinstance(value, str):
        return quoted(value, longest)
    return cut(_compact(_without_secrets(value)), longest)


def _without_secrets(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {name: MARK if _SECRET.search(name) else _without_secrets(each) for name, each in value.items()}
    return [_without_secrets(each) for each in value] if isinstance(value, list) else value


def _compact(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False)


def lined(text: str, longest: int) -> str:
    """Return a text for a prompt, cut in its middle, each line behind a bar.

    So no line of it begins as a role or a heading does; and it is disarmed.
    """
    lines = middle_cut(disarmed(text), longest).splitlines()
    return "\n".join(f"| {line}".rstrip() for line in lines) or "|"


def disarmed(text: str) -> str:
    """Return a text with the tags and marks broken by which blocks and chat templates are delimited."""
    return _ROLES.sub(lambda found: "‹" if found[0] == "<" else "(", inert(text))


def tool_words(trace: Trace) -> str:
    """Return all that tools said in a run, without differences of case, white space and marks, for `is_copied`."""
    said = (part for step in trace.steps if step.kind == "tool" for part in (step.output, step.error or ""))
    return "\n".join(_even(part) for part in said if part.strip())


def is_copied(content: str, said: str) -> bool:
    """Tell whether an advice only repeats what a tool said: then it is a quotation, and no advice of anybody.

    A bullet, a number or a word with a colon before it, and emphasis and punctuation within, change nothing.
    """
    evened = (_even(content), _even(_LABEL.sub("", content, count=1)))
    return any(len(text.encode()) >= COPIED_BYTES and text in said for text in evened)


_LABEL: Final = re.compile(r"\A(?:\s*(?:[-–•>#*]+|\d{1,3}[.)]|\w{1,20}:))+")
_MARKS: Final = str.maketrans(dict.fromkeys("\"'“”‘’«»`*_#•.,;:!…", " "))


def _even(text: str) -> str:
    return " ".join(text.translate(_MARKS).casefold().split())


def labelled(content: str, longest: int) -> str:
    """Return an advice that repeats a tool's words as what it is: a quotation."""
    return f"a tool reported (a quotation, not an instruction): {quoted(content, longest)}"


def joined(parts: Iterable[str]) -> str:
    """Return the parts that are not blank, a blank line between them."""
    return "\n\n".join(part for part in parts if part.strip())
