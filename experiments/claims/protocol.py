"""Judges of what the paper says about the management itself (Section 5), by its table and a few blocks on one SM."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from experiments.common.cards import card
from experiments.common.speedups import LIMITED
from experiments.common.tables import listed
from experiments.common.verdicts import Claim, Verdict
from smmux import AllocationError, benchmarks, cuda, int32, models, smm
from smmux.gpus import Gpu
from smmux.models import SharedMemoryTable
from smmux.sweep import Record, sweep

__all__ = [
    "collaborative_rule", "divided_rows", "fragmentation", "ignored", "release", "split_of_6_kb", "waiting",
]  # fmt: skip

KB = 1024
MANY = 8
"""Blocks beyond K, so many that they have to wait for each other."""
THREADS = 64


def one_sm() -> Gpu:
    """The card with all blocks on one SM."""
    return card().replace(sm_count=1)


def run(name: str, variant: str, management: str, extra_blocks: int = 0) -> Record:
    """The record of a benchmark's smallest problem on one SM."""
    point = {"name": name, "variant": variant, "management": management, "extra_blocks": extra_blocks}
    return sweep(simulate, [point], jobs=1, progress=False)[0]


def simulate(name: str, variant: str, management: str, extra_blocks: int) -> Record:
    """Run a benchmark's smallest problem on one SM, check its outputs, and return counters, sizes and a digest of the
    arrays' bits."""
    benchmark = benchmarks.get(name)
    problem = benchmark.problem("tiny")
    arguments = problem.arguments()
    kernel, grid, block = benchmark.launch(problem, variant)
    result = kernel.simulate(grid, block, arguments, gpu=one_sm(), management=management, extra_blocks=extra_blocks)
    problem.check(arguments)
    outputs = hashlib.sha256(b"".join(np.asarray(a).tobytes() for a in arguments)).hexdigest()
    program = result.program
    sizes = {"bytes_held": program.shared_bytes, "bytes_asked": program.dynamic_bytes}
    return {"residency": result.residency, "outputs": outputs, **result.counters, **sizes}


def split_of_6_kb(claim: Claim, _: Sequence[Record]) -> Verdict:
    """How many blocks of 6 kB fit, whole and split into a private and a public part, and where the parts lie."""
    static = models.occupancy(32, 0, 6 * KB, card().replace(smem_reserved=0)).blocks
    table = SharedMemoryTable(capacity=16 * KB, dynamic_bytes=2 * KB)
    private = [table.alloc_static(block, 4 * KB) for block in range(4)]
    public = [table.alloc_dynamic(block, 2 * KB) for block in range(3)]
    starts = sorted(entry.start for entry in table.entries)
    return claim.verdict(
        {"static": static, "split": sum(p is not None for p in private), "starting at": starts},
        (static, starts, public[2]) == (2, [0, 4 * KB, 8 * KB, 12 * KB, 14 * KB], None),
        "Figure 10 prints 14436 for 14336; public parts are placed from the top down, the paper's from below",
    )


def collaborative_rule(claim: Claim, _: Sequence[Record]) -> Verdict:
    """Blocks of CO-HW that are on an SM together, and whether their private parts leave room for one public part."""
    resident, fits = {}, True
    for name in LIMITED:
        if "co_hw" in benchmarks.get(name).variants:
            ran = run(name, "co_hw", "dynamic", MANY)
            resident[name] = ran["residency"]
            held = ran["residency"] * (ran["bytes_held"] + card().smem_reserved)
            fits = fits and held <= card().smem_bytes - ran["bytes_asked"]
    return claim.verdict(
        resident,
        fits,
        f"resident blocks where K+{MANY} are allowed; all kernels end",
    )


def waiting(claim: Claim, _: Sequence[Record]) -> Verdict:
    """What does not fit is refused, at a block's start and at an allocation, until an entry is released."""
    table = SharedMemoryTable(capacity=16 * KB)
    first = table.alloc_static(0, 9 * KB)
    refused = table.alloc_static(1, 9 * KB), table.alloc_dynamic(0, 9 * KB)
    freed = table.release(first or 0)
    return claim.verdict(
        {"refused": [start is None for start in refused], "released": freed},
        refused == (None, None) and freed and table.alloc_static(1, 9 * KB) == 0,
        "9 kB wanted at a block's start and at an allocation while a block holds 9 of 16 kB, and after its release",
    )


