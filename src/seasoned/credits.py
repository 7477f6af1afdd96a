"""Adding a credit to a number inside a record's data: the same rule for every engine."""

from __future__ import annotations

from seasoned.errors import InvalidInput
from seasoned.ports import Credit
from seasoned.records import JSON, finite


def credited_data(data: dict[str, JSON], credit: Credit) -> dict[str, JSON]:
    """Return `data` with the amount of `credit` added to its field, which starts at 0.

    Raises:
        InvalidInput: the field is not `worth` or `data.x`, or holds something that is not a number.
    """
    first, *path = credit.field.split(".")
    if first != "data" or not all(path) or not path:
        raise InvalidInput(f"a credit goes to 'worth' or 'data.x', not {credit.field!r}")
    inner: dict[str, JSON] = data
    for part in path[:-1]:
        step = inner.setdefault(part, {})
        if not isinstance(step, dict):
            raise InvalidInput(f"{credit.field!r} leads through {step!r}, which is not an object")
        inner = step
    inner[path[-1]] = _sum(inner.get(path[-1]), credit)
    return data


def _sum(old: JSON, credit: Credit) -> int | float:
    if old is not None and (isinstance(old, bool) or not isinstance(old, (int, float))):
        raise InvalidInput(f"{credit.field!r} holds {old!r:.80}, which is no number to add to")
    amount = finite(credit.amount, "a credit")
    total = finite(0 if old is None else old, credit.field) + amount
    whole = not isinstance(old, float) and amount.is_integer() and total.is_integer()
    return int(total) if whole else finite(total, credit.field)
