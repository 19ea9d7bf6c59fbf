"""Accesses that name no array: the address says where they go, within the arrays of the launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smmux import OutOfBoundsError, gpus
from smmux.results.checks import RECORD
from smmux.running.launch_options import CHECKS
from tests.machine.assembler import LANEID, TID_X, Assembler, variant

ANY = -1
MACHINES = ("GTX285-1100", "GTX480-16K", "K20c", "sectors")


def machine(name: str) -> gpus.Gpu:
    """A machine with two SMs; one of them has an L1 with sectors."""
    return variant("GTX480-48K", l1_sector=32, sm_count=2) if name == "sectors" else variant(name, sm_count=2)


def copy(arrays: tuple[int, int], offset: int = 0) -> Assembler:
    """y[i] = x[i] + 1 with `arrays` in the place of the two."""
    a = Assembler()
    a("shl.b32", d=0, a=TID_X, b=a.imm(2))
    a("add.s32", d=1, a=0, b=a.param(0))
    a("add.s32", d=2, a=0, b=a.param(1))
    a("ld.global", d=3, a=1, width=4, imm=offset, aux=arrays[0])
    a("add.s32", d=3, a=3, b=a.imm(1))
    a("st.global", d=3, a=2, width=4, aux=arrays[1])
    a("exit")
    return a


@pytest.mark.parametrize("name", MACHINES)
def test_a_pointer_costs_what_the_array_it_points_to_costs(name: str) -> None:
    x = np.arange(256, dtype=np.uint32) * 3
    found = []
    for arrays in ((0, 1), (ANY, ANY), (ANY, 1), (0, ANY)):
        y = np.zeros(256, np.uint32)
        result = copy(arrays).run(machine(name), block=(256, 1, 1), buffers=(x, y))
        np.testing.assert_array_equal(y, x + 1)
        found.append(result["counters"])
    assert all(counters == found[0] for counters in found)


def scattered(rng: Any, count: int) -> list[Any]:
    """Arrays of any length, some of which follow each other without a gap."""
    sizes = rng.choice([1, 5, 32, 64, 100, 256], count)
    return [rng.integers(0, 1 << 32, size, dtype=np.uint32) for size in sizes]


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_lanes_go_to_different_arrays(name: str, width: int) -> None:
    """A table of pointers into many arrays: each lane takes one, loads, and stores through another."""
    rng = np.random.default_rng(width)
    words = max(1, width // 4)
    sources = [np.resize(array, max(len(array), 4) // 4 * 4) for array in scattered(rng, 9)]
    targets = [np.zeros_like(array) for array in sources]
    bases = np.cumsum([0x1000, *(-(-array.nbytes // 256) * 256 for array in (*sources, *targets))])
    which = rng.integers(0, len(sources), 64)
    place = np.array([rng.integers(0, sources[i].nbytes // width) * width for i in which])
    seen: set[tuple[int, int]] = set()
    for lane in range(64):  # nobody stores where another one does
        while (int(which[lane]), int(place[lane])) in seen:
            which[lane] = rng.integers(0, len(sources))
            place[lane] = rng.integers(0, sources[which[lane]].nbytes // width) * width
            if len(seen) >= sum(array.nbytes // width for array in sources):
                which[lane], place[lane] = which[0], place[0]
                break
        seen.add((int(which[lane]), int(place[lane])))
    pointers = np.stack([bases[which] + place, bases[which + len(sources)] + place], axis=1).astype(np.uint32)
    a = Assembler()
    a("shl.b32", d=0, a=TID_X, b=a.imm(3))
    a("add.s32", d=0, a=0, b=a.param(2 * len(sources)))
    a("ld.global", d=1, b=2, a=0, width=8, aux=2 * len(sources))
    data = dict(zip(("d", "b", "c", "q"), range(4, 4 + words), strict=False))
    a("ld.global", **data, a=1, width=width, aux=ANY)
    a("st.global", **data, a=2, width=width, aux=ANY)
    a("exit")
    a.run(machine(name), block=(64, 1, 1), buffers=(*sources, *targets, pointers))
    for lane in range(64):
        i, at = which[lane], place[lane]
        assert (
            targets[i].view(np.uint8)[at : at + width].tolist() == sources[i].view(np.uint8)[at : at + width].tolist()
        )
    touched = sum(len(set(place[which == i])) for i in range(len(sources))) * width
    assert sum(int(np.count_nonzero(t.view(np.uint8))) for t in targets) <= touched


@pytest.mark.parametrize("name", MACHINES)
def test_atomics_through_pointers_add_up(name: str) -> None:
    counts = [np.zeros(n, np.uint32) for n in (1, 3, 64)]
    where = np.array([0x1000, 0x1100 + 8, 0x1200 + 12, 0x1200 + 12], np.uint32)
    a = Assembler()
    a("and.b32", d=0, a=LANEID, b=a.imm(3))
    a("shl.b32", d=0, a=0, b=a.imm(2))
    a("add.s32", d=0, a=0, b=a.param(3))
    a("ld.global", d=1, a=0, width=4, aux=3)
    a("atom.global", a=1, b=a.imm(5), width=4, sub=0, aux=ANY)
    a("exit")
    a.run(machine(name), grid=(4, 1, 1), block=(32, 1, 1), buffers=(*counts, where))
    assert counts[0][0] == counts[1][2] == 4 * 8 * 5
    assert counts[2][3] == 4 * 16 * 5
    assert sum(int(count.sum()) for count in counts) == 4 * 32 * 5


def refused(a: Assembler, buffers: tuple[Any, ...]) -> OutOfBoundsError:
    with pytest.raises(OutOfBoundsError) as caught:
        a.run("GTX480-16K", buffers=buffers)
    return caught.value


@pytest.mark.parametrize("offset", [-4, 128, 1 << 20, -0x1000, 0x7FFFFFF0])
def test_addresses_outside_of_all_arrays_are_refused(offset: int) -> None:
    x, y = np.zeros(32, np.uint32), np.zeros(32, np.uint32)
    error = refused(copy((ANY, ANY), offset), (x, y))
    assert "global access outside the array" in str(error)
    assert error.line == 4
    assert error.thread == (0, 0, 0)


def test_the_first_lane_beyond_an_array_is_named_with_the_array_it_leaves() -> None:
    x, y = np.zeros(20, np.uint32), np.zeros(32, np.uint32)
    error = refused(copy((ANY, ANY)), (x, y))
    assert error.thread == (20, 0, 0)
    x = np.zeros(82, np.uint8)  # the 21st word begins inside and ends outside
    error = refused(copy((ANY, ANY)), (x, y))
    assert (error.thread, error.array_index, error.address) == ((20, 0, 0), 0, 80)


def test_addresses_have_to_be_aligned_and_stores_to_go_where_they_may() -> None:
    x, y = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    assert "not a multiple" in str(refused(copy((ANY, ANY), 2), (x, y)))
    y.flags.writeable = False
    error = refused(copy((ANY, ANY)), (x, y))
    assert "read-only" in str(error)
    assert error.array_index == 1


def test_textures_name_their_array() -> None:
    x = np.zeros(64, np.uint32)
    x.flags.writeable = False
    a = Assembler()
    a("tex.1d", d=0, a=a.param(0), width=4, aux=ANY)
    a("exit")
    with pytest.raises(Exception, match="array -1 does not exist"):
        a.run("GTX480-16K", buffers=(x,))


def test_a_store_through_a_pointer_may_go_to_any_array_so_none_is_preloaded() -> None:
    x, y = np.arange(256, dtype=np.uint32), np.zeros(256, np.uint32)
    table = [[0, 0, 0, 0, 0, 0, 0, 0, 1023]]
    gpu = variant("GTX285", sm_count=1, preload_policy="lines")
    named = copy((0, 1)).run(gpu, block=(256, 1, 1), buffers=(x, y), preload=table)["counters"]
    pointed = copy((0, ANY)).run(gpu, block=(256, 1, 1), buffers=(x, y), preload=table)["counters"]
    assert (named["preload_lines"], named["preload_refused"]) == (8, 0)
    assert (pointed["preload_lines"], pointed["preload_refused"]) == (0, 1)
    np.testing.assert_array_equal(y, x + 1)


Finding = tuple[tuple[int, ...], tuple[int, ...], int, int]


def findings(a: Assembler, buffers: tuple[Any, ...]) -> list[Finding]:
    """(pcs, threads, address on the device, count) of what the check finds in a run on one SM."""
    found = a.run(variant("GTX285", sm_count=1), block=(64, 1, 1), buffers=buffers, check=CHECKS["races"])
    told = []
    for record in np.frombuffer(found["findings"], RECORD):
        array = int(a.code()["aux"][record["pc"][1]])
        address = int(record["address"]) + (0 if array == ANY else 0x1000 + 256 * array)
        told.append((tuple(record["pc"].tolist()), tuple(record["thread"].tolist()), address, int(record["count"])))
    return told


@pytest.mark.parametrize(
    ("second", "width"), [("ld.global", 1), ("ld.global", 4), ("st.global", 4), ("st.global", 8), ("atom.global", 4)]
)
def test_the_check_finds_through_pointers_what_it_finds_in_arrays(second: str, width: int) -> None:
    """Warp 1 accesses in reverse order what warp 0 has stored, with every pair of an array and a pointer."""
    told = []
    for arrays in ((1, 1), (ANY, ANY), (ANY, 1), (1, ANY)):
        a = Assembler()
        a("mad.lo.s32", d=0, a=TID_X, b=a.imm(width), c=a.param(1))
        a("mad.lo.s32", d=1, a=TID_X, b=a.imm(-width), c=a.param(1))
        a("st.global", d=TID_X, b=TID_X, a=0, width=width, aux=arrays[0])
        values = {"b": TID_X} if second == "atom.global" else {"d": 4, "b": 5}
        a(second, a=1, width=width, imm=63 * width, aux=arrays[1], **values)
        a("exit")
        x, y = np.zeros(64, np.uint32), np.zeros(128, np.uint32)
        told.append(findings(a, (x, y)))
    assert {pcs for pcs, *_ in told[0]} == {(2, 3)}
    assert all(findings == told[0] for findings in told)


def test_the_check_follows_lanes_into_different_arrays() -> None:
    """Even lanes store to the one array and odd ones to the other, each to an own element but for the last two."""
    x, y = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    where = np.array([0x1000 + 256 * (lane % 2) + 4 * lane for lane in range(64)], np.uint32)
    where[63] = where[1]  # in another warp
    a = Assembler()
    a("mad.lo.s32", d=0, a=TID_X, b=a.imm(4), c=a.param(2))
    a("ld.global", d=1, a=0, width=4, aux=2)
    a("st.global", d=TID_X, a=1, width=4, aux=ANY)
    a("exit")
    assert findings(a, (x, y, where)) == [((2, 2), (1, 63), 0x1104, 1)]
    where[63] = 0x1100 + 4 * 63
    assert findings(a, (x, y, where)) == []
