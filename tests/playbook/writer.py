"""A process that learns into a playbook: `python writer.py FILE NAME`; it starts at the first line that it reads."""

from __future__ import annotations

import sys

from seasoned.playbook import Add, Counts, Playbook, Tag

path, name = sys.argv[1:]
with Playbook(path, embedder="hashing") as playbook:
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    for number in range(40):
        playbook.apply(
            [
                Add(content=f"shared advice {number}", counts=Counts(helpful=1)),
                Add(content=f"advice {number} of {name}"),
                Tag(id="seed-00001", mark="helpful"),
            ],
            by=f"{name} {number}",
        )
