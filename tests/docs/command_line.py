"""Writes `docs/cli.md` from the command line itself, by typer's generator without what it repeats for each command.

python -m tests.docs.command_line > docs/cli.md
"""

from __future__ import annotations

import html
import re
import subprocess
import sys

INTRO = """# Command line

{about}

`pip install 'seasoned[cli]'` brings it. This page is made from the commands themselves.

## Options

All but the version and completion stand before or behind every command. Where an option names a variable of the
environment, that is read when the option is not given.

{shared}

{codes}

## Commands

{table}
"""


def page() -> str:
    """Return the page as the installed command line describes itself."""
    head, *sections = re.split(r"^(?=#{2,3} `seasoned )", _generated(), flags=re.MULTILINE)
    shared = [line for line in head.splitlines() if line.startswith("* ")]
    shared = shared[: next(place for place, line in enumerate(shared) if line.startswith("* `import`"))]
    codes = next(line for line in head.splitlines() if line.startswith("Exit codes:"))
    about = head.split("\n\n")[1]
    kept = [_section(each, {*shared, codes}) for each in sections]
    table = "\n".join(["| command | does |", "|---|---|", *map(_row, kept)])
    top = INTRO.format(about=about, shared="\n".join(shared), codes=codes, table=table)
    return "\n".join([top, *kept])


def _generated() -> str:
    made = subprocess.run(
        [sys.executable, "-m", "typer", "seasoned.cli.app", "utils", "docs", "--name", "seasoned"],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return html.unescape(made.stdout)


def _section(section: str, repeated: set[str]) -> str:
    """Return a command's section without the options that every command has, and its usage on one line."""
    section = re.sub(r"\*\*Usage\*\*:\n\n```console\n\$ (.*)\n```", r"`\1`", section)
    section = re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n)+", "", section)  # they are cut short there; the table has them
    section = "\n".join(line for line in section.splitlines() if line not in repeated)
    section = re.sub(r"\*\*Options\*\*:\n+(?=#|\Z)", "", section)
    section = re.sub(r"\*\*(Options|Arguments)\*\*:\n\n", "", section)
    section = re.sub(r"\n{3,}", "\n\n", section).strip("\n") + "\n"
    return re.sub(r"(\n\* .*)\n\n(?=\* )", r"\1\n", section)


def _row(section: str) -> str:
    title, about, *_ = section.split("\n\n")
    name = title.strip("# `")
    return f"| [`{name}`](#{name.replace(' ', '-')}) | {about} |"


if __name__ == "__main__":
    sys.stdout.write(page())
