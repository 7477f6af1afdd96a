"""The progress bar of commands that take long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from seasoned.cli.shell import Shell


@contextmanager
def bar(shell: Shell, name: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on standard error where that is a terminal; it is told how much is done and there is."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=shell.err, disable=not shell.err.is_terminal, transient=True) as progress:
        task = progress.add_task(name, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
