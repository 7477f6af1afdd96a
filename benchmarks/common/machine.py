"""The facts of a machine that decide what its figures mean, without its name or paths."""

from __future__ import annotations

import os
import platform
import sqlite3
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

Facts = dict[str, str | int | float | None]

BLAS = ("OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE")


def facts() -> Facts:
    """Return processors, versions, date, the load at the moment, and the settings of the linear algebra library."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cpus": os.cpu_count(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "load_1_min": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "sqlite": sqlite3.sqlite_version,
        "seasoned": version("seasoned"),
        **{name: os.environ.get(name) for name in BLAS},
    }


def version(package: str) -> str:
    """Return the version of an installed package, `not installed` for another."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def fsync_ms(folder: Path, times: int = 200) -> float:
    """Return the median time to append 4 KB to a file in `folder` and have it on the disk, in milliseconds."""
    taken = []
    path = folder / "fsync.probe"
    with path.open("wb", buffering=0) as file:
        for _ in range(times):
            start = perf_counter()
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
            taken.append(perf_counter() - start)
    path.unlink()
    return median(taken) * 1e3
