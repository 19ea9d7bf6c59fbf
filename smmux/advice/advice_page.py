"""An answer as HTML for notebooks."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from smmux.drawing.markup import table_of_text
from smmux.drawing.svg import COLOURS

if TYPE_CHECKING:
    from smmux.advice.answer import Advice

__all__ = ["advice_html"]


def advice_html(advice: Advice) -> str:
    """Diagnosis and conclusion, a table of improvements, one of schemes with bars, and the source of the best one."""
    most = max([1.0, *(scheme.speedup or 0 for scheme in advice.schemes)])
    rows = []
    for scheme in advice.schemes:
        run, speedup = scheme.result, scheme.speedup or 0
        bar = f"<div style='width:{120 * speedup / most:.0f}px;height:0.8em;background:{COLOURS[0]}'></div>"
        cells = (
            html.escape(scheme.name),
            html.escape(scheme.verdict),
            bar if speedup else "",
            f"{run.residency} &times; {run.threads} threads on an SM" if run is not None else "",
        )
        bold = " style='font-weight:bold'" if scheme is advice.best else ""
        rows.append(f"<tr{bold}>" + "".join(f"<td style='text-align:left'>{cell}</td>" for cell in cells) + "</tr>")
    lines = [f"<p>{html.escape(line)}</p>" for line in (*advice.diagnosis(), *advice.conclusion())]
    found = [(each.place, each.source, each.why, each.remedy) for each in advice.improvements]
    changes = table_of_text(("line", "source", "what it does", "what to do"), found) if found else ""
    source = f"<details><summary>source of the best kernel</summary><pre>{html.escape(advice.source)}</pre></details>"
    return f"<div>{''.join(lines)}{changes}<table>{''.join(rows)}</table>{source}</div>"