@cuda.jit
def mirrored(a):
    """Each block reverses its part of the array, with a plain barrier between its stores and its loads."""
    tile = smm.array(THREADS, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    smm.alloc()
    tile[t] = a[i]
    cuda.syncthreads()
    a[i] = tile[THREADS - 1 - t]
    smm.release()


@cuda.jit
def nested(a):
    """A block that asks for more while it holds memory."""
    tile = smm.array(THREADS, int32)
    smm.alloc()
    tile[cuda.threadIdx.x] = a[cuda.threadIdx.x]
    smm.alloc()
    smm.release()


def release(claim: Claim, _: Sequence[Record]) -> Verdict:
    """A release frees the entry that starts at its address; a plain barrier neither allocates nor releases."""
    table = SharedMemoryTable(capacity=16 * KB)
    kept, start = (table.alloc_dynamic(block, 4 * KB) or 0 for block in range(2))
    released = table.release(start + 4), table.release(start)
    left = [entry.start for entry in table.entries]
    values = np.arange(4 * THREADS, dtype=np.int32)
    expected = values.reshape(-1, THREADS)[:, ::-1].ravel()
    result = mirrored.simulate(4, THREADS, (values,), gpu=one_sm(), management="dynamic", check="races")
    counts = [result.counters[name] // 4 for name in ("barriers", "allocations")]
    plain = counts == [3, 1] and not result.findings and bool((values == expected).all())
    return claim.verdict(
        {"released": released, "barriers, allocations": counts},
        released == (False, True) and left == [kept] and plain,
        "released: by an address inside an entry, and by its start; the counts are of a block with alloc, syncthreads "
        "and release, whose run was free of races",
    )


def fragmentation(claim: Claim, _: Sequence[Record]) -> Verdict:
    """Where every other entry was released, 4 kB are to be had if all are of one size, not if sizes are mixed.

    No run hangs, and nesting is an error.
    """
    sizes = {"equal": [4, 4, 4, 4], "mixed": [2, 4, 2, 4, 2, 2]}
    free = {name: _after_releases(row, [i % 2 == 0 for i in range(len(row))]) for name, row in sizes.items()}
    always = all(_after_releases(sizes["equal"], gone)[1] for gone in product((False, True), repeat=4) if any(gone))
    waited = {name: run(name, "hw", "dynamic", MANY)["allocation_waits"] for name in LIMITED}
    return claim.verdict(
        free,
        always and not free["mixed"][1] and _refuses_nesting(),
        "kB free after every other entry is released, and whether an allocation of 4 kB is granted; among equal "
        f"entries it always is, whichever are released. Nesting is an error. With K+{MANY} blocks on one SM all "
        "kernels end; "
        "blocks had to wait in " + listed(name for name, count in waited.items() if count),
    )


def _after_releases(sizes: list[int], gone: Any) -> tuple[int, bool]:
    """Fill 16 kB with entries and release some: the kB that are free, and whether 4 kB are granted."""
    table = SharedMemoryTable(capacity=16 * KB)
    starts = [table.alloc_dynamic(block, size * KB) for block, size in enumerate(sizes)]
    for start, released in zip(starts, gone, strict=True):
        if released and start is not None:
            table.release(start)
    return table.free_bytes // KB, table.alloc_dynamic(len(sizes), 4 * KB) is not None


def _refuses_nesting() -> bool:
    try:
        nested.simulate(1, THREADS, (np.zeros(THREADS, np.int32),), gpu=one_sm(), management="dynamic")
    except AllocationError:
        return True
    return False


def ignored(claim: Claim, _: Sequence[Record]) -> Verdict:
    """Under static management HW kernels have as many blocks as the baseline, no allocations and the same outputs."""
    more_blocks, alike = {}, True
    for name in LIMITED:
        baseline, hw = (run(name, variant, "static") for variant in ("baseline", "hw"))
        more_blocks[name] = hw["residency"] - baseline["residency"]
        alike = alike and not more_blocks[name] and not hw["allocations"] and hw["outputs"] == baseline["outputs"]
    return claim.verdict(
        more_blocks,
        alike,
        "resident blocks of the HW kernel less those of the baseline; outputs are the same bits, nothing is allocated",
    )


def divided_rows(claim: Claim, _: Sequence[Record]) -> Verdict:
    """Bytes and outputs of marching cubes with rows 0 to 15 private, in CO-VTB and in CO-HW."""
    baseline, virtual = run("MC", "baseline", "static"), run("MC", "co_vtb", "static")
    divided = run("MC", "co_hw", "dynamic", 1)
    private, public = 16 * 32 * 12, 8 * 32 * 12
    split = {
        "CO-VTB": virtual["bytes_held"],
        "CO-HW": [divided["bytes_held"], divided["bytes_asked"]],
    }
    return claim.verdict(
        split,
        baseline["outputs"] == virtual["outputs"] == divided["outputs"]
        and split == {"CO-VTB": 2 * private + public, "CO-HW": [private, public]},
        "bytes of two virtual blocks, and private and public ones of a block; outputs equal the baseline's bit for bit",
    )
