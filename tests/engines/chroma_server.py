"""Chroma's own server, bound to the loopback address."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path


def start(folder: Path, port: int) -> subprocess.Popen[bytes]:
    """Start Chroma's own server on the loopback address, and wait until it takes calls."""
    command = [
        Path(sys.executable).parent / "chroma",
        "run",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--path",
        folder,
    ]
    quiet = os.environ | {"ANONYMIZED_TELEMETRY": "False"}
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=quiet)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return server
    stop(server)
    raise RuntimeError(f"Chroma's server did not start on port {port}")


def stop(server: subprocess.Popen[bytes]) -> None:
    """Kill a server, and wait until it is gone."""
    server.kill()
    server.wait()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
