"""Experience: decisions, trajectories and human feedback that change what an agent does next."""

from seasoned.experience.feedback import OutcomeFeedback, compute_human_feedback_reward
from seasoned.experience.fewshot import FewShot
from seasoned.experience.matches import Match, Matches
from seasoned.experience.memory import ExperienceMemory
from seasoned.experience.metrics import most_stressed
from seasoned.experience.policy import ExperiencePolicy, MetricRules
from seasoned.experience.preseed import Preseeded

__all__ = [
    "ExperienceMemory",
    "ExperiencePolicy",
    "FewShot",
    "Match",
    "Matches",
    "MetricRules",
    "OutcomeFeedback",
    "Preseeded",
    "compute_human_feedback_reward",
    "most_stressed",
]
