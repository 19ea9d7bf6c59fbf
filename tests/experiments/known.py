"""Records of experiments whose answers are known, for the tests of tables, pictures and verdicts."""

from __future__ import annotations

from typing import Any

from experiments.claims import contrast
from experiments.common import beside, cards, scans, speedups, stalls, throughput
from experiments.common.approaches import COMBINED
from experiments.common.cards import MEASURED
from experiments.common.curves import BEYOND, PRINTED
from experiments.common.lifetimes import PUBLISHED, SLOW_SHARED
from experiments.common.schedules import IN_SIMULATION, ON_CARDS
from experiments.common.speedups import LIMITED
from experiments.programs import ac
from smmux import benchmarks, gpus

SHARES = dict.fromkeys(benchmarks.names(), 0.2) | {"HG": 0.9, "MM": 0.6, "TP": 0.5, "RD": 0.05}


def lifetimes(shares: dict[str, float], slower: float = 1.0) -> list[dict[str, Any]]:
    card, made = cards.card(), []
    clocks = 1000 * card.dram_khz / card.shader_khz * card.partitions
    for name, share in shares.items():
        for build in {benchmarks.get(name).builds[0], PUBLISHED.get(name, benchmarks.get(name).builds[0])}:
            common = {"benchmark": name, "build": build, "gpu": cards.GPU, "cycles": 1000, "dram_busy": 0.8 * clocks}
            for schedule in IN_SIMULATION:
                for variant, span in (("isolated", share), ("baseline", 0.95)):
                    made.append(common | {"schedule": schedule, "variant": variant, "share": share, "span": span})
    slow = {"gpu": SLOW_SHARED, "cycles": 1000 * slower}
    return [*made, *({**r, **slow} for r in made if r["benchmark"] == "RD" and r["variant"] == "baseline")]


Rows = dict[str, dict[str, tuple[float, ...]]]


def uniform(gpu: str, *row: float) -> Rows:
    """Speedups of VTB, VTB_pipe and CO-VTB, the same for all benchmarks."""
    return {gpu: dict.fromkeys(LIMITED, row)}


AS_PAPER: Rows = {
    "GTX285": {
        "MV": (1.2, 1.35), "FFT": (1.2, 1.95), "MC": (1.2, 1.15, 1.6), "STO": (1.2, 1.3, 1.5), "SP": (1.2, 1.3),
        "HG": (1.2, 1.3, 1.1), "CV": (1.2, 1.35),
    },
    "GTX480-16K": {
        "MV": (1.42, 1.6), "FFT": (1.42, 2.19), "MC": (1.42, 1.3, 2.0), "STO": (1.42, 1.55, 1.75), "SP": (1.42, 1.6),
        "HG": (1.42, 1.6, 1.25), "CV": (1.42, 1.6),
    },
    "GTX480-48K": {
        "MV": (1.09, 1.22), "FFT": (1.09, 1.33), "MC": (1.09, 1.08, 1.3), "STO": (1.09, 1.2, 1.3), "SP": (1.09, 1.2),
        "HG": (1.09, 1.2, 0.95), "CV": (1.09, 1.33),
    },
}  # fmt: skip
"""Speedups of VTB, VTB_pipe and CO-VTB with the paper's means, maxima and orders."""


def card_record(benchmark: str, gpu: str, schedule: str, variant: str, speedup: float) -> dict[str, Any]:
    n = {"baseline": 1, "vtb": benchmarks.get(benchmark).combined}.get(variant, 2)
    merged = variant != "baseline"
    cycles = int(12000 / speedup)
    return {
        "benchmark": benchmark, "build": benchmarks.get(benchmark).builds[0], "gpu": gpu, "schedule": schedule,
        "variant": variant, "n": n, "cycles": cycles, "residency": 1, "registers": 20 + merged, "local_bytes": 0,
        "blocks": 100 // n, "first_barrier_cycles": 100 // n * (160 if merged else 100),
        "block_cycles": cycles * gpus.get(gpu.partition(",")[0]).sm_count,
        "divergent_branches": 7, "barriers": 100 // n * (4 if merged else 2), "flight_cycles": cycles * (1 + merged),
        "instructions": 1000 + 200 * (variant == "co_vtb"), "scheduler_cycles": 2 * cycles,
        "issue_cycles": cycles // 2, "idle_no_block": 0, "idle_global": cycles // (4 + 2 * merged),
        "threads": 32 * n, "barrier_wait_cycles": 10 * merged,
    }  # fmt: skip


