"""The person whose life it is: says after an episode how it went, what came after included."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from examples.life.episode import Episode
from examples.life.shapes import Domain


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A rating from 0 to 10, the domains that came out better and worse, and a sentence."""

    rating: int
    improved: tuple[Domain, ...]
    worsened: tuple[Domain, ...]
    note: str


def asked(episode: Episode) -> Said | None:
    """Return what the person says of an episode that is over; None where nothing is said."""
    if not episode.luck.speaks:
        return None
    after: dict[Domain, float] = defaultdict(float)
    for action in episode.taken:
        after[action.domain] += episode.life.aftermath[action]
    worst = min(after, key=lambda domain: after[domain], default=None)
    bad = worst is not None and after[worst] < -0.1
    return Said(
        rating=round(min(10.0, max(0.0, 5 + 4 * (episode.reward - 0.5) + episode.luck.mood))),
        improved=tuple(domain for domain, value in after.items() if value > 0.1),
        worsened=tuple(domain for domain, value in after.items() if value < -0.1),
        note=f"What was done about {worst} came back on me afterwards." if bad else "",
    )
