"""The timeline page of several ranks: what each did when, what it waited for, and when each arrived
at a collective.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from . import pages
from .report import Report

TITLES = {
    "compute": "other computing",
    "forward": "forward",
    "backward": "backward",
    "optimizer": "optimizer",
    "data": "loading data",
    "communicate": "exposed communication",
    "wait": "waiting for ranks",
}
_PURPOSES = {"gradients": "gradients", "wrapper": "buffers", "program": "the program"}


def timeline(
    data: Mapping[str, Any],
    title: str = "Timeline of ranks",
    about: str = "",
    findings: Sequence[Mapping[str, Any]] = (),
    notes: Sequence[str] = (),
) -> str:
    """The page as HTML.

    Args:
        data: of `check.ranks.waits.page_data`: `kinds`, `ranks` (each with segments, calls,
            totals), `lines`, `collectives`, `end`.
        title, about: the heading, and a line under it.
        findings: dicts, as in a report.
        notes: remarks.
    """
    legend = "".join(
        f'<span class="key"><i data-kind="{kind}"></i>{TITLES[kind]}</span>'
        for kind in data["kinds"]
    )
    legend += '<span class="key"><i data-kind="flight"></i>data under way</span>'
    if data.get("leftOut"):
        notes = [*notes, f"{data['leftOut']} later parts are not drawn"]
    body = f"<main class='wide'><header><h1>{escape(title)}</h1><p>{escape(about)}</p></header>"
    body += "".join(f'<p class="soft">Note: {escape(note)}</p>' for note in notes)
    body += f'<section id="timeline"><h2>Timeline</h2><div class="keys">{legend}</div>'
    body += '<p class="soft">Wheel to zoom, drag to move, double-click for the whole run. Point at a part for its line.</p>'
    body += '<div class="ranks"><canvas id="ranks" tabindex="0" role="img" aria-label="What each rank did when"></canvas></div>'
    body += f"</section><section id='shares'><h2>Time of each rank</h2>{_shares(data)}</section>"
    body += f"<section id='collectives'><h2>Collectives</h2>{_collectives(data)}</section>"
    if findings:
        body += f"<section id='findings'><h2>Findings ({len(findings)})</h2>{Report(findings=findings)._findings()}</section>"
    body += "</main>"
    drawn = {key: data[key] for key in ("kinds", "ranks", "lines", "end")} | {
        "titles": TITLES,
        "charts": [],
    }
    return pages.page(
        title,
        body,
        drawn,
        ["charts.js", "report.js", "timeline.js"],
        ["base.css", "report.css", "timeline.css"],
    )


def _shares(data: Mapping[str, Any]) -> str:
    """A bar and the numbers for each rank."""
    heads = ["rank", *(TITLES[kind] for kind in data["kinds"]), "hidden communication", "seconds"]
    head = "".join(
        f'<th{"" if k == 0 else " class=num"}><button type="button">{h}</button></th>'
        for k, h in enumerate(heads)
    )
    rows = []
    for rank in data["ranks"]:
        whole = max(rank["seconds"], 1e-9)
        shares = [(kind, 100 * rank["totals"][kind] / whole) for kind in data["kinds"]]
        bar = "".join(
            f'<i data-kind="{kind}" style="width:{share:.2f}%" title="{TITLES[kind]} {share:.1f} %"></i>'
            for kind, share in shares
        )
        cells = f'<td><b>{rank["rank"]}</b><span class="bar">{bar}</span></td>'
        cells += "".join(
            f'<td class="num" data-v="{share!r}">{share:.1f} %</td>' for _, share in shares
        )
        cells += f'<td class="num" data-v="{rank["totals"]["hidden"]!r}">{100 * rank["totals"]["hidden"] / whole:.1f} %</td>'
        cells += f'<td class="num" data-v="{whole!r}">{whole:.2f}</td>'
        rows.append(f"<tr>{cells}</tr>")
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _collectives(data: Mapping[str, Any]) -> str:
    """A row for each line that communicates."""
    if not data["collectives"]:
        return "<p>No collectives of all ranks were seen.</p>"
    heads = ["line", "call", "for"]
    numbers = ["calls", "MiB", "time (ms)", "arrival spread (ms)", "worst (ms)", "last rank"]
    head = "".join(f'<th><button type="button">{h}</button></th>' for h in heads)
    head += "".join(f'<th class="num"><button type="button">{h}</button></th>' for h in numbers)
    rows = []
    for row in data["collectives"]:
        place, text = data["lines"][row["place"]] if row["place"] >= 0 else ("", "")
        cells = f"<td class='mono' title='{escape(text, quote=True)}'>{escape(place)}</td><td class='mono'>{escape(row['name'])}</td>"
        cells += f"<td>{_PURPOSES.get(row['why'], escape(row['why']))}</td>"
        values = [
            (row["calls"], f"{row['calls']:,}"),
            (row["bytes"], f"{row['bytes'] / 2**20:,.2f}"),
            (row["seconds"], f"{1e3 * row['seconds']:,.2f}"),
            (row["spread"], f"{1e3 * row['spread']:,.2f}"),
            (row["worst"], f"{1e3 * row['worst']:,.2f}"),
            (row["last"], f"{row['last']} ({100 * row['share']:.0f} %)"),
        ]
        cells += "".join(f'<td class="num" data-v="{v!r}">{t}</td>' for v, t in values)
        rows.append(f"<tr>{cells}</tr>")
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def write(path: str | os.PathLike[str], html: str) -> Path:
    """Write a page to a file; returns the path."""
    return pages.write(path, html)