def on_cards(rows: Rows, schedules: tuple[str, ...] = ON_CARDS) -> list[dict[str, Any]]:
    made = []
    for gpu, found in rows.items():
        for name, speedup in found.items():
            variants = [v for v in ("baseline", "vtb", "vtb_pipe", "co_vtb") if v in benchmarks.get(name).variants]
            for schedule in schedules:
                pairs = zip(variants, (1.0, *speedup), strict=False)
                made += [card_record(name, gpu, schedule, variant, value) for variant, value in pairs]
    return speedups.with_speedups(made)


def managed_record(benchmark: str, schedule: str, variant: str, extra: int, cycles: int) -> dict:
    idle = dict.fromkeys((f"idle_{reason}" for reason in stalls.REASONS[1:]), 0)
    return {
        "benchmark": benchmark, "variant": variant, "build": benchmarks.get(benchmark).builds[0],
        "schedule": schedule, "gpu": cards.GPU, "extra_blocks": extra, "cycles": cycles, "blocks": 10,
        "residency": 1 + extra, "registers": 20, "instructions": 1000 + bool(extra),
        "allocations": 40, "allocation_waits": 20,
        "region_cycles": cycles, "block_cycles": 30 * cycles * (1 + extra), "scheduler_cycles": 4 * cycles,
        "issue_cycles": cycles, **idle, "idle_global": 3 * cycles, "n": 2 if variant.startswith("vtb") else 1,
        "threads": 64, "barrier_wait_cycles": 0, "allocation_wait_cycles": 0,
    }  # fmt: skip


def managed() -> list[dict]:
    cycles = {"FFT": (400, 100, 200), "HG": (100, 100, 50)}
    made = [
        managed_record(name, schedule, "hw" if extra else "baseline", extra, found)
        for name, row in cycles.items()
        for schedule in IN_SIMULATION
        for extra, found in zip((0, 2, 3), row, strict=True)
    ]
    made += [managed_record("HG", schedule, "co_hw", 1, 125) for schedule in IN_SIMULATION]
    return speedups.with_speedups(made)


