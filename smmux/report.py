"""Results as HTML for notebooks: headline, stall breakdown, heat map of the source, counters with their definitions."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from smmux.result import CounterInfo, counter_info, line_counters

if TYPE_CHECKING:
    from smmux.advice import Advice
    from smmux.result import Comparison, Result

__all__ = ["advice_html", "comparison_html", "counters_page", "result_html"]

# Colour-blind safe, in the order in which the shares appear.
_COLOURS = (
    "#0072b2",
    "#e69f00",
    "#56b4e9",
    "#009e73",
    "#d55e00",
    "#cc79a7",
    "#f0e442",
    "#999999",
    "#7570b3",
    "#dddddd",
)


def result_html(result: Result) -> str:
    """A page section about one run."""
    head = (
        f"<b>{html.escape(result.kernel)}</b> on {html.escape(result.gpu.name)}: {result.cycles:,} cycles, "
        f"{result.time_us:,.2f} &micro;s; {result.residency} blocks per SM (limited by {html.escape(result.limiter)}, "
        f"{result.static_residency} with static management), {result.achieved_residency:.2f} on average; "
        f"grid {result.grid}, block {result.block}"
    )
    parts = [f"<p>{head}</p>", _stalls(result), _heat_map(result)]
    if result.findings is not None:
        parts.append(f"<p>check {html.escape(repr(result.check))}:</p>{result.findings._repr_html_()}")
    parts.append(f"<details><summary>counters</summary>{_counters(result)}</details>")
    return "<div>" + "".join(parts) + "</div>"


def counters_page() -> str:
    """Every counter with unit and definition, as Markdown: the page COUNTERS.md beside this file."""
    parts = [
        "# Counters",
        "Made from the tables of the core by `python -m smmux counters --markdown`.",
        "## Of a run: `result[name]`",
        _markdown(counter_info().values()),
        "## Of an instruction or a source line: `result.lines()[line][name]`",
        _markdown(line_counters().values()),
    ]
    return "\n\n".join(parts) + "\n"


def _markdown(table: Iterable[CounterInfo]) -> str:
    rows = [f"| `{info.name}` | {info.unit} | {info.doc} |".replace("\\", "\\\\") for info in table]
    return "\n".join(["| counter | unit | definition |", "|---|---|---|", *rows])


def comparison_html(comparison: Comparison) -> str:
    """A table of the counters that differ."""
    rows = [
        (name, f"{before:,}", f"{after:,}", f"{after / before:.3f}" if before else "", unit)
        for name, unit, before, after in comparison.rows()
    ]
    return f"<p>speedup <b>{comparison.speedup:.3f}</b></p>" + _table(
        ("counter", "baseline", "result", "ratio", "unit"), rows
    )


def advice_html(advice: Advice) -> str:
    """Diagnosis and conclusion, a table of improvements, one of schemes with bars, and the source of the best one."""
    most = max([1.0, *(scheme.speedup or 0 for scheme in advice.schemes)])
    rows = []
    for scheme in advice.schemes:
        run, speedup = scheme.result, scheme.speedup or 0
        bar = f"<div style='width:{120 * speedup / most:.0f}px;height:0.8em;background:{_COLOURS[0]}'></div>"
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
    changes = _table(("line", "source", "what it does", "what to do"), found) if found else ""
    source = f"<details><summary>source of the best kernel</summary><pre>{html.escape(advice.source)}</pre></details>"
    return f"<div>{''.join(lines)}{changes}<table>{''.join(rows)}</table>{source}</div>"


def _stalls(result: Result) -> str:
    """One bar of the schedulers' time, and its legend."""
    shares = {name: share for name, share in result.stalls.items() if share > 0}
    bar, legend = [], []
    for (name, share), colour in zip(shares.items(), _COLOURS * 2, strict=False):
        label = f"{html.escape(name.replace('_', ' '))} {100 * share:.1f} %"
        bar.append(f"<div title='{label}' style='width:{100 * share:.3f}%;background:{colour}'></div>")
        legend.append(f"<span style='color:{colour}'>&#9632;</span> {label}")
    return (
        f"<div style='display:flex;height:14px;max-width:60em'>{''.join(bar)}</div>"
        f"<p style='font-size:85%'>{' &nbsp; '.join(legend)}</p>"
    )


def _heat_map(result: Result) -> str:
    """Source lines, coloured by the scheduler time that each cost, or a hint how to get them."""
    if result.profile is None:
        return "<p style='font-size:85%'>simulate(..., profile=True) shows here what each source line cost</p>"
    lines = result.lines()
    lines.pop(0, None)
    if not lines:
        return ""
    names = list(line_counters())
    slot = result["issue_cycles"] / (result["instructions"] or 1)  # clocks of a scheduler per instruction
    cost = {line: counters["idle"] + slot * counters["issued"] for line, counters in lines.items()}
    hottest = max(cost.values()) or 1
    rows = []
    for line in range(min(lines), max(lines) + 1):
        counters = lines.get(line)
        heat = cost.get(line, 0) / hottest
        cells = "".join(
            f"<td style='text-align:right'>{counters[n]:,}</td>" if counters else "<td></td>" for n in names
        )
        code = html.escape(result.source(line))
        rows.append(
            f"<tr style='background:rgba(213,94,0,{0.6 * heat:.3f})'><td>{line}</td>"
            f"<td style='text-align:left'><pre style='margin:0'>{code}</pre></td>{cells}</tr>"
        )
    titles = "".join(f"<th title='{html.escape(line_counters()[n].doc)}'>{n}</th>" for n in names)
    return f"<table><thead><tr><th>line</th><th>source</th>{titles}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _counters(result: Result) -> str:
    info = counter_info()
    rows = [(name, f"{value:,}", info[name].unit, info[name].doc) for name, value in result.items()]
    return _table(("counter", "value", "unit", "definition"), rows)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    titles = "".join(f"<th>{html.escape(text)}</th>" for text in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
