"""What people write to order blocks without ending the kernel: nothing is found. Bodies are as in form.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from smmux import smm
from tests.multiplex.kernels import kernel

from .form import EVERY, UNCACHED, Planted, text_of

ROOT = Path(__file__).parents[2]
RESIDENT = ((6, 64),)

RACE_FREE: dict[str, Planted] = {
    "threadFenceReduction of the CUDA samples": Planted("""\
        s = cuda.shared.array(128, int32)
        last = cuda.shared.array(1, int32)
        s[t] = int32(a[i])
        cuda.syncthreads()
        h = T // 2
        while h > 0:
            if t < h:
                s[t] += s[t + h]
            cuda.syncthreads()
            h //= 2
        if t == 0:
            b[g] = s[0]
            cuda.threadfence()
            ticket = cuda.atomic.inc(c.view(uint32), 0, uint32(G))
            last[0] = ticket == uint32(G - 1)
        cuda.syncthreads()
        if last[0]:
            x = 0
            k = t
            while k < G:
                x += int32(b[k])
                k += T
            s[t] = x
            cuda.syncthreads()
            if t == 0:
                for k in range(1, T):
                    x += s[k]
                b[n] = x
                c[0] = 0
        """, sizes=((12, 64), (50, 128))),
    "every thread fences, and the last block reads": Planted("""\
        last = cuda.shared.array(1, int32)
        a[i] = i
        cuda.threadfence()
        cuda.syncthreads()
        if t == 0:
            last[0] = cuda.atomic.add(c, 0, 1)
        cuda.syncthreads()
        if last[0] == G - 1:
            for k in range(G):
                b[k * T + t] = a[k * T + T - 1 - t]
        """, sizes=((12, 64), (300, 64))),
    "a lock of every thread": Planted("""\
        done = False
        while not done:
            if cuda.atomic.cas(c, 0, 0, 1) == 0:
                cuda.threadfence()
                a[0] += 1
                cuda.threadfence()
                cuda.atomic.exch(c, 0, 0)
                done = True
        """, sizes=((3, 40),)),
    "a lock given back by a store": Planted("""\
        if t == 0:
            while cuda.atomic.cas(c, 0, 0, 1) != 0:
                pass
            a[0] += g
            a[1] = a[0]
            cuda.threadfence()
            c[0] = 0
        """, sizes=RESIDENT),
    "tickets": Planted("""\
        if t == 0:
            mine = cuda.atomic.add(c, 0, 1)
            while c[64] != mine:
                pass
            a[0] += 1
            cuda.threadfence()
            c[64] = mine + 1
        """, gpus=UNCACHED, sizes=RESIDENT),
    "a barrier of one's own, again and again": Planted("""\
        for k in range(4):
            b[i] = a[(i + T) % n]
            cuda.threadfence()
            cuda.syncthreads()
            if t == 0:
                cuda.atomic.add(c, 0, 1)
                while cuda.atomic.add(c, 0, 0) < G * (2 * k + 1):
                    pass
            cuda.syncthreads()
            a[i] = b[(i + T) % n]
            cuda.threadfence()
            cuda.syncthreads()
            if t == 0:
                cuda.atomic.add(c, 0, 1)
                while cuda.atomic.add(c, 0, 0) < G * (2 * k + 2):
                    pass
            cuda.syncthreads()
        """, sizes=RESIDENT),
    "the same with a plain look": Planted("""\
        a[i] = i
        cuda.syncthreads()
        if t == 0:
            cuda.threadfence()
            cuda.atomic.add(c, 0, 1)
            while c[0] < G:
                pass
            cuda.threadfence()
        cuda.syncthreads()
        b[i] = a[n - 1 - i]
        """, gpus=UNCACHED, sizes=RESIDENT),
    "a first look in front of the loop": Planted("""\
        if g == 0 and t == 0:
            a[0] = 7
            cuda.threadfence()
            c[0] = 1
        if g == 1 and t == 0:
            f = c[0]
            while f == 0:
                f = c[0]
            b[0] = a[0]
        """, gpus=UNCACHED, sizes=RESIDENT),
    "while True and break": Planted("""\
        if g == 0 and t == 0:
            a[0] = 7
            cuda.threadfence()
            c[5] = 3
        if g == 1 and t == 0:
            while True:
                if c[5] == 3:
                    break
            b[0] = a[0]
        """, gpus=UNCACHED, sizes=RESIDENT),
    "a value that is its own flag": Planted("""\
        if t == 0:
            x = 1
            if g > 0:
                x = c[g - 1]
                while x == 0:
                    x = c[g - 1]
                x += 1
            c[g] = x
        """, gpus=UNCACHED, sizes=RESIDENT),
    "decoupled look-back, polls and stores": Planted("""\
        if t == 0:
            a[g] = g + 1
            cuda.threadfence()
            c[g] = 1
            x, k = 0, g - 1
            while k >= 0:
                f = c[k]
                while f == 0:
                    f = c[k]
                if f == 2:
                    x += int32(b[k])
                    k = -1
                else:
                    x += int32(a[k])
                    k -= 1
            b[g] = x + g + 1
            cuda.threadfence()
            c[g] = 2
        """, gpus=UNCACHED, sizes=RESIDENT),
    "decoupled look-back with the block order of a counter": Planted("""\
        s = cuda.shared.array(2, int32)
        if t == 0:
            s[0] = cuda.atomic.add(c, 0, 1)
        cuda.syncthreads()
        k = s[0]
        a[k * T + t] = k
        cuda.syncthreads()
        if t == 0:
            x = 0
            if k > 0:
                while cuda.atomic.add(c, k, 0) == 0:
                    pass
                x = int32(b[k - 1])
            b[k] = x + k
            cuda.threadfence()
            cuda.atomic.exch(c, k + 1, 1)
        """, sizes=((6, 64), (200, 64))),
    "flags of every thread": Planted("""\
        if g == 0:
            a[t] = t
            cuda.threadfence()
            cuda.atomic.exch(c, t, 1)
        if g == 1:
            while cuda.atomic.add(c, t, 0) == 0:
                pass
            b[t] = a[t]
        """, sizes=RESIDENT),
    "producers and consumers": Planted("""\
        if t == 0 and g < G // 2:
            for k in range(5):
                while cuda.atomic.add(c, g, 0) != 0:
                    pass
                a[g] = k
                cuda.threadfence()
                cuda.atomic.exch(c, g, 1)
        if t == 0 and g >= G // 2:
            for k in range(5):
                while cuda.atomic.add(c, g - G // 2, 0) == 0:
                    pass
                b[g] += a[g - G // 2]
                cuda.threadfence()
                cuda.atomic.exch(c, g - G // 2, 0)
        """, sizes=RESIDENT),
    "a queue of work": Planted("""\
        s = cuda.shared.array(1, int32)
        while True:
            if t == 0:
                s[0] = cuda.atomic.add(c, 0, 1)
            cuda.syncthreads()
            k = s[0]
            cuda.syncthreads()
            if k >= 2 * G:
                break
            if k < G:
                b[k * T + t] = a[k * T + t] + 1
        """, sizes=((4, 64), (9, 96))),
    "a stream compacted": Planted("""\
        if i % 3 == 0:
            k = cuda.atomic.add(c, 0, 1)
            b[k] = a[i]
        """),
    "a table of hashes": Planted("""\
        k = (i * 7) % n
        while cuda.atomic.cas(c, k, 0, i + 1) != 0:
            k = (k + 1) % n
        b[k] = a[i]
        """),
    "a histogram, and its last block": Planted("""\
        last = cuda.shared.array(1, int32)
        cuda.atomic.add(c, (i * 7) % 40, 1)
        cuda.threadfence()
        cuda.syncthreads()
        if t == 0:
            last[0] = cuda.atomic.add(c, 50, 1)
        cuda.syncthreads()
        if last[0] == G - 1 and t < 40:
            b[t] = c[t]
        """),
    "tiles of a block": Planted("""\
        for k in range(3):
            a[g * T + (t + k) % T] += k
            cuda.syncthreads()
        """),
    "one value by all": Planted("""\
        c[0] = 1
        a[t % 4] = 2
        """),
    "warps of a block hand on": Planted("""\
        if t < 32:
            a[i] = i
            cuda.threadfence()
            if t == 0:
                cuda.atomic.exch(c, g, 1)
        else:
            while cuda.atomic.add(c, g, 0) == 0:
                pass
            b[i] = a[i - 32]
        """, sizes=((4, 64),)),
    "buffers of a grid that takes turns": Planted("""\
        for k in range(4):
            a[n * ((k + 1) % 2) + i] = a[n * (k % 2) + (i + 5) % n]
            cuda.cg.this_grid().sync()
        """, sizes=RESIDENT),
}  # fmt: skip


@pytest.mark.parametrize("name", RACE_FREE)
def test_nothing_is_found(name: str) -> None:
    case = RACE_FREE[name]
    made = kernel(text_of(case, right=True), smm=smm)
    for gpu in case.gpus:
        for grid, block in case.sizes:
            for schedule in ("source", "list"):
                a, b = (np.zeros(2 * grid * block, np.int32) for _ in "ab")
                c = np.zeros(2 * grid * block, np.int32)
                result = made.simulate(
                    grid, block, (a, b, c), gpu=gpu, check="races", schedule=schedule, max_cycles=20_000_000
                )
                assert not result.findings, result.findings


def test_same_values_are_a_note() -> None:
    """Of threads, warps and blocks; each pair of lines is said once, and it is no finding."""
    made = kernel(text_of(RACE_FREE["one value by all"], right=True), smm=smm)
    arrays = tuple(np.zeros(512, np.int32) for _ in "abc")
    findings = made.simulate(4, 64, arrays, gpu=EVERY[0], check="races").findings
    assert not findings
    assert findings.summary() == "no findings"
    assert [(note.kind, note.severity, note.array) for note in findings.notes] == [
        ("same-value", "note", "c"),
        ("same-value", "note", "a"),
    ]
    assert str(findings).startswith("same-value (note): store at user.py:4 by thread")
    assert "same-value" in findings._repr_html_()


def test_same_values_in_shared_memory_are_a_note() -> None:
    made = kernel("""
    def f(out, v):
        s = cuda.shared.array(2, int32)
        for k in range(3):
            s[0] = 7
        cuda.syncthreads()
        s[1] = v
        cuda.syncthreads()
        out[cuda.grid(1)] = s[0] + s[1]
    """)
    for threads in (32, 96):
        findings = made.simulate(2, threads, (np.zeros(2 * threads, np.int32), 5), check="races").findings
        assert not findings
        assert [(note.kind, note.lines, note.array) for note in findings.notes] == [
            ("same-value", (5, 5), "s"),
            ("same-value", (7, 7), "s"),
        ]


OTHERS = {
    "tests/numba/public": {"test_breadth_first_search"},  # loads levels that others store meanwhile
    "tests/numba/test_examples.py": set(),
    "tests/benchmarks/test_workloads.py": set(),
    "tests/multiplex/test_written_kernels.py": set(),
}
"""Kernels of other tests, and those of them that race in global memory."""


@pytest.mark.slow
@pytest.mark.parametrize("tests", OTHERS)
def test_kernels_of_others(tests: str) -> None:
    """Errors in global memory, as the plugin prints them."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.races.checked", tests]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False).stdout
    checked = [line for line in lines.splitlines() if "::" in line and ": race:" in line]
    assert "launches checked" in lines, lines[-3000:]
    assert {line.split("::")[1].split("[")[0].split(":")[0] for line in checked} <= OTHERS[tests]
