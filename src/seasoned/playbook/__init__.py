"""The playbook: advice that grows with every run, changes by deltas, and can be taken back."""

from seasoned.playbook.book import Playbook
from seasoned.playbook.contradictions import Contradiction
from seasoned.playbook.curators import DeterministicCurator, ModelCurator
from seasoned.playbook.deltas import (
    Add,
    Applied,
    Change,
    Changed,
    Delta,
    DeltaEntry,
    Effect,
    Merge,
    Remove,
    Step,
    Tag,
    Update,
)
from seasoned.playbook.entries import Counts, Entry, Mark, Outcome
from seasoned.playbook.learning import Learned
from seasoned.playbook.policy import PlaybookPolicy
from seasoned.playbook.refining import Refined
from seasoned.playbook.reflections import Curated, Curator, Reflection, Reflector
from seasoned.playbook.reflectors import DeterministicReflector, FeedbackReflector, ModelReflector
from seasoned.playbook.snapshots import Block
from seasoned.playbook.traces import Trace, TraceStep

__all__ = [
    "Add",
    "Applied",
    "Block",
    "Change",
    "Changed",
    "Contradiction",
    "Counts",
    "Curated",
    "Curator",
    "Delta",
    "DeltaEntry",
    "DeterministicCurator",
    "DeterministicReflector",
    "Effect",
    "Entry",
    "FeedbackReflector",
    "Learned",
    "Mark",
    "Merge",
    "ModelCurator",
    "ModelReflector",
    "Outcome",
    "Playbook",
    "PlaybookPolicy",
    "Refined",
    "Reflection",
    "Reflector",
    "Remove",
    "Step",
    "Tag",
    "Trace",
    "TraceStep",
    "Update",
]
