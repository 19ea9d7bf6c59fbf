"""Results as HTML for notebooks: occupancy, stall breakdown, heat map of the source, counters, and comparisons."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from smmux.drawing.markup import page, table_of_text
from smmux.drawing.stall_bars import stall_bars
from smmux.results.held_curve import held_curve
from smmux.results.result import CounterInfo, counter_info, line_counters

if TYPE_CHECKING:
    from smmux.results.result import Comparison, Result

__all__ = ["comparison_html", "counters_page", "result_html", "result_page"]

_TOP = 10
"""Rows of a table that shows only what is largest."""

_SORTED = ("issued", "idle", "transactions", "passes")
"""Counters by which the lines of a source are listed again."""
_GAP = 12
"""Lines without counters, if more than these are in a row, belong to something else."""
_SOURCE = "margin:0;white-space:pre-wrap;min-width:18em;padding-left:8ch;text-indent:-8ch"
"""Look of a source line: a long one is broken before a counter is cut off at the edge."""


def result_html(result: Result) -> str:
    """A page section about one run."""
    ordered = f", schedule {html.escape(result.schedule)}" if result.schedule else ""
    sampled = "" if result.sampled is None else f" ({html.escape(result.sampled.text)})"
    sampled += " (warm)" * result.warm
    head = (
        f"<b>{html.escape(result.kernel)}</b> on {html.escape(result.gpu.name)}: {result.cycles:,} cycles, "
        f"{result.time_us:,.2f} &micro;s{sampled}; "
        f"{result.residency} blocks per SM (limited by {html.escape(result.limiter)}, "
        f"{result.static_residency} with static management), {result.achieved_residency:.2f} on average; "
        f"grid {result.grid}, block {result.block}{ordered}"
    )
    bars = stall_bars([("schedulers", result.stalls, 1.0)])
    parts = [f"<p>{head}</p>", _limits(result), bars, _heat_map(result)]
    if result.trace is not None and len(result.trace.events):
        parts.insert(3, held_curve(result.trace, int(result.trace.events["sm"][0])))
    if result.findings is not None:
        parts.append(f"<p>check {html.escape(repr(result.check))}:</p>{result.findings._repr_html_()}")
    if result.printed:
        parts.append(f"<details><summary>printed</summary><pre>{html.escape(result.printed)}</pre></details>")
    parts.append(f"<details><summary>counters</summary>{_counters(result)}</details>")
    return "<div>" + "".join(parts) + "</div>"


def result_page(result: Result) -> str:
    """A page of its own about one run, below it the time line if one was recorded."""
    body = result_html(result) + (result.timeline()._repr_html_() if result.trace is not None else "")
    return page(f"{result.kernel} on {result.gpu.name}", body)


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
    """Both runs side by side: headlines, their schedulers' time to scale, what changed most, and all that differs."""
    before, after = comparison.baseline, comparison.result
    both = (before, after)
    facts = [
        ("kernel", *(run.kernel for run in both)),
        ("machine", *(run.gpu.name for run in both)),
        ("schedule", *(run.schedule for run in both)),
        ("time", *(f"{run.time_us:,.2f} \N{MICRO SIGN}s, {run.cycles:,} cycles" for run in both)),
        ("blocks per SM", *(f"{run.residency}, limited by {run.limiter}" for run in both)),
        ("on average", *(f"{run.achieved_residency:.2f}" for run in both)),
        ("grid, block", *(f"{run.grid}, {run.block}" for run in both)),
    ]
    if any(run.sampled for run in both):
        facts.insert(4, ("sampled", *("" if run.sampled is None else run.sampled.text for run in both)))
    longest = max(run.time_us for run in both) or 1
    bars = [(name, run.stalls, run.time_us / longest) for name, run in zip(("baseline", "result"), both, strict=True)]
    head = ("counter", "baseline", "result", "ratio", "unit")
    rows = [
        (name, f"{was:,}", f"{now:,}", f"{now / was:.3f}" if was else "", unit)
        for name, unit, was, now in comparison.changes()
    ]
    most = f"<p>what changed most</p>{table_of_text(head, rows[:_TOP])}" if rows else "<p>no counter differs</p>"
    rest = f"<details><summary>{len(rows) - _TOP} more</summary>{table_of_text(head, rows[_TOP:])}</details>"
    parts = (
        f"<p>speedup <b>{comparison.speedup:.3f}</b></p><p>{html.escape(comparison.text)}</p>",
        table_of_text(("", "baseline", "result"), facts),
        stall_bars(bars),
        _causes(comparison),
        most,
        rest if rows[_TOP:] else "",
    )
    return f"<div>{''.join(parts)}</div>"


