"""Human feedback as a training reward, in the form that TRL calls: prompts and completions in, a number each out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from seasoned.errors import WrongType
from seasoned.experience.feedback import NEUTRAL
from seasoned.experience.matches import Match
from seasoned.text import DEFAULT as ANALYSER
from seasoned.text import fold, words

CONTAINED: Final = 0.75
"""The share of a situation's words from which on a prompt has it in it."""

Prompt: TypeAlias = "str | Sequence[dict[str, object]]"
"""A text, or messages in OpenAI form."""


def prompt_text(prompt: object, what: str) -> str:
    """Return the text of a prompt or completion: itself, or that of its messages.

    Raises:
        WrongType: neither a text nor a list of messages.
    """
    if isinstance(prompt, str):
        return prompt
    if isinstance(prompt, dict):
        return prompt_text(prompt.get("content") or "", what)
    if isinstance(prompt, (list, tuple)):
        return "\n".join(prompt_text(part.get("text", part) if _is_part(part) else part, what) for part in prompt)
    raise WrongType(f"{what} are texts or lists of messages, not {prompt!r:.80}")


def _is_part(part: object) -> bool:
    return isinstance(part, dict) and "text" in part and "role" not in part


def speaks_for(match: Match, prompt: str, floor: float) -> float:
    """Return how far a decision's situation is that of a prompt, 0 to 1; 0 below the floor.

    It is its relevance, or the share of its words that the prompt has where that is most of them: a prompt says much
    besides the situation.
    """
    relevance = sum(match.why[name].share for name in ("lexical", "dense") if name in match.why)
    wanted = set(ANALYSER.query_terms(match.situation))
    held = len(wanted & set(ANALYSER.terms(prompt))) / len(wanted) if wanted else 0.0
    return max(relevance if relevance >= floor else 0.0, held if held >= CONTAINED else 0.0)


def reward_of(matches: Sequence[Match], completion: str, known_actions: Sequence[str]) -> float:
    """Return the reward of a completion: the standing rating of the nearest decision that took its action, -1 to 1.

    Where the completion names none of the actions known, the nearest decision speaks; where it names others only,
    nobody does: 0.
    """
    named = {action for action in known_actions if _names(completion, action)}
    heard = [match for match in matches if match.action in named] if named else matches
    if not heard or heard[0].feedback is None:
        return 0.0
    return (float(heard[0].feedback.overall_effectiveness) - NEUTRAL) / NEUTRAL


def _names(text: str, action: str) -> bool:
    """Tell whether a text has the words of an action, in order."""
    wanted = " ".join(words(fold(action)))
    return bool(wanted) and f" {wanted} " in f" {' '.join(words(fold(text)))} "
