"""Pictures, read back: every number in them is the model's or the run's, and every cell stands where it belongs."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from smmux import Result, cuda, float32, gpus, int32, models, policies, smm
from smmux.drawing.svg import Svg
from smmux.errors import ConfigError
from smmux.machines.access_pictures import bank_map, coalescing_map
from smmux.machines.dram_pictures import dram_rows, open_rows
from smmux.machines.occupancy_picture import occupancy_chart
from smmux.results.held_curve import held_curve
from tests.reference import banks

NAME = "{http://www.w3.org/2000/svg}"
MACHINES = ("GTX285", "GTX480-48K", "K20c")
WIDTHS = (1, 2, 4, 8, 16)


def shapes(picture: str) -> list[tuple[dict[str, str], str]]:
    """Attributes and titles of the rectangles of a picture that have a title."""
    found = ElementTree.fromstring(picture).iter(f"{NAME}rect")
    titled = [(rect, rect.find(f"{NAME}title")) for rect in found]
    return [(rect.attrib, str(title.text)) for rect, title in titled if title is not None]


def texts(picture: str) -> list[str]:
    return [str(text.text) for text in ElementTree.fromstring(picture).iter(f"{NAME}text")]


def expanded(ranges: str) -> list[int]:
    """The lanes in "0-3, 7"."""
    ends = [[int(end) for end in part.split("-")] for part in ranges.split(", ")]
    return [lane for part in ends for lane in range(part[0], part[-1] + 1)]


class Tables(HTMLParser):
    """The rows of all tables of a page, as texts of cells, with the styles of the cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.styles: list[list[list[str]]] = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
            self.styles.append([])
        elif tag == "tr":
            self.tables[-1].append([])
            self.styles[-1].append([])
        elif tag in ("td", "th"):
            self.inside = True
            self.tables[-1][-1].append("")
            self.styles[-1][-1].append(dict(attrs).get("style") or "")

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.tables[-1][-1][-1] += data


