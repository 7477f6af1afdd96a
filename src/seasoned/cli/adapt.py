"""The command `adapt`: a playbook learns from a data set, offline or online, with a model behind an endpoint."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from seasoned.cli.shell import FAILED, Shell, heard
from seasoned.cli.shown import excerpt, rows_table, say
from seasoned.errors import InvalidInput
from seasoned.models.openai_compatible import OLLAMA, OpenAICompatible
from seasoned.playbook.adapt import Adaptation, Budget, Data, Example, Finer, Formula, Result, Score, Settings, Task
from seasoned.playbook.adapt import Progress as Told
from seasoned.playbook.adapt.settings import Mode

TaskName = Annotated[
    str, typer.Option("--task", help="formula, finer, or module:Class of your own.", show_default=False)
]
Train = Annotated[Path, typer.Option("--train", help="Examples to learn from; online, the stream.", show_default=False)]
Val = Annotated[Path | None, typer.Option("--val", help="Examples to choose the best by.", show_default=False)]
Test = Annotated[Path | None, typer.Option("--test", help="Examples to test in the end.", show_default=False)]
ModeName = Annotated[Mode, typer.Option("--mode", help="Learn in epochs, or test and learn window by window.")]
ModelName = Annotated[str, typer.Option("--model", help="The model's name at the endpoint.", show_default=False)]
BaseUrl = Annotated[str, typer.Option("--base-url", help="An endpoint that speaks OpenAI's chat.")]
KeyEnv = Annotated[
    str | None,
    typer.Option("--key-env", help="The environment variable with the key; none is sent without.", show_default=False),
]
Epochs = Annotated[int, typer.Option("--epochs", help="How often to go over the examples (offline).")]
Window = Annotated[int, typer.Option("--window", help="Examples of a window (online).")]
Every = Annotated[int, typer.Option("--validate-every", help="Steps between validations (offline).")]
Batch = Annotated[int, typer.Option("--batch", help="Examples that one step learns from.")]
Rounds = Annotated[int, typer.Option("--rounds", help="Most tries after a wrong answer.")]
Workers = Annotated[int, typer.Option("--workers", help="Examples worked on at once (learning: at most a batch).")]
Folder = Annotated[
    Path | None, typer.Option("--checkpoint", help="A folder to go on from if stopped.", show_default=False)
]
Limit = Annotated[int | None, typer.Option("--limit", help="Only the first N of each file.", show_default=False)]
Calls = Annotated[int | None, typer.Option("--max-calls", help="Stop at so many calls.", show_default=False)]
Tokens = Annotated[int | None, typer.Option("--max-tokens", help="Stop at so many tokens.", show_default=False)]
Baseline = Annotated[bool, typer.Option("--baseline", help="First test the playbook as it is.")]
Timeout = Annotated[float, typer.Option("--timeout", help="Seconds to wait for a reply.")]

TASKS: Final[dict[str, type[Task]]] = {"formula": Formula, "finer": Finer}


def adapt(
    shell: Shell,
    task: TaskName,
    train: Train,
    model: ModelName,
    val: Val = None,
    test: Test = None,
    mode: ModeName = "offline",
    base_url: BaseUrl = OLLAMA,
    key_env: KeyEnv = None,
    epochs: Epochs = 1,
    window: Window = 100,
    validate_every: Every = 100,
    batch: Batch = 1,
    rounds: Rounds = 3,
    workers: Workers = 1,
    checkpoint: Folder = None,
    limit: Limit = None,
    max_calls: Calls = None,
    max_tokens: Tokens = None,
    baseline: Baseline = False,
    timeout: Timeout = 60.0,
) -> None:
    """Let the playbook learn from a data set, and say how accurate it made the model.

    With --checkpoint the same command goes on where it was stopped, by its budget or by accident.
    """
    settings = Settings(
        mode=mode, epochs=epochs, window=window, validate_every=validate_every, batch=batch, rounds=rounds,
        workers=workers, baseline=baseline, budget=Budget(calls=max_calls, tokens=max_tokens),
    )  # fmt: skip
    chosen = task_named(heard(task))
    data = Data(train=_read(chosen, train, limit), val=_read(chosen, val, limit), test=_read(chosen, test, limit))
    client = OpenAICompatible(heard(model), heard(base_url), api_key=_key(key_env), timeout_s=timeout)
    with client, shell.memory(create=True) as memory, _bar(shell, mode) as progress:
        work = Adaptation(memory.playbook, chosen, settings, checkpoint=checkpoint, progress=progress)
        result = work.run(data, client)
    _show(shell, result)
    if result.spent.calls and result.spent.failed == result.spent.calls:
        raise typer.Exit(FAILED)


def task_named(name: str) -> Task:
    """Return a task that ships, or the one that `module:Class` names, looked for in the working directory too.

    Raises:
        InvalidInput: there is no such task, or loading it fails.
    """
    if name in TASKS:
        return TASKS[name]()
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise InvalidInput(f"a task is {', '.join(TASKS)} or module:Class, not {name!r}")
    try:
        sys.path.insert(0, os.getcwd())
        found: object = getattr(importlib.import_module(module), attribute)
        made: object = found() if isinstance(found, type) else found
    except Exception as error:  # the caller's own module may raise anything
        raise InvalidInput(f"the task {name!r} cannot be loaded: {type(error).__name__}: {error}") from error
    if not all(hasattr(made, needed) for needed in ("name", "examples", "check")):
        raise InvalidInput(f"the task {name!r} needs a name, examples and check")
    return made  # type: ignore[return-value]  # it has what the protocol asks for


def _read(task: Task, path: Path | None, limit: int | None) -> Sequence[Example]:
    if limit is not None and limit < 1:
        raise InvalidInput(f"a limit is 1 or more, found {limit}")
    return [] if path is None else list(task.examples(path))[:limit]


def _key(name: str | None) -> str | None:
    key = None if name is None else os.environ.get(heard(name), "").strip()
    if key == "":
        raise InvalidInput(f"the environment has no key in {name!r}")
    return key


@contextmanager
def _bar(shell: Shell, name: str) -> Iterator[Told]:
    """Show a progress bar on standard error where that is a terminal."""
    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        TextColumn("accuracy {task.fields[accuracy]:.3f}", markup=False),
    )  # fmt: skip
    with Progress(*columns, console=shell.err, disable=not shell.err.is_terminal, transient=True) as progress:
        bar = progress.add_task(name, total=None, accuracy=0.0)
        yield lambda done, total, accuracy: progress.update(bar, completed=done, total=total, accuracy=accuracy)


def _show(shell: Shell, result: Result) -> None:
    if shell.options.json:
        shell.write_json(result.to_json())
    else:
        whole = [result.baseline, result.online, result.test]
        scores = [*result.train, *result.windows, *result.validations, *(each for each in whole if each is not None)]
        heads = ("phase", "accuracy", "parts", "right", "of", "failed")
        shell.out.print(rows_table([_row(score) for score in scores], *heads))
        spent = result.spent
        say(
            shell.out,
            f"playbook: {result.entries} entries, change {result.number}",
            f"spent: {spent.calls} calls, {spent.prompt_tokens} + {spent.completion_tokens} tokens",
        )
    if result.stopped is not None:
        say(shell.err, f"stopped: {result.stopped}")
    for reason, number in result.errors.items():
        say(shell.err, f"failed: {number} x {excerpt(reason)}")


def _row(score: Score) -> tuple[str, ...]:
    shares = (f"{score.accuracy:.3f}", f"{score.part_accuracy:.3f}")
    return (score.name, *shares, str(score.right), str(score.total), str(score.failed))
