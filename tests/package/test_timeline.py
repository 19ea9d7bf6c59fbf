"""Time lines as pages, and comparisons cause by cause."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smmux import ConfigError, cuda, float32
from smmux.results import timeline_picture
from smmux.results.causes import LEAST_TIME
from smmux.results.result import Result

RECT = re.compile(
    r"<rect x='(\d+)' y='([\d.]+)' width='(\d+)' height='[\d.]+' fill='[^']*' fill-opacity='[\d.]+'><title>([^<]*)"
)


@cuda.jit
def turned(out, a):
    tile = cuda.shared.array((16, 16), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = a[16 * cuda.blockIdx.x + y, x]
    cuda.syncthreads()
    out[16 * cuda.blockIdx.x + y, x] = tile[x, y]


@cuda.jit
def turned_padded(out, a):
    tile = cuda.shared.array((16, 17), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = a[16 * cuda.blockIdx.x + y, x]
    cuda.syncthreads()
    out[16 * cuda.blockIdx.x + y, x] = tile[x, y]


def run(kernel: Any, **options: Any) -> Result:
    a = np.arange(64 * 256, dtype=np.float32).reshape(-1, 16)
    result: Result = kernel.simulate(64, (16, 16), (np.zeros_like(a), a), gpu="GTX285", **options)
    return result


@pytest.fixture(scope="module")
def traced() -> Result:
    return run(turned, trace=True)


def handed_over(page: str) -> dict[str, Any]:
    """What the page's button gives to Perfetto."""
    data = re.search(r'atob\("([^"]*)"\)', page)
    assert data
    record: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(data[1])))
    return record


def test_the_picture_is_the_record(traced: Result) -> None:
    trace, line = traced.trace, traced.timeline()
    assert trace is not None
    drawn: dict[str, list[tuple[int, int]]] = {}
    for x, _, width, title in RECT.findall(line.svg):
        drawn.setdefault(title.partition(":")[0], []).append((int(x), int(x) + int(width)))
    stays = [stay for stay in trace.blocks() if stay.sm == line.sm]
    assert len(stays) == max(sum(stay.sm == sm for stay in trace.blocks()) for sm in range(30))
    for stay in stays:
        assert drawn[f"block {stay.block}"] == [(stay.start, stay.end)]
    waits = [(w.arrive, w.complete) for w in trace.waits() if w.sm == line.sm and w.complete > w.arrive]
    assert sorted(drawn["bar.sync"]) == sorted(waits)
    exits = {(int(r["block"]), int(r["warp"])): int(r["cycle"]) for r in trace.of("warp_exit") if r["sm"] == line.sm}
    starts = {stay.block: stay.start for stay in stays}
    for (block, warp), end in exits.items():
        assert drawn[f"warp {warp} of block {block}"] == [(starts[block], end)]


def test_both_colours_of_a_curve_are_explained(traced: Result) -> None:
    curve = traced.timeline().svg
    assert all(f">{colour}: row {state}<" in curve for colour, state in (("green", "open"), ("yellow", "not open")))


def test_the_button_hands_over_what_the_file_says_of_the_sm(traced: Result, tmp_path: Path) -> None:
    assert traced.trace is not None
    traced.trace.to_perfetto(tmp_path / "all.json")
    whole = json.loads((tmp_path / "all.json").read_text())
    line = traced.timeline(sm=3)
    given = handed_over(line._repr_html_())
    assert given["otherData"] == whole["otherData"]
    assert given["traceEvents"] == [event for event in whole["traceEvents"] if event["pid"] in (3, 1_000_000)]
    assert {"B", "E", "C", "M"} <= {event["ph"] for event in given["traceEvents"]}


def test_a_page_needs_no_other_file(traced: Result, tmp_path: Path) -> None:
    traced.timeline().save(tmp_path / "line.html")
    page = (tmp_path / "line.html").read_text()
    assert set(re.findall(r"https?://[\w./]+", page)) == {"http://www.w3.org/2000/svg", "https://ui.perfetto.dev"}
    assert not re.search(r"<link|<img|<script [^>]*src", page)
    assert re.search(r"role='img' aria-label='time line of SM \d+: turned on GTX285'", page)
    assert repr(traced.timeline()).startswith("<Timeline of SM ")


def test_a_result_is_saved_with_its_time_line(traced: Result, tmp_path: Path) -> None:
    traced.save(tmp_path / "run.html")
    run(turned, profile=True).save(tmp_path / "other.html")
    page, other = (tmp_path / "run.html").read_text(), (tmp_path / "other.html").read_text()
    assert traced.timeline()._repr_html_() in page
    assert "data-smmux-timeline" not in other
    assert "tile[x, y]" in other


def test_without_a_record_there_is_no_time_line(traced: Result) -> None:
    with pytest.raises(ConfigError, match=r"use simulate\(\.\.\., trace=True\)"):
        run(turned).timeline()
    with pytest.raises(ConfigError, match=r"sm = 30 is outside 0\.\.29"):
        traced.timeline(30)


def test_a_picture_keeps_its_size(traced: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long record loses its shortest waits, and no block or warp."""
    whole = RECT.findall(traced.timeline().svg)
    monkeypatch.setattr(timeline_picture, "MOST", len(whole) - 10)
    few = RECT.findall(traced.timeline().svg)
    waits = sorted((int(row[2]) for row in whole if row[3].startswith("bar.sync")), reverse=True)
    left = sorted((int(row[2]) for row in few if row[3].startswith("bar.sync")), reverse=True)
    assert 0 < len(left) < len(waits)
    assert left == waits[: len(left)]
    assert len(whole) - len(few) == len(waits) - len(left)


def test_rates_are_amounts_over_their_intervals() -> None:
    edges, rates = timeline_picture.steps([10, 20, 40], [20, 30, 50], [5, 0, 20])
    assert edges == [0, 10, 20, 30, 40, 50]
    assert rates == [0, 0.5, 0, 0, 2]


def test_causes_of_time_add_up_to_the_change() -> None:
    before, after = run(turned), run(turned_padded)
    causes = after.compare(before).causes()
    shares = [cause.share for cause in causes if cause.share is not None]
    assert sum(shares) == pytest.approx(after.time_us / before.time_us - 1)
    assert [abs(share) for share in shares] == sorted((abs(share) for share in shares), reverse=True)
    passes = next(cause for cause in causes if cause.name == "bank passes")
    assert (passes.baseline, passes.result) == (before["shared_passes"], after["shared_passes"])
    change = after["shared_passes"] / before["shared_passes"] - 1
    assert passes.text == f"{-change:.0%} fewer bank passes"


def test_a_comparison_is_a_sentence() -> None:
    before, after = run(turned), run(turned_padded)
    forth, back = after.compare(before), before.compare(after)
    assert "fewer bank passes" in forth.text
    assert "more bank passes" in back.text
    assert before.compare(before).text == "as fast"
    assert before.compare(before).causes() == []
    for comparison in (forth, back):
        pace = max(comparison.speedup, 1 / comparison.speedup) - 1
        word = "faster" if comparison.speedup > 1 else "slower"
        assert comparison.text.startswith(f"{pace:.0%} {word}: " if pace >= 0.005 else "as fast")
        named = [cause for cause in comparison.causes() if cause.share is not None and cause.text in comparison.text]
        assert all(abs(cause.share or 0) > LEAST_TIME for cause in named)
        assert comparison.text in str(comparison)
        assert comparison.text in comparison._repr_html_()
