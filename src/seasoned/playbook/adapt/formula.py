"""Formula: questions of finance with one number as answer; the data is the caller's, as JSON lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from seasoned.playbook.adapt.answers import quantity_in, same_number
from seasoned.playbook.adapt.tasks import Check, Example, read_rows


class Formula:
    """Rows of `context` (formula and question) and `target` (a number), compared after rounding to two decimals.

    `answers` says how a number is read from an answer; what cannot be read is wrong, never an error.
    """

    name = "formula"

    def examples(self, path: Path) -> Sequence[Example]:
        """Return the rows of a file of JSON lines."""
        return read_rows(path)

    def check(self, example: Example, answer: str) -> Check:
        """Return whether the answer says the target's number."""
        if same_number(answer, example.target):
            return Check(right=True, feedback=f"Right: {example.target} was expected.")
        said = "no single number was found in it" if quantity_in(answer) is None else "its number differs"
        return Check(right=False, feedback=f"Wrong: {example.target} was expected, rounded to two decimals; {said}.")
