"""What it costs to have the package: time to import, and bytes on the disk."""

from __future__ import annotations

import compileall
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]

_TIMED = "import time; a = time.perf_counter(); import {}; print(time.perf_counter() - a)"


def import_ms(module: str, times: int = 11) -> float:
    """Return the median time to import a module in a fresh interpreter, in milliseconds.

    Its code is compiled before, as an installer does.
    """
    compileall.compile_dir(ROOT / "src", quiet=1)
    return median(_import_seconds(module) for _ in range(times)) * 1e3


def _import_seconds(module: str) -> float:
    done = subprocess.run([sys.executable, "-c", _TIMED.format(module)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def installed_mb() -> dict[str, float]:
    """Return the size of each top-level folder of a base installation, in MB, numpy's as one.

    Raises:
        CalledProcessError: pip cannot install it here.
    """
    with tempfile.TemporaryDirectory() as made:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", made, str(ROOT)]
        subprocess.run(pip, check=True, capture_output=True)
        sizes: dict[str, float] = {}
        for each in Path(made).iterdir():
            size = sum(file.stat().st_size for file in each.rglob("*") if file.is_file()) if each.is_dir() else 0
            name = "numpy" if each.name.startswith("numpy") else each.name
            sizes[name] = sizes.get(name, 0.0) + (size or each.stat().st_size) / 1e6
    return sizes