@cuda.jit
def turned(out, matrix):
    tile = cuda.shared.array((16, 16), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = matrix[y, x + 16 * cuda.blockIdx.x]
    cuda.syncthreads()
    out[16 * cuda.blockIdx.x + y, x] = tile[x, y]


@cuda.jit
def borrowed(a):
    tile = smm.array(1024, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    smm.alloc()
    tile[t] = a[i]
    cuda.syncthreads()
    a[i] = tile[63 - t]
    smm.release()


@cuda.jit(device=True)
def raised(value):
    return value + 1


def turned_on(gpu: str) -> Result:
    matrix = np.arange(16 * 512, dtype=np.float32).reshape(16, 512)
    out = np.zeros((512, 16), np.float32)
    result = turned.simulate(32, (16, 16), (out, matrix), gpu=gpu, profile=True)
    assert (out == matrix.T).all()
    return result


@pytest.fixture(scope="module")
def runs() -> tuple[Result, Result]:
    return turned_on("GTX285"), turned_on("K20c")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("gpu", MACHINES)
def test_a_bank_map_serves_each_lane_once_in_its_banks_within_the_passes_of_the_definition(
    gpu: str, width: int
) -> None:
    machine, random = gpus.get(gpu), np.random.default_rng(width)
    for span in (8, 64, 1024):
        addresses = random.integers(0, span, 32) * width
        mask = random.random(32) < 0.8
        access = models.bank_passes(addresses, width, gpu, mask=mask)
        lanes = np.flatnonzero(mask).tolist()
        bank_bytes = machine.smem_bank_bytes if machine.smem_rule == 3 else 4
        expected = banks.passes(addresses.tolist(), lanes, width, machine.smem_rule, machine.smem_banks, bank_bytes)
        assert (access.passes, access.ideal) == expected
        assert sum(step.passes for step in access.steps) == expected[0]
        assert sorted(lane for step in access.steps for lane in step.lanes) == lanes
        picture = bank_map(access)
        rows = [text.split(" ", 1)[1] for text in texts(picture) if text.startswith("lane")]
        assert [expanded(row) for row in rows] == [list(step.lanes) for step in access.steps]
        drawn = set()
        for rect, title in shapes(picture):
            found = re.fullmatch(r"bank (\d+): lane (.+), byte address \d+", title)
            assert found is not None
            drawn |= {(rect["y"], lane, int(found[1])) for lane in expanded(found[2])}
        tops = sorted({float(y) for y, _, _ in drawn})
        touched = {
            (n, lane, byte // bank_bytes % machine.smem_banks)
            for n, step in enumerate(access.steps)
            for lane in step.lanes
            for byte in range(addresses[lane], addresses[lane] + width)
        }
        assert {(tops.index(float(y)), lane, bank) for y, lane, bank in drawn} == touched


def test_lanes_in_one_cell_of_a_bank_map_read_the_same_word() -> None:
    """On compute capability 1.x a pass serves one word of each bank, and one of these to several lanes."""
    random = np.random.default_rng(3)
    for _ in range(20):
        addresses = 4 * random.integers(0, 48, 32)
        for step in models.bank_passes(addresses).steps:
            words = [(int(addresses[lane]) // 4 % 16, int(addresses[lane])) for lane in step.lanes]
            assert len({bank for bank, _ in words}) == len(set(words))
            assert sum(words.count(word) > 1 for word in set(words)) <= 1
            assert len({lane // 16 for lane in step.lanes}) == 1


@pytest.mark.parametrize("gpu", MACHINES)
def test_a_coalescing_map_shows_each_lane_at_its_address(gpu: str) -> None:
    random = np.random.default_rng(1)
    for width in WIDTHS:
        addresses = (random.integers(0, 200, 32) + 64) * width
        mask = random.random(32) < 0.8
        found = models.coalesce(addresses, width, gpu, mask=mask)
        picture = coalescing_map(found)
        lanes = []
        for _, title in shapes(picture):
            lane, address = map(int, re.findall(r"\d+", title))
            assert address == addresses[lane]
            lanes.append(lane)
        assert sorted(lanes) == np.flatnonzero(mask).tolist()
        notes = [text for text in texts(picture) if text.endswith("bytes used")]
        for note, segment in zip(notes, found.segments, strict=True):
            asked = {int(addresses[lane]) + byte for lane in segment.lanes for byte in range(width)}
            assert asked <= set(range(segment.address, segment.address + segment.bytes))
            assert note == f"{len(asked)} of {segment.bytes} bytes used"
        offsets = [int(text) for text in texts(picture) if text.startswith("+")]
        served = [(s, lane) for s in found.segments for lane in s.lanes]
        assert sorted(offsets) == sorted(int(addresses[lane]) - s.address for s, lane in served)


@pytest.mark.parametrize("dynamic", [{}, {"dynamic_bytes": 6000, "extra_blocks": 2}])
@pytest.mark.parametrize("gpu", MACHINES)
def test_an_occupancy_chart_is_the_occupancy_of_every_block_size(gpu: str, dynamic: dict[str, int]) -> None:
    own = models.occupancy(100, 20, 3000, gpu, **dynamic)
    bars = shapes(occupancy_chart(own))
    sizes = []
    for rect, title in bars:
        threads, blocks, warps = map(int, re.findall(r"\d+", title))
        each = models.occupancy(threads, 20, 3000, gpu, **dynamic)
        assert (blocks, warps) == (each.blocks, each.warps)
        assert title.endswith(f"limited by {each.limiter}")
        assert float(rect["height"]) == pytest.approx(120 * each.occupancy, abs=0.01)
        sizes.append(threads)
    assert sizes == sorted({*range(32, gpus.get(gpu).max_threads_block + 1, 32), 100})
    limits = {name: blocks for name, blocks in own.limits.items() if blocks is not None}
    assert Tables(own._repr_html_()).tables[0][1:] == [[name, str(blocks)] for name, blocks in limits.items()]


@pytest.mark.parametrize("page", ["open", "closed"])
@pytest.mark.parametrize("gpu", MACHINES)
def test_open_rows_are_those_of_the_commands(gpu: str, page: str) -> None:
    random = np.random.default_rng(2)
    machine = replace(gpus.get(gpu), dram_page=page)
    addresses, write = 64 * random.integers(0, 1 << 12, 300), random.random(300) < 0.3
    replay = models.Dram(machine).replay(addresses, write=write, log=True)
    rows = open_rows(replay)
    assert len(rows) == replay.activates
    assert sum(len(each.reads) for each in rows) == replay.reads
    assert sum(len(each.writes) for each in rows) == replay.writes
    for each in rows:
        assert all(each.opened < clock <= each.closed for clock in (*each.reads, *each.writes))
    for bank in {each.bank for each in rows}:
        assert all(a.closed < b.opened for a, b in pairwise(each for each in rows if each.bank == bank))
    drawn = shapes(dram_rows(replay))
    assert [title for _, title in drawn] == [
        f"bank {r.bank}, row {r.row}: clk {r.opened} to {r.closed}, {len(r.reads)} reads, {len(r.writes)} writes"
        for r in rows
    ]
    assert "rows" in replay._repr_html_()


def test_rows_need_the_commands() -> None:
    replay = models.Dram().replay([0, 64])
    assert "log=True" in replay._repr_html_()
    with pytest.raises(ValueError, match="log=True"):
        open_rows(replay)


def test_stall_bars_are_the_counters(runs: tuple[Result, Result]) -> None:
    slow, fast = max(runs, key=lambda run: run.time_us), min(runs, key=lambda run: run.time_us)
    page = fast.compare(slow)._repr_html_()
    picture = page[page.index("<svg") : page.index("</svg>") + 6]
    tops = sorted({float(rect["y"]) for rect, _ in shapes(picture)})
    looks = []
    for run, top in zip((slow, fast), tops, strict=True):
        bars = [(rect, title) for rect, title in shapes(picture) if float(rect["y"]) == top]
        counted = {name: run[name] for name in run if name.startswith("idle_") or name == "issue_cycles"}
        assert len(bars) == sum(value > 0 for value in counted.values())
        for rect, title in bars:
            reason, share = title.rsplit(" ", 1)
            name = "issue_cycles" if reason == "issue" else f"idle_{reason.replace(' ', '_')}"
            part = counted[name] / run["scheduler_cycles"]
            assert share == f"{part:.1%}"
            assert float(rect["width"]) == pytest.approx(700 * part * run.time_us / slow.time_us, abs=0.01)
            looks.append((reason, rect["fill"]))
    assert len({look for _, look in looks}) <= len({reason for reason, _ in looks}) == len(set(looks))


def test_the_heat_map_is_the_counters_of_the_lines(runs: tuple[Result, Result]) -> None:
    result = runs[0]
    read = Tables(result._repr_html_())
    maps = [(rows, styles) for rows, styles in zip(read.tables, read.styles, strict=True) if rows[0][:1] == ["line"]]
    lines = result.lines()
    assert len(maps) == 5
    for rows, styles in maps:
        names = rows[0][3:]
        assert set(names) == {name for each in lines.values() for name, count in each.items() if count}
        for row, style in zip(rows[1:], styles[1:], strict=True):
            line = int(row[0])
            assert row[1] == result.source(line)
            if line not in lines:
                assert set(row[2:]) == {""}
                continue
            assert [int(cell.replace(",", "")) for cell in row[3:]] == [lines[line][name] for name in names]
            for name, look in zip(names, style[3:], strict=True):
                share = lines[line][name] / max(1, *(each[name] for each in lines.values()))
                assert f" {100 * share:.1f}%" in look
    assert [int(row[0]) for row in maps[0][0][1:]] == list(range(min(lines), max(lines) + 1))
    for (rows, _), name in zip(maps[1:], ("issued", "idle", "transactions", "passes"), strict=True):
        column = [int(row[rows[0].index(name)].replace(",", "")) for row in rows[1:]]
        assert column == sorted((each[name] for each in lines.values() if each[name]), reverse=True)


def test_the_heat_map_leaves_out_what_lies_between_functions() -> None:
    @cuda.jit
    def calls(a):
        i = cuda.grid(1)

        a[i] = raised(a[i])

    result = calls.simulate(1, 32, (np.zeros(32, np.int32),), profile=True)
    rows = next(rows for rows in Tables(result._repr_html_()).tables if rows[0][:1] == ["line"])
    lines = [row[0] for row in rows[1:]]
    first = int(lines[0])
    last = int(lines[-1])
    assert lines == [str(first), "...", str(last - 2), str(last - 1), str(last)]
    assert [result.source(line) for line in (first, last)] == ["    return value + 1", "        a[i] = raised(a[i])"]


def test_lines_sort_by_a_counter(runs: tuple[Result, Result]) -> None:
    result = runs[0]
    for name in ("issued", "idle", "conflicts"):
        found = result.lines(sort=name)
        assert found == result.lines()
        assert [each[name] for each in found.values()] == sorted((e[name] for e in found.values()), reverse=True)
    with pytest.raises(ConfigError, match="'idel'; did you mean 'idle'"):
        result.lines(sort="idel")


def test_time_of_lines_is_all_but_the_time_without_blocks(runs: tuple[Result, Result]) -> None:
    """Instructions of a line take issue slots and waiting; what is left of the schedulers' time has no instruction."""
    for result in runs:
        idle = sum(result[name] for name in result if name.startswith("idle_"))
        waited = sum(each["idle"] for each in result.lines().values())
        assert waited <= idle
        assert sum(result.line_time().values()) == pytest.approx(
            (result["issue_cycles"] + waited) / result["scheduler_cycles"]
        )


def test_a_comparison_has_both_runs_and_what_changed_most_first(runs: tuple[Result, Result]) -> None:
    before, after = runs
    comparison = after.compare(before)
    facts, _causes, most, rest = Tables(comparison._repr_html_()).tables
    assert facts[0] == ["", "baseline", "result"]
    assert facts[2] == ["machine", "GTX285", "K20c"]
    rows = [*most[1:], *rest[1:]]
    assert {name for name, *_ in rows} == {name for name in after if after[name] != before[name]}
    for name, was, now, *_ in rows:
        assert (int(was.replace(",", "")), int(now.replace(",", ""))) == (before[name], after[name])
    factors = [(after[name] + 1) / (before[name] + 1) for name, *_ in rows]
    extents = [max(factor, 1 / factor) for factor in factors]
    assert extents == sorted(extents, reverse=True)
    assert "no counter differs" in after.compare(after)._repr_html_()


@pytest.mark.parametrize("management", policies.names("management"))
@pytest.mark.parametrize("gpu", MACHINES)
def test_occupancy_of_a_run_is_its_residency(gpu: str, management: str) -> None:
    a = np.arange(64 * 8, dtype=np.float32)
    result = borrowed.simulate(8, 64, (a,), gpu=gpu, management=management, extra_blocks=2 * (management != "static"))
    found = result.occupancy
    assert (found.blocks, found.static_blocks, found.limiter) == (
        result.residency,
        result.static_residency,
        result.limiter,
    )
    named = re.findall(r"<b>([\w ]+) (\d+) \(limiter\)</b>", result._repr_html_())
    assert named == [(result.limiter, str(result.residency))]


@pytest.mark.parametrize("blocks", [40, 1500])
def test_the_curve_of_held_memory_is_that_of_blocks_and_allocations(blocks: int) -> None:
    """Its edges are the times at which memory changes hands, and its height what all who stay hold together."""
    a = np.arange(64 * blocks, dtype=np.float32)
    result = borrowed.simulate(blocks, 64, (a,), gpu="GTX285", management="dynamic", extra_blocks=2, trace=2000)
    assert result.trace is not None
    assert result.trace.lost == 0
    page = result._repr_html_()
    title = re.search(r"SM (\d+): at most (\d+) of 16384 bytes", page)
    assert title is not None
    sm, most = map(int, title.groups())
    holds = [(each.place, each.end, each.bytes) for each in result.trace.blocks() if each.sm == sm]
    holds += [(each.grant, each.release, each.bytes) for each in result.trace.allocations() if each.sm == sm]
    edges = sorted({cycle for first, last, _ in holds for cycle in (first, last)})
    held = [sum(size for first, last, size in holds if first <= cycle < last) for cycle in edges]
    assert most == max(held) <= 16384
    path = re.search(r"<path d='M60 90([^']+)Z'", held_curve(result.trace, sm))
    assert path is not None
    moves = [(kind, float(value)) for kind, value in re.findall(r"([HV])([\d.]+)", path[1])]
    x, drawn = 60.0, []
    for kind, value in moves[:-2]:
        if kind == "H":
            x = value
        else:
            drawn.append((x, 16384 * (90 - value) / 70))
    # Within a pixel the order of steps is lost; behind it the curve is where it should be.
    for cycle, size in zip(edges, held, strict=True):
        place = 60 + 700 * cycle / result.cycles
        near = [height for at, height in drawn if abs(at - place) <= 1.01]
        assert min(near) - 3 <= size <= max(near) + 3
    assert drawn[-1][1] == pytest.approx(held[-1], abs=3)


def test_a_curve_that_lacks_blocks_says_so() -> None:
    a = np.arange(64 * 900, dtype=np.float32)
    result = borrowed.simulate(900, 64, (a,), gpu="GTX285", management="dynamic", extra_blocks=2, trace=100)
    assert result.trace is not None
    assert result.trace.lost > 0
    assert f"not of all blocks, {result.trace.lost:,} events had no room" in result._repr_html_()


def test_occupancy_counts_dynamic_shared_memory_of_the_launch() -> None:
    @cuda.jit
    def through(a):
        tile = cuda.shared.array(0, int32)
        tile[cuda.threadIdx.x] = a[cuda.grid(1)]
        a[cuda.grid(1)] = tile[cuda.threadIdx.x] + 1

    result = through.simulate(2, 64, (np.zeros(128, np.int32),), dynshared=5000)
    assert (result.occupancy.blocks, result.occupancy.limiter) == (result.residency, result.limiter)
    assert (result.residency, result.limiter) == (3, "shared memory")


def test_pictures_that_differ_share_no_names_and_texts_are_escaped() -> None:
    pages = []
    for size in (10, 20):
        svg = Svg(30, 30, "<'&\">")
        svg.rect(0, 0, size, size, 1, "<a> & 'b'")
        pages.append(str(svg))
    first, second = (
        {e.attrib["id"] for e in ElementTree.fromstring(page).iter() if "id" in e.attrib} for page in pages
    )
    assert first
    assert not first & second
    assert ElementTree.fromstring(pages[0]).attrib["aria-label"] == "<'&\">"
    assert [title for _, title in shapes(pages[0])] == ["<a> & 'b'"]


def test_pictures_need_no_script_and_no_colour_of_the_page(runs: tuple[Result, Result]) -> None:
    """Texts and lines have the page's own colour, which is dark or light."""
    page = runs[0]._repr_html_() + models.occupancy(64, 10, 0)._repr_html_()
    assert "<script" not in page
    assert not re.search(r"(?<![-\w])(color|stroke|background):? ?[='\"]*(black|white|#000|#fff)", page)
