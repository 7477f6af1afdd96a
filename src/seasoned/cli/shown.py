"""How results look: tables for people, plain JSON for programs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from seasoned.context import Context
from seasoned.records import JSON, Hit
from seasoned.results import Receipt
from seasoned.transfer.importing import ImportReport

EXCERPT: Final = 240
"""Characters of a text that a table shows."""

LOCKED: Final = "(locked: its key is not here)"
"""Stands for a text that cannot be read."""

_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")

REFUSALS: Final = 10
"""Refused messages and notes that a report names one by one; `--json` names all."""


def hits_table(hits: Sequence[Hit]) -> Table:
    """Return hits with their score, the share of each arm in it, and where they come from."""
    table = _table("score", "why", "from", "text")
    table.columns[1].max_width = table.columns[2].max_width = 30
    for hit in hits:
        table.add_row(f"{hit.score:.3f}", why(hit), origin(hit), excerpt(said(hit)))
    return table


def hit_json(hit: Hit) -> JSON:
    """Return a hit as plain JSON."""
    reasons: dict[str, JSON] = {arm: {"value": part.value, "share": part.share} for arm, part in hit.why.items()}
    return {
        "id": hit.id,
        "kind": hit.record.key.kind,
        "scope": list(hit.record.key.scope),
        "score": hit.score,
        "why": reasons,
        "at": hit.record.at.isoformat(),
        "text": hit.text,
        "locked": hit.locked,
        "data": dict(hit.record.data),
    }


def said(hit: Hit) -> str:
    """Return the text of a hit, or that it cannot be read."""
    return LOCKED if hit.locked else hit.text


def why(hit: Hit) -> str:
    """Return the parts of a score, the largest first: `words .41, said by user .12`."""
    parts = sorted(hit.why.items(), key=lambda item: -item[1].share)
    return ", ".join(f"{arm} {part.share:.2f}".replace(" 0.", " .") for arm, part in parts if part.share >= 0.005)


def origin(hit: Hit) -> str:
    """Return when, by whom (or as what kind of record) and in which session it was written."""
    data = hit.record.data
    who = str(data.get("name") or data.get("role") or hit.record.key.kind)
    session = data.get("session")
    return "\n".join([day(hit.record.at), visible(f"{who}, {session}" if session else who)])


def mapping_table(values: Mapping[str, JSON], heads: tuple[str, str]) -> Table:
    """Return names and values, nested ones with dotted names."""
    table = _table(*heads)
    for name, value in _flat(values):
        table.add_row(visible(name), visible(value))
    return table


def rows_table(rows: Sequence[Sequence[str]], *heads: str) -> Table:
    """Return rows of texts under their heads."""
    table = _table(*heads)
    for row in rows:
        table.add_row(*map(visible, row))
    return table


def day(at: datetime) -> str:
    """Return a time to the minute, in UTC."""
    return f"{at:%Y-%m-%d %H:%M}"


def excerpt(text: str) -> str:
    """Return the beginning of a text, on one line."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= EXCERPT else f"{line[: EXCERPT - 3]}..."


