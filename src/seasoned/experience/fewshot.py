"""The few-shot block: what worked here before, and what to avoid, within a budget; nothing stored can forge a line.

Form of LifeStackMemory, with the source of each item and a second part for failures.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from seasoned.experience.matches import Match
from seasoned.tokens import estimate

HEADER: Final = "--- PAST EXPERIENCE & HUMAN VERIFICATION ---"
AVOID: Final = "--- WHAT TO AVOID ---"

REASONING: Final = 120
"""How much of a reasoning is shown, in characters."""

NOTES: Final = 400
"""How much of a person's notes is shown, in characters."""

NAME: Final = 80
"""How much of an action, domain, personality or id is shown, in characters."""

_LABEL: Final = re.compile(
    r"(action\s+taken|agent['\u2019]?s\s+initial\s+reasoning|human\s+feedback|notes|source|avoid)\s*[:\uff1a\ufe55\u2236\ua789]",
    re.IGNORECASE,
)
_RULE: Final = re.compile(r"[-\u2010-\u2015\u2212\ufe58\ufe63\uff0d]{2,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FewShot:
    """A block for a prompt: its text ("" when nothing fits), its tokens by estimate, and what is shown in it.

    `left_out` are the ids of those there was no room for.
    """

    text: str
    tokens: int
    examples: tuple[Match, ...] = ()
    avoided: tuple[Match, ...] = ()
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


def few_shot(examples: Sequence[Match], failures: Sequence[Match], budget: int, *, sources: bool = True) -> FewShot:
    """Return the block of as many examples and failures as fit, taken by turns; `sources` shows where each is from."""
    shown: list[Match] = []
    avoided: list[Match] = []
    left: list[str] = []
    text = ""
    for taken, match in _by_turns((shown, examples), (avoided, failures)):
        taken.append(match)
        longer = _block(shown, avoided, sources)
        if estimate(longer) <= budget:
            text = longer
        else:
            left.append(taken.pop().id)
    return FewShot(
        text=text, tokens=estimate(text), examples=tuple(shown), avoided=tuple(avoided), left_out=tuple(left)
    )


def _by_turns(*parts: tuple[list[Match], Sequence[Match]]) -> Iterator[tuple[list[Match], Match]]:
    """Yield what is offered for each part, the first of each first, so that none fills the budget before another."""
    for place in range(max(len(offered) for _, offered in parts)):
        yield from ((taken, offered[place]) for taken, offered in parts if place < len(offered))


def _block(examples: Sequence[Match], failures: Sequence[Match], sources: bool) -> str:
    lines: list[str] = [HEADER] if examples else []
    for match in examples:
        lines += _item(f"- Action Taken: {_what(match)}", match, sources)
    lines += [AVOID] if failures else []
    for match in failures:
        lines += _item(f"- Avoid: {_what(match)}", match, True)
    return "\n".join(lines)


def _item(first: str, match: Match, source: bool) -> list[str]:
    lines = [first]
    if match.reasoning.strip():
        lines.append(f"  Agent's Initial Reasoning: {one_line(match.reasoning, REASONING)}")
    if match.feedback is not None:
        notes = one_line(match.feedback.unexpected_effects, NOTES)
        said = f" Notes: {notes}" if notes else ""
        worsened = ", ".join(one_line(name, NAME) for name in match.feedback.domains_worsened)
        said += f" Worsened: {worsened}." if worsened else ""
        lines.append(f"  HUMAN FEEDBACK: Rated {match.feedback.overall_effectiveness:g}/10.{said}")
    return [*lines, f"  Source: {_source(match)}"] if source else lines


def _what(match: Match) -> str:
    """Return `[ACTION] on DOMAIN [Personality]`, what is not known left out."""
    action = _name(match.action).upper()
    domain = f" on {_name(match.domain).upper()}" if match.domain else ""
    personality = f" [{_name(match.personality)}]" if match.personality else ""
    return f"[{action}]{domain}{personality}"


def _source(match: Match) -> str:
    parts = [f"{match.record.key.kind} {_name(match.id)}"]
    parts += [f"episode {_name(match.episode)}"] if match.episode else []
    parts.append(match.at.date().isoformat())
    parts += [f"reward {match.reward:.2f}"] if match.reward is not None else []
    return ", ".join(parts)


def _name(text: str) -> str:
    return one_line(text, NAME).replace("[", "(").replace("]", ")")


def one_line(text: str, most: int) -> str:
    """Return a text on one line, cut to `most` characters, without what could pass for a label or rule of the block.

    Controls and marks of direction go; the colon after a label becomes a semicolon, two dashes or more become one.
    """
    plain = "".join(" " if char.isspace() else char for char in text if char.isspace() or _visible(char))
    flat = " ".join(plain.split())
    safe = _RULE.sub("\u2013", _LABEL.sub(lambda found: f"{found[1]};", flat))
    return safe if len(safe) <= most else f"{safe[:most].rstrip()}..."


def _visible(char: str) -> bool:
    return char in "\u200c\u200d" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co")
