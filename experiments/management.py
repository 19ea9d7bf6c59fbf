"""Claims about the management itself (paper, Section 5), answered by its table and by runs of a few blocks."""

from __future__ import annotations

from experiments.cards import card
from experiments.harness import Verdict, verdict
from experiments.speedups import LIMITED
from smmux import benchmarks, models
from smmux.models import SharedMemoryTable

__all__ = ["check"]

KB = 1024


def check() -> list[Verdict]:
    """Claims P48 to P53 and P58."""
    return [
        _split_of_6_kb(),
        _collaborative_rule(),
        _waiting(),
        _release(),
        _fragmentation(),
        _ignored(),
        _divided_rows(),
    ]


def _split_of_6_kb() -> Verdict:
    static = models.occupancy(32, 0, 6 * KB, card().replace(smem_reserved=0)).blocks
    table = SharedMemoryTable(capacity=16 * KB, dynamic_bytes=2 * KB)
    private = [table.alloc_static(block, 4 * KB) for block in range(4)]
    public = [table.alloc_dynamic(block, 2 * KB) for block in range(3)]
    starts = sorted(entry.start for entry in table.entries)
    return verdict(
        "P48",
        {"static": static, "split": sum(p is not None for p in private), "starts": starts},
        (static, starts, public[2]) == (2, [0, 4 * KB, 8 * KB, 12 * KB, 14 * KB], None),
        "Figure 10 prints 14436 for 14336; public parts are placed from the top down, the paper's from below",
    )


def _collaborative_rule() -> Verdict:
    found = {}
    for name in LIMITED:
        benchmark = benchmarks.get(name)
        if "co_hw" in benchmark.variants:
            problem = benchmark.problem("tiny")
            run = benchmark.kernel("co_hw").simulate(
                problem.grid, problem.block, problem.arguments(), gpu=card(), management="dynamic", extra_blocks=8
            )
            held = run.residency * (run.program.shared_bytes + card().smem_reserved)
            found[name] = (run.residency, held <= card().smem_bytes - run.program.dynamic_bytes)
    return verdict(
        "P49",
        {name: blocks for name, (blocks, _) in found.items()},
        all(fits for _, fits in found.values()),
        "blocks resident with K+8 asked for; progress under random sequences is tested in tests/models",
    )


def _waiting() -> Verdict:
    table = SharedMemoryTable(capacity=16 * KB)
    first = table.alloc_static(0, 9 * KB)
    refused = table.alloc_static(1, 9 * KB), table.alloc_dynamic(0, 9 * KB)
    freed = table.release(first or 0)
    return verdict("P50", [refused, freed], refused == (None, None) and table.alloc_static(1, 9 * KB) == 0)


def _release() -> Verdict:
    table = SharedMemoryTable(capacity=16 * KB)
    start = table.alloc_dynamic(0, 4 * KB)
    wrong, right = table.release(4), table.release(start or 0)
    return verdict("P51", [wrong, right], (wrong, right, table.entries) == (False, True, ()))


def _fragmentation() -> Verdict:
    """Equal sizes always fit when enough is free; a mixture need not."""
    free = {}
    for name, sizes in (("equal", [4, 4, 4, 4]), ("mixed", [4, 2, 4, 2, 4])):
        table = SharedMemoryTable(capacity=16 * KB)
        starts = [table.alloc_dynamic(block, size * KB) for block, size in enumerate(sizes)]
        for start, size in zip(starts, sizes, strict=True):
            if start is not None and size == sizes[1]:
                table.release(start)
        if name == "equal":
            table.alloc_dynamic(9, 4 * KB)
        free[name] = table.free_bytes // KB, table.alloc_dynamic(10, 4 * KB) is not None
    return verdict(
        "P52",
        free,
        free["equal"][1] and not free["mixed"][1],
        "kB free, and whether 4 kB can be had; with sizes of 4 and 2 kB as much is free, in pieces",
    )


def _ignored() -> Verdict:
    found = {}
    for name in LIMITED:
        benchmark = benchmarks.get(name)
        problem = benchmark.problem("tiny")
        runs = []
        for variant in ("baseline", "hw"):
            arguments = problem.arguments()
            runs.append(benchmark.kernel(variant).simulate(problem.grid, problem.block, arguments, gpu=card()))
            problem.check(arguments)
        found[name] = runs[1].residency - runs[0].residency, runs[1].counters["allocations"]
    return verdict(
        "P53",
        {name: difference for name, (difference, _) in found.items()},
        all(value == (0, 0) for value in found.values()),
        "blocks resident, HW kernel less baseline; outputs are right and nothing is allocated",
    )


def _divided_rows() -> Verdict:
    """Marching cubes with rows 0 to 15 private: the same bits as with one array."""
    benchmark = benchmarks.get("MC")
    problem = benchmark.problem("tiny")
    outputs = []
    for variant, management in (("baseline", "static"), ("co_hw", "dynamic")):
        arguments = problem.arguments()
        run = benchmark.kernel(variant).simulate(
            problem.grid, problem.block, arguments, gpu=card(), management=management, extra_blocks=0
        )
        outputs.append([arguments[0].tobytes(), arguments[1].tobytes()])
    split = [run.program.shared_bytes, run.program.dynamic_bytes]
    return verdict(
        "P58",
        split,
        outputs[0] == outputs[1] and split == [16 * 32 * 12, 8 * 32 * 12],
        "private and public bytes of CO-HW, whose outputs equal the baseline's bit for bit",
    )