def visible(text: str) -> str:
    """Return a text whose control characters are escaped, so that what was stored cannot steer a terminal."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def say(console: Console, *texts: str) -> None:
    """Write lines as they are, however long."""
    for text in texts:
        console.print(Text(visible(text)), soft_wrap=True)


def _table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in heads:
        table.add_column(head, overflow="fold", no_wrap=head == "score")
    return table


def _flat(values: Mapping[str, JSON], prefix: str = "") -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, dict):
            rows += _flat(value, f"{prefix}{name}.")
        else:
            rows.append((f"{prefix}{name}", ", ".join(map(str, value)) if isinstance(value, list) else str(value)))
    return rows


def report_table(reports: Sequence[ImportReport]) -> Table:
    """Return what became of the messages and notes of each file; records of a bundle are counted with the messages."""
    table = rows_table([], "file", "format")
    followed = any(report.changed or report.removed for report in reports)
    changes = ("changed", "removed") if followed else ()
    for head in ("read", "messages", "notes", "duplicate", *changes, "refused", "skipped"):
        table.add_column(head, justify="right")
    for each in reports:
        refused, skipped = len(each.refused), sum(each.skipped.values())
        changed = (each.changed, each.removed) if followed else ()
        numbers = (each.read, each.written - each.notes, each.notes, each.duplicate, *changed, refused, skipped)
        table.add_row(visible(Path(each.file).name), each.format, *map(str, numbers))
    return table


def report_notes(reports: Sequence[ImportReport]) -> list[str]:
    """Return why messages and notes were refused or left out, and what else is to be known of an import."""
    refused = [f"refused: {reason}" for report in reports for reason in report.refused]
    if len(refused) > REFUSALS:
        refused[REFUSALS:] = [f"... and {len(refused) - REFUSALS} more refused; --json names them all"]
    skipped = sum((Counter(report.skipped) for report in reports), Counter[str]())
    undated = sum(report.undated for report in reports)
    degraded = dict.fromkeys(reason for report in reports for reason in report.degraded)
    return [
        *refused,
        *(f"skipped: {number} x {reason}" for reason, number in skipped.most_common()),
        *([f"{undated} have no time of their own and stand at the time of the import"] if undated else []),
        *degraded,
    ]


def report_json(report: ImportReport) -> JSON:
    """Return an import's report as plain JSON."""
    return {
        "file": report.file,
        "format": report.format,
        "read": report.read,
        "written": report.written,
        "notes": report.notes,
        "duplicate": report.duplicate,
        "changed": report.changed,
        "removed": report.removed,
        "refused": list(report.refused),
        "skipped": dict(report.skipped),
        "undated": report.undated,
        "degraded": list(report.degraded),
    }


def receipt_table(receipt: Receipt) -> Table:
    """Return what was forgotten, or would be."""
    counts: dict[str, JSON] = {"records": len(receipt.ids), "derived from them": len(receipt.derived)}
    counts |= {f"of kind {kind}": number for kind, number in receipt.by_kind.items()}
    if receipt.hard and not receipt.dry_run:
        erased = {"rows": receipt.rows, "vectors": receipt.vectors, "indexes": receipt.postings}
        counts |= {f"erased {what}": number for what, number in erased.items()} | {
            "erased log bytes": receipt.log_bytes
        }
        counts |= {
            "pending": ", ".join(receipt.pending) or "nothing",
            "bytes left in": ", ".join(receipt.left) or "no file",
        }
    return mapping_table(counts, ("would be forgotten" if receipt.dry_run else "forgotten", "number"))


def receipt_json(receipt: Receipt) -> JSON:
    """Return a receipt as plain JSON."""
    return {
        "dry_run": receipt.dry_run,
        "hard": receipt.hard,
        "ids": list(receipt.ids),
        "derived": list(receipt.derived),
        "by_kind": dict(receipt.by_kind),
        "erased": {
            "rows": receipt.rows,
            "vectors": receipt.vectors,
            "indexes": receipt.postings,
            "log_bytes": receipt.log_bytes,
        },
        "pending": list(receipt.pending),
        "left": list(receipt.left),
    }


def context_json(context: Context) -> JSON:
    """Return a context as plain JSON; `messages` may be sent as they are."""
    return {
        "messages": list(context.messages),
        "tokens": context.tokens,
        "left_out": [{"reason": each.reason, "ids": list(each.ids)} for each in context.left_out],
        "truncated": list(context.truncated),
        "recalled": list(context.recalled),
        "cache_points": list(context.cache_points),
        "trace": context.trace,
        "degraded": list(context.degraded),
    }


def context_notes(context: Context) -> list[str]:
    """Return what is not in a context as it was said, and what was recalled."""
    notes = [f"left out: {len(each.ids)} ({each.reason})" for each in context.left_out]
    notes += [f"cut: {name}" for name in context.truncated]
    notes += [f"recalled: {name}" for name in context.recalled]
    return notes + [f"degraded: {reason}" for reason in context.degraded]
