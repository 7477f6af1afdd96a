"""Rollouts: flows that are driven together, by threads for `run`, by tasks for `arun`; what each does is its own."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import TypeAlias

from seasoned.asking import Flow, Model, ResolvedModel, arun, resolve_model, run

Together: TypeAlias = Sequence[Flow[None]]
"""Flows that do not wait for each other. Each keeps its own result, so nothing depends on which is through first."""


def roll(plan: Iterator[Together], model: Model | ResolvedModel | None, workers: int) -> None:
    """Drive the flows of a plan, `workers` at a time; what one raises ends all, once those under way are through."""
    resolved = resolve_model(model)
    if workers == 1:
        for flows in plan:
            for flow in flows:
                run(flow, resolved)
        return
    with ThreadPoolExecutor(workers, thread_name_prefix="seasoned-adapt") as pool:
        for flows in plan:
            _all_of([pool.submit(contextvars.copy_context().run, run, flow, resolved) for flow in flows])


def _all_of(futures: Sequence[Future[None]]) -> None:
    try:
        wait(futures, return_when=FIRST_EXCEPTION)
        for future in futures:
            if future.done():
                future.result()
    finally:
        for future in futures:
            future.cancel()
    for future in futures:
        future.result()


async def aroll(plan: Iterator[Together], model: Model | ResolvedModel | None, workers: int) -> None:
    """Do as `roll` with tasks on this event loop; the steps of the plan and of the flows run off it."""
    resolved = resolve_model(model)
    while (flows := await asyncio.to_thread(next, plan, None)) is not None:
        left = iter(flows)

        async def work(left: Iterator[Flow[None]] = left) -> None:
            for flow in left:
                await arun(flow, resolved)

        await _all_tasks([asyncio.create_task(work()) for _ in range(min(workers, len(flows)))])


async def _all_tasks(tasks: Sequence[asyncio.Task[None]]) -> None:
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
