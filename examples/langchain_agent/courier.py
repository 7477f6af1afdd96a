"""The courier: a tool with a habit that nobody is told of, and a list of what was booked."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from langchain_core.tools import BaseTool, StructuredTool

DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass
class Courier:
    """Books couriers, and keeps what was asked for and what came of it."""

    booked: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def book(self, address: str, day: str) -> str:
        """Book a courier to an address for a day.

        Raises:
            ValueError: the day is not written as the courier's system wants it.
        """
        if not DAY.fullmatch(day):
            self.refused.append(day)
            raise ValueError(f"day {day!r} was not understood; it must be written as YYYY-MM-DD")
        self.booked.append(day)
        return f"booked: {address} on {day}"

    def tool(self) -> BaseTool:
        """Return the tool; an agent is not told how a day is to be written."""
        return StructuredTool.from_function(self.book, name="book_courier", description="Book a courier for a day.")