def beside_software() -> list[dict]:
    """With VTB, VTB_pipe and as many blocks of HW, for the schedule that heads; all benchmarks as HG but FFT."""
    made = managed()
    for name in speedups.LIMITED:
        row = (200, 250, 240) if name == "FFT" else (95, 110, 90)
        made += [managed_record(name, "source", "baseline", 0, 400 if name == "FFT" else 100)]
        own = (("hw", beside.doubling(name)), ("vtb", 0), ("vtb_pipe", 0))
        made += [managed_record(name, "source", "hw", contrast.MOST, row[0])]
        for (variant, extra), found in zip(own, row, strict=True):
            made.append(managed_record(name, "source", variant, extra, found))
            life = made[-1]["block_cycles"]
            made[-1] |= {"barrier_wait_cycles": life // 10 if variant == "hw" else life}  # of two warps
            made[-1] |= {"allocation_wait_cycles": life // 4 if variant == "hw" else 0}
    return speedups.with_speedups(made)


STEPS = (0, 1, 2, 3, 4, 5, 6, 7, 8)


RISING = (1.0, 1.2, 1.4, 1.41, 1.4, 1.3, 1.2, 1.1, 1.0)


FLAT = (1.0, 1.1, 1.1, 1.0, 0.9, 0.9, 0.9, 0.9, 0.9)


def residents(rows: dict[str, tuple[float, ...]], waits: tuple[float, ...]) -> list[dict[str, Any]]:
    made = []
    for name, row in rows.items():
        for extra, speedup, wait in zip(STEPS, row, waits, strict=True):
            for schedule in IN_SIMULATION:
                common = {
                    "benchmark": name, "build": benchmarks.get(name).builds[0], "schedule": schedule,
                    "variant": "hw" if extra else "baseline", "extra_blocks": extra, "speedup": speedup,
                    "wait": wait, "residency": 1 + extra, "registers": 20, "threads": 64,
                }  # fmt: skip
                made += [common | {"gpu": cards.ROOMY}] * (extra in (0, *BEYOND))
                made += [common | {"gpu": cards.GPU}] * (extra in (0, *PRINTED))
    return made


def residents_as_paper() -> list[dict[str, Any]]:
    """FFT, MC and others gain, HG and MV do not, and K+4 is too many."""
    rows = {name: FLAT if name in ("HG", "MV") else RISING for name in LIMITED}
    return residents(rows, tuple(0.05 * n for n in STEPS))


def rates(rates: dict[str, float], sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """The same rate for all sizes, by series."""
    made = []
    for size in sizes:
        for schedule, card in throughput.SETTINGS.values():
            for series, (gpu, variant) in throughput.SERIES.items():
                common = {
                    "gpu": card(gpu).name,
                    "variant": variant,
                    "schedule": schedule,
                    "size": size,
                    "blocks": size // 32,
                }
                made.append({**common, "gflops": rates[series]})
    return made


MV = {"16K_BL": 30.0, "48K_BL": 50.0, "16K_VTB_pipe": 48.0, "48K_VTB_pipe": 80.0}


FFT = {"16K_BL": 80.0, "48K_BL": 170.0, "16K_VTB_pipe": 120.0, "48K_VTB_pipe": 210.0}


def combined(gains: dict[str, tuple[float, float, float]]) -> list[dict[str, Any]]:
    made = []
    for gpu in MEASURED:
        for schedule in ON_CARDS:
            for name, row in gains.items():
                for n, speedup in zip((1, *COMBINED), (1.0, *row), strict=True):
                    variant = "vtb" if n > 1 else "baseline"
                    common = {"benchmark": name, "gpu": gpu, "schedule": schedule, "variant": variant, "n": n}
                    made.append(common | {"speedup": speedup, "residency": 1, "registers": 20})
    return made


def scan_time(approach: str, patterns: int, size: int) -> float:
    """Microseconds that are linear in the size, and in which patterns count for less the longer the text is."""
    i = scans.COUNTS.index(patterns)
    slower = {"GM": 9.0, "SM-1": 1.6, "own copy": 2.0}.get(approach, 1.0)
    return slower * (100 * (1 + i) + size / 1000 * (1 + i / 10))


def scanned() -> list[dict[str, Any]]:
    """String matching as the seed says it is."""
    copies = {"GM": (64, 1024, 0, 0), "own copy": (64, 1024, 1024, 1024)}
    passes = {"SM-1": (16, 1024), "SM-2": (256, 64), "padded": (16, 64), "diagonal": (16, 64)}
    made: list[dict[str, Any]] = []
    for name in ac.APPROACHES:
        loads, transactions, stores, reads = copies.get(name, (16, 16, *passes.get(name, (0, 0))))
        made.append(
            {
                "text": scans.EXAMPLE, "approach": name, "size": 1024, "copies": loads, "copy_bytes": 1024,
                "copy_transactions": transactions, "store_passes": stores, "reads": 64, "read_passes": reads,
            }
        )  # fmt: skip
    for point in [*scans.main_points(False), *scans.other_points(False)]:
        name, alone = point["approach"], point["approach"] == "own copy"
        common = {"threads": 64, "states": 10, "matches": 7, "blocks": 10, "transactions": 100, "transaction_bytes": 1}
        time = scan_time(name, point["patterns"], point["size"])
        barrier = {"first_barrier_cycles": 500 if alone else 50}
        gpu = getattr(point["gpu"], "name", point["gpu"])
        made.append(point | common | barrier | {"gpu": gpu, "time_us": time})
    return made
