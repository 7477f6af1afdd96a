"""Adapting a playbook to a task: offline and online, over any data set, resumable at any point."""

from seasoned.playbook.adapt.accounts import Budget, Spent
from seasoned.playbook.adapt.answers import Quantity, quantity_in, same_number
from seasoned.playbook.adapt.finer import Finer, tags_in
from seasoned.playbook.adapt.formula import Formula
from seasoned.playbook.adapt.generating import Generated, Generator, ModelGenerator
from seasoned.playbook.adapt.harness import Adaptation
from seasoned.playbook.adapt.meter import Progress
from seasoned.playbook.adapt.results import Result, Score
from seasoned.playbook.adapt.sampling import Roles
from seasoned.playbook.adapt.settings import Data, Settings
from seasoned.playbook.adapt.showing import Shown
from seasoned.playbook.adapt.tasks import Check, Example, Task, read_rows

__all__ = [
    "Adaptation",
    "Budget",
    "Check",
    "Data",
    "Example",
    "Finer",
    "Formula",
    "Generated",
    "Generator",
    "ModelGenerator",
    "Progress",
    "Quantity",
    "Result",
    "Roles",
    "Score",
    "Settings",
    "Shown",
    "Spent",
    "Task",
    "quantity_in",
    "read_rows",
    "same_number",
    "tags_in",
]
