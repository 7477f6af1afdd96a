"""What everybody is told: metrics, conflicts, actions, their costs and how often they work among people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from examples.life.shapes import Act, Budget, Domain

USUAL: Final[Mapping[str, float]] = {
    "career.standing": 65,
    "career.workload": 55,
    "finances.liquidity": 60,
    "finances.debt": 40,
    "relationships.romantic": 65,
    "relationships.family": 65,
    "physical_health.energy": 65,
    "physical_health.sleep": 65,
    "mental_wellbeing.clarity": 65,
    "mental_wellbeing.stress_level": 45,
    "time.free_hours": 55,
    "time.admin_load": 45,
}
INVERTED: Final = frozenset({"career.workload", "finances.debt", "mental_wellbeing.stress_level", "time.admin_load"})

COSTS: Final[Mapping[Act, Budget]] = {
    Act.COMMUNICATE: Budget(1, 0),
    Act.DELEGATE: Budget(0.5, 60),
    Act.NEGOTIATE: Budget(1.5, 0),
    Act.POSTPONE: Budget(0, 0),
    Act.SPEND: Budget(0.5, 150),
    Act.REST: Budget(2, 0),
    Act.PUSH_THROUGH: Budget(3, 0),
    Act.ORGANISE: Budget(1.5, 0),
}

CHANCES: Final[Mapping[Act, Mapping[Domain, float]]] = {
    act: dict(zip(Domain, (percent / 100 for percent in row), strict=True))
    for act, row in {
        Act.COMMUNICATE: (35, 20, 55, 15, 40, 20),
        Act.DELEGATE: (45, 25, 15, 15, 25, 50),
        Act.NEGOTIATE: (40, 50, 35, 10, 15, 30),
        Act.POSTPONE: (25, 30, 20, 20, 30, 40),
        Act.SPEND: (15, 35, 30, 35, 25, 40),
        Act.REST: (15, 10, 25, 55, 50, 20),
        Act.PUSH_THROUGH: (40, 25, 15, 10, 10, 35),
        Act.ORGANISE: (35, 45, 25, 25, 35, 45),
    }.items()
}


@dataclass(frozen=True, slots=True)
class Conflict:
    """A kind of conflict: the domains that it makes demands on, severities 3, 2 and 1, and how it is told."""

    title: str
    domains: tuple[Domain, Domain, Domain]
    wordings: tuple[str, str, str]

    @property
    def demands(self) -> dict[Domain, int]:
        """The severity of each demand."""
        return dict(zip(self.domains, (3, 2, 1), strict=True))


_CAREER, _MONEY, _LOVE, _BODY, _MIND, _TIME = Domain

CONFLICTS: Final = (
    Conflict(
        "Friday-evening pile-up",
        (_CAREER, _LOVE, _TIME),
        (
            "Six on Friday: the report is due tonight and dinner was promised for seven.",
            "The week ends with three urgent mails from work while your partner waits at the restaurant.",
            "A deadline has moved to this evening, the same evening you had planned for two.",
        ),
    ),
    Conflict(
        "Stranded at the airport",
        (_TIME, _MONEY, _CAREER),
        (
            "The flight is cancelled, and the client expects you tomorrow at nine.",
            "No plane leaves tonight; hotels by the terminal are full and dear.",
            "You miss the connection, with a presentation on the other side of it.",
        ),
    ),
    Conflict(
        "The rent goes up",
        (_MONEY, _MIND, _LOVE),
        (
            "The landlord asks for a fifth more from next month on.",
            "A letter raises the rent, and at home nobody wants to speak of moving.",
            "The flat becomes too dear, and you lie awake over it.",
        ),
    ),
    Conflict(
        "A parent falls ill",
        (_LOVE, _TIME, _BODY),
        (
            "Your mother is in hospital, two hours away.",
            "Your father needs somebody with him for the coming weeks.",
            "The family calls: one of the parents cannot be left alone now.",
        ),
    ),
    Conflict(
        "Back pain before the launch",
        (_BODY, _CAREER, _MIND),
        (
            "You can hardly sit, and the product goes out on Monday.",
            "The back gives way in the week of the release.",
            "Every hour at the desk hurts, and the team counts on you for the launch.",
        ),
    ),
    Conflict(
        "The wedding costs too much",
        (_MONEY, _LOVE, _MIND),
        (
            "The list of guests grows faster than the savings.",
            "The caterer wants a deposit that is not there, and both families have wishes.",
            "Every talk about the wedding ends with a sum and a quarrel.",
        ),
    ),
    Conflict(
        "A letter from the tax office",
        (_TIME, _MONEY, _MIND),
        (
            "Receipts of three years are wanted within ten days.",
            "The tax office estimates your income, much too high, and wants an answer.",
            "A reminder with a surcharge lies in the box, and the papers are everywhere.",
        ),
    ),
    Conflict(
        "Close to burning out",
        (_MIND, _BODY, _CAREER),
        (
            "For weeks you wake at four and think of work.",
            "You cry in the car park before the morning meeting.",
            "Nothing gives joy any more, and the to-do list goes on.",
        ),
    ),
    Conflict(
        "A new manager",
        (_CAREER, _MIND, _TIME),
        (
            "The new head of the team questions all that you do.",
            "Somebody new leads now, and wants daily reports.",
            "Your project is to be justified anew before a stranger.",
        ),
    ),
    Conflict(
        "The boiler breaks",
        (_MONEY, _TIME, _BODY),
        (
            "No heating in January, and the fitter comes when he comes.",
            "Water runs from the boiler into the cellar.",
            "The house is at twelve degrees and the repair costs a month's pay.",
        ),
    ),
    Conflict(
        "A forgotten anniversary",
        (_LOVE, _MIND, _TIME),
        (
            "It was yesterday, and you did not say a word.",
            "Your partner had set the table; you came at ten.",
            "Ten years together, and the day went by unnoticed.",
        ),
    ),
    Conflict(
        "The doctor's results",
        (_BODY, _MIND, _MONEY),
        (
            "A value is out of range and has to be looked at soon.",
            "The doctor wants more tests, not all of which are paid for.",
            "The results are in the post box, and you dare not open them.",
        ),
    ),
)


def goodness(name: str, value: float) -> float:
    """Return how good a metric's value is, 0 to 100."""
    return 100 - value if name in INVERTED else value


def wellbeing(metrics: Mapping[str, float]) -> float:
    """Return the mean goodness."""
    return sum(goodness(name, value) for name, value in metrics.items()) / len(metrics)


def of_domain(domain: Domain) -> list[str]:
    """Return the names of a domain's metrics."""
    return [name for name in USUAL if name.startswith(f"{domain}.")]