def _causes(comparison: Comparison) -> str:
    """Both runs cause by cause: microseconds of the schedulers' time, then counters of work."""
    rows = []
    for cause in comparison.causes():
        form = "{:,.0f}" if cause.share is None else "{:,.2f} \N{MICRO SIGN}s"
        share = "" if cause.share is None else f"{cause.share:+.1%}"
        rows.append((cause.name, form.format(cause.baseline), form.format(cause.result), cause.text, share))
    head = ("cause", "baseline", "result", "change", "of the baseline's time")
    return table_of_text(head, rows) if rows else ""


def _limits(result: Result) -> str:
    """The blocks of an SM that each resource alone would allow; the one that decides stands out."""
    found = result.occupancy
    cells = [
        f"<b>{html.escape(name)} {blocks} (limiter)</b>" if name == found.limiter else f"{html.escape(name)} {blocks}"
        for name, blocks in found.limits.items()
        if blocks is not None
    ]
    return (
        f"<p>occupancy {found.warps} of {found.max_warps} warps ({found.occupancy:.0%}); blocks: {', '.join(cells)}</p>"
    )


def _heat_map(result: Result) -> str:
    """Source lines with what each cost, and again the first by several counters; or a hint how to get them.

    The bar in a cell is the number's share of the largest in its column.
    """
    if result.profile is None:
        return "<p style='font-size:85%'>simulate(..., profile=True) shows here what each source line cost</p>"
    lines = result.lines()
    lines.pop(0, None)
    if not lines and len(result.files) == 1:
        return ""
    tables = [_lines_table(result, _stretches(lines))] if lines else []
    for file in result.files[1:]:
        table = _lines_table(result, result.lines(file=file), file)
        tables.append(f"<details><summary>lines of {html.escape(file)}</summary>{table}</details>")
    for name in _SORTED:
        first = [line for line, counters in result.lines(sort=name).items() if line and counters[name]][:_TOP]
        if first:
            table = _lines_table(result, first)
            tables.append(f"<details><summary>lines with the most <b>{name}</b></summary>{table}</details>")
    return "".join(tables)


def _stretches(counted: Iterable[int]) -> Iterator[int | None]:
    """Lines from the first to the last counted one; None for what is between a function and another far away."""
    before = None
    for line in sorted(counted):
        if before is not None and line - before > _GAP:
            yield None
        elif before is not None:
            yield from range(before + 1, line)
        yield line
        before = line


def _lines_table(result: Result, shown: Iterable[int | None], file: str | None = None) -> str:
    """Source lines of a file in the order given, with the counters of those that have any; None is a gap.

    Counters that are 0 everywhere are left out: without them most tables are as wide as a page.
    """
    lines, time = result.lines(file=file), result.line_time(file)
    names = [name for name in line_counters() if any(counters[name] for counters in lines.values())]
    most = {name: max(counters[name] for counters in lines.values()) for name in names}
    slowest = max(time.values()) or 1
    rows = []
    for line in shown:
        if line is None:
            rows.append("<tr><td>...</td></tr>")
            continue
        code = f"<pre style='{_SOURCE}'>{html.escape(result.source(line, file))}</pre>"
        cells = [f"<td>{line}</td>", f"<td style='text-align:left'>{code}</td>"]
        if line in lines:
            cells.append(_bar(f"{time[line]:.1%}", time[line] / slowest))
            cells += [_bar(f"{lines[line][name]:,}", lines[line][name] / most[name]) for name in names]
        else:
            cells += ["<td></td>"] * (1 + len(names))
        rows.append(f"<tr>{''.join(cells)}</tr>")
    titles = [f"<th title='{html.escape(line_counters()[name].doc, quote=True)}'>{name}</th>" for name in names]
    time_title = "<th title='share of the time of the schedulers, waiting included'>time</th>"
    head = f"<tr><th>line</th><th>source</th>{time_title}{''.join(titles)}</tr>"
    table = f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"
    return f"<div style='overflow-x:auto;font-size:80%'>{table}</div>"


def _bar(text: str, share: float) -> str:
    """A cell with a number over a bar."""
    fill = f"linear-gradient(to left,rgba(213,94,0,0.45) {100 * share:.1f}%,transparent {100 * share:.1f}%)"
    return f"<td style='text-align:right;padding:0 0.5em;background:{fill}'>{text}</td>"


def _counters(result: Result) -> str:
    info = counter_info()
    rows = [(name, f"{value:,}", info[name].unit, info[name].doc) for name, value in result.items()]
    return table_of_text(("counter", "value", "unit", "definition"), rows)
