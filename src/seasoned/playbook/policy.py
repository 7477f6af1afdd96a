"""How a playbook is kept: what counts as the same advice, how much is kept, how much is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from seasoned.errors import InvalidInput, WrongType
from seasoned.ranking import Blend
from seasoned.records import finite

ADVICE: Final = Blend(neighbour=0.0, session=0.0, user=0.0, named=0.0, recency=0.0, depth=50)
"""How words and cosines are fused where entries are searched: each stands alone, in no session and said by nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookPolicy:
    """Every default of a playbook.

    Raises:
        InvalidInput: a number out of its range.
        WrongType: a value of another type.
    """

    threshold: float = 0.90
    """The likeness from which on two entries are near duplicates, above 0 and up to 1."""
    budget: int = 2_000
    """Most tokens of a block where the caller names no budget."""

    def __post_init__(self) -> None:
        if not 0 < finite(self.threshold, "threshold") <= 1:
            raise InvalidInput(f"threshold lies above 0 and up to 1, found {self.threshold!r}")
        if isinstance(self.budget, bool) or not isinstance(self.budget, int):
            raise WrongType(f"budget is an integer of tokens, not {self.budget!r:.80}")
        if self.budget < 0:
            raise InvalidInput(f"budget is 0 or more, found {self.budget}")
