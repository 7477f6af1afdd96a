"""How a context is chosen from a conversation."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Literal, TypeAlias, get_args

from seasoned.errors import InvalidInput, WrongType
from seasoned.records import finite
from seasoned.tokens import Counter, resolve_counter

Selection: TypeAlias = Literal["window", "scored"]
Start: TypeAlias = Literal["user", "any"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationPolicy:
    """How much of a conversation is kept in a context, and which part.

    `window_size`: most messages that are kept, system and pinned ones not counted; None for as many as fit; 0 for
    the newest user message alone. The window then slides by one message, so its start does not repeat.
    `keep_rate`: what an older message is worth beside the next newer one, 0 to 1. It ranks those that survive a cut
    (`window`) or all of them (`scored`): 1 lets relevance alone decide, 0 recency alone.
    `token_counter`: see `seasoned.tokens.resolve_counter`; None for the estimate.
    `token_limit`: the budget where a call names none, in tokens.
    `selection`: `window` keeps the end of the conversation from a cut that moves rarely, so that the start of the
    context repeats from turn to turn; `scored` chooses anew for each call.
    `start`: `user` starts with a user message, as every provider accepts; `any` with whatever comes first.
    `max_item_tokens`: longest message of an assistant or a tool; a longer one is cut, and a marker names the id of
    its full text; None for half of what the system messages leave.
    `step`: how far the cut moves at a time, as a share of the window, above 0 and up to 1.
    `survivor_share`: share of the window for what is kept from before the cut: pinned, the summary, survivors.
    `recall_k`: most messages recalled for a query.
    `recall_share`: share of what the system messages leave that they may take.
    `recall_session`: `all`, or `others` to recall nothing of the session itself.
    `summary`: whether a summary made by `summarise` stands for what was cut; `summary_tokens`: how long it may be;
    one over half of what there is room for is not shown; `summary_read_tokens`: how much of the conversation a model
    is shown at a time to write it.

    Raises:
        InvalidInput: (a ValueError) a value out of its range.
        WrongType: a value of another type.
    """

    window_size: int | None = None
    keep_rate: float = 0.9
    token_counter: object = None
    token_limit: int = 4096
    selection: Selection = "window"
    start: Start = "user"
    max_item_tokens: int | None = None
    step: float = 0.5
    survivor_share: float = 0.15
    recall_k: int = 8
    recall_share: float = 0.25
    recall_session: Literal["all", "others"] = "all"
    summary: bool = True
    summary_tokens: int = 400
    summary_read_tokens: int = 4_000
    counter: Counter = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        _check_count("window_size", self.window_size, 0, optional=True)
        _check_count("token_limit", self.token_limit, 1)
        _check_count("max_item_tokens", self.max_item_tokens, 1, optional=True)
        _check_count("recall_k", self.recall_k, 0)
        _check_count("summary_tokens", self.summary_tokens, 20)
        _check_count("summary_read_tokens", self.summary_read_tokens, 100)
        for name in ("keep_rate", "survivor_share", "recall_share", "step"):
            _check_share(name, getattr(self, name))
        if self.step == 0:
            raise InvalidInput("step lies above 0 and up to 1, found 0")
        _check_word("selection", self.selection, get_args(Selection))
        _check_word("start", self.start, get_args(Start))
        _check_word("recall_session", self.recall_session, ("all", "others"))
        if not isinstance(self.summary, bool):
            raise WrongType(f"summary is True or False, not {self.summary!r}")
        object.__setattr__(self, "counter", resolve_counter(self.token_counter))

    def overridden(self, **changes: object) -> ConversationPolicy:
        """Return the policy with some values changed.

        Raises:
            WrongType: (a TypeError) a name that a policy does not have.
        """
        if not changes:
            return self
        known = {each.name for each in fields(self) if each.init}
        if unknown := changes.keys() - known:
            raise WrongType(f"a policy has no {sorted(unknown)[0]!r}; it has {', '.join(sorted(known))}")
        return replace(self, **changes)  # type: ignore[arg-type]  # the values are checked when it is made


def _check_count(name: str, value: object, least: int, *, optional: bool = False) -> None:
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongType(f"{name} is an integer{' or None' if optional else ''}, not {value!r}")
    if value < least:
        raise InvalidInput(f"{name} is at least {least}, found {value}")


def _check_share(name: str, value: object) -> None:
    if not 0 <= finite(value, name) <= 1:
        raise InvalidInput(f"{name} lies between 0 and 1, found {value!r}")


def _check_word(name: str, value: object, words: tuple[str, ...]) -> None:
    if value not in words:
        raise InvalidInput(f"{name} is one of {', '.join(words)}, not {value!r}")
