"""The memory pipe: bank phases of shared memory and L1, the queue in front of it, sources' release, pending misses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .assembler import RZ, branch, clock, field, immediate, ins, nops, program
from .bench import SHARED, Bench, Loaded, Row, difference, register

LANES = np.arange(32)
SIZES = {"": 1, "U8": 1, "64": 2, "128": 4}  # words
SHARED_FORMS = ("LDS", "LDS.U8", "LDS.64", "LDS.128", "STS", "STS.U8", "STS.64", "STS.128", "LDSM", "LDSM.2",
    "LDSM.4", "STSM.4",
                "ATOMS.ADD", "ATOMS.MAX", "ATOMS.EXCH", "ATOMS.CAS", "ATOMS.POPC.INC")  # fmt: skip
GLOBAL_FORMS = ("LDG.W", "LDG.U8", "LDG.64", "LDG.128", "STG", "STG.64", "STG.128")


def words_of(name: str) -> int:
    """The words that a lane of a form accesses (ldmatrix: that its row has)."""
    return 4 if name.startswith(("LDSM", "STSM")) else SIZES.get(name.split(".")[-1], 1)


def patterns(words: int) -> dict[str, np.ndarray]:
    """Word addresses by lane: strides of accesses of `words` words, the first lanes of a warp, and mixtures."""
    rng = np.random.default_rng(7)
    of: dict[str, np.ndarray] = {f"stride {stride}": LANES * stride * words for stride in range(1, 34)}
    of |= {
        f"first {lanes}": np.where(lanes > LANES, LANES * words, -1)
        for lanes in (1, 2, 4, 8, 9, 12, 16, 17, 20, 24, 28)
    }
    of |= {f"every {step}": np.where(LANES % step == 0, LANES * words, -1) for step in (2, 4, 8, 16)}
    of |= {f"first {lanes} stride 2": np.where(lanes > LANES, LANES * 2 * words, -1) for lanes in (8, 16, 24)}
    of |= {f"first {lanes} stride 32": np.where(lanes > LANES, LANES * 32, -1) for lanes in (2, 4, 8, 16)}
    of |= {"one word": LANES * 0, "two words, halves": LANES // 16 * 32, "two words, alternating": LANES % 2 * 32}
    of |= {"pairs share": LANES // 2 * words, "pairs conflict": LANES // 2 * words + LANES % 2 * 32 * 8}
    of |= {"quads share": LANES // 4 * words, "halves share": LANES % 16 * words, "reversed": LANES[::-1] * words}
    of |= {
        "halves conflict": LANES % 16 * words + LANES // 16 * 1024,
        "quarters conflict": LANES % 8 * words + LANES // 8 * 1024,
    }
    of |= {
        "eighths conflict": LANES % 4 * words + LANES // 4 * 1024,
        "odd lanes elsewhere": LANES * words + LANES % 2 * 1024,
    }
    of |= {f"random {i}": rng.integers(0, 4096, 32) // words * words for i in range(24)}
    of |= {f"permuted {i}": rng.permutation(32) * words for i in range(4)}
    return of


def _operation(name: str, index: int, guard: int, stall: int = 1) -> int:
    """One of a stream of accesses at the address in R8."""
    stores = name.startswith(("STS", "STG"))
    d = None if stores or "INC" in name else 24 + 4 * (index % 4)
    b = 16 if stores or name.startswith("ATOMS") and "INC" not in name else None
    c = 20 if name == "ATOMS.CAS" else None
    offset = 0 if name.startswith(("LDG", "STG")) else SHARED
    a = 8
    control = {"rd" if stores or "INC" in name else "wr": index % 6}
    return ins(name, d=d, a=a, b=b, c=c, offset=offset, guard=guard, stall=stall, **control)


def _throughput(bench: Bench, name: str) -> tuple[Loaded, Loaded]:
    """Programs for a form: a stream for its interval, and one access for its latency. R10 = 0 takes a lane out (P2)."""
    lanes = [ins("ISETP", a=10, b=RZ, pd=2, stall=15) & ~(7 << 76) | 5 << 76, *nops(30)]
    some = [_operation(name, i, 2) for i in range(24)]
    done = ins("NOP")  # what waits for a counter comes two clocks behind
    body = [*lanes, clock(44), *some, done, clock(45, wait=63), *some, *some, done, clock(46, wait=63)]
    one = list(lanes)
    for i in range(4):
        one += [*nops(600, wait=63), clock(44 + 2 * i), _operation(name, 0, 2, stall=2), clock(45 + 2 * i, wait=63)]
    return bench.load(program(body, switch=True), 64 << 10), bench.load(program(one, switch=True), 64 << 10)


def phases(bench: Bench, forms: tuple[str, ...], space: str) -> Iterator[Row]:
    """Clocks per access of a warp by pattern: one warp alone, and one in each partition; latency of one access:
    the least of four. Of stores it is the time until their sources may be written."""
    base = bench.card.alloc(1 << 20) if space == "global" else 0
    for name in forms:
        stream, single = _throughput(bench, name)
        for pattern, words in patterns(words_of(name)).items():
            if (words < 0).any() and "SM" in name:
                continue  # ldmatrix and stmatrix are for whole warps
            values = bench.values(4)
            address = base + 4 * np.where(words < 0, 0, words).astype(np.uint64)
            if name.endswith("U8"):
                address += LANES.astype(np.uint64) % 4
            values[:, register(8)], values[:, register(9)] = address & 0xFFFFFFFF, address >> np.uint64(32)
            values[:, register(10)] = words >= 0
            row: Row = {"form": name, "pattern": pattern}
            for partitions in (1, 4):
                values[:, register(55)] = (np.arange(4) < partitions)[:, None]
                after = stream(values)[:partitions]
                start, middle, end = (after[:, register(r), 0].astype(np.int64) for r in (44, 45, 46))
                twice, once = end.max() - middle.min(), middle.max() - start.min()
                row["alone" if partitions == 1 else "per_multiprocessor"] = float(twice - once) / (24 * partitions)
            values[:, register(55)] = (np.arange(4) < 1)[:, None]
            after = single(values)
            row["latency"] = min(int(difference(after, 44 + 2 * i, 45 + 2 * i)[0]) for i in range(4))
            yield row
        stream.module.unload()
        single.module.unload()


def shared_phases(bench: Bench) -> Iterator[Row]:
    """Shared memory."""
    return phases(bench, SHARED_FORMS, "shared")


def l1_phases(bench: Bench) -> Iterator[Row]:
    """Global memory that lies in the L1 cache (loads), and stores to it."""
    return phases(bench, GLOBAL_FORMS, "global")


def queue(bench: Bench) -> Iterator[Row]:
    """When each of a row of accesses issues, from the first on: the depth of the queue, its rate when it is full."""
    base = bench.card.alloc(1 << 20)
    for name in (
        "LDS",
        "LDS.64",
        "LDS.128",
        "STS",
        "STS.128",
        "LDG.W",
        "LDG.128",
        "STG",
        "STG.128",
        "ATOMS.ADD",
        "SHFL.BFLY",
        "MUFU.RCP",
        "POPC",
    ):
        for partitions in (1, 2, 3, 4):
            for warps in (1, 2):
                body = []
                for i in range(16):
                    if name in ("SHFL.BFLY", "MUFU.RCP", "POPC"):
                        one = ins(name, d=24 + i % 4, **{"a" if name == "SHFL.BFLY" else "b": 8}, wr=0)
                    else:
                        one = _operation(name, 0, 7)
                    body += [clock(40 + i % 15 if i < 15 else 36), one]
                body += [clock(37), clock(38, wait=3)]
                values = bench.values(4 * warps)
                words = LANES * words_of(name) * 4
                values[:, register(8)] = words + (base & 0xFFFFFFFF if name[2:3] == "G" else 0)
                values[:, register(9)] = base >> 32
                values[:, register(55)] = (np.arange(4 * warps) % 4 < partitions)[:, None]
                after = bench.run(program(body, switch=True, loads=range(20)), values, shared=16 << 10)
                order = [*range(40, 55), 36, 37, 38]
                for warp in range(4 * warps):
                    if warp % 4 < partitions:
                        clocks = after[warp, [register(r) for r in order], 0]
                        yield {
                            "form": name, "partitions": partitions, "warps": warps, "warp": warp,
                            "clocks": " ".join(map(str, (clocks - clocks[0]).tolist())),
                        }  # fmt: skip


def queue_depth(bench: Bench) -> Iterator[Row]:
    """Clocks until n accesses behind each other have issued, without anything between them."""
    base = bench.card.alloc(1 << 20)
    forms = (
        "LDS",
        "LDS conflict",
        "LDS.128",
        "STS",
        "STS.128",
        "LDG.W",
        "LDG.128",
        "STG",
        "STG.128",
        "ATOMS.ADD",
        "SHFL.BFLY",
        "MUFU.RCP",
        "S2R.TID",
        "LDC.IMM",
    )
    for name in forms:
        form = name.split(" ")[0]
        for partitions in (1, 4):
            row: Row = {"form": name, "partitions": partitions}
            for count in (*range(1, 17), 20, 24, 28, 32):
                if form in ("SHFL.BFLY", "MUFU.RCP", "S2R.TID", "LDC.IMM"):
                    slot = {"SHFL.BFLY": {"a": 8}, "MUFU.RCP": {"b": 8}}.get(form, {})
                    words = [ins(form, d=24 + i % 8, **slot, wr=i % 6) for i in range(count)]
                else:
                    words = [_operation(form, i, 7) for i in range(count)]
                values = bench.values(4)
                lanes = LANES * (32 if "conflict" in name else words_of(form)) * 4
                values[:, register(8)] = lanes + (base & 0xFFFFFFFF if form[2:3] == "G" else 0)
                values[:, register(9)] = base >> 32
                values[:, register(55)] = (np.arange(4) < partitions)[:, None]
                body = [clock(44), *words, clock(45)]
                after = bench.run(program(body, switch=True, loads=range(20)), values, shared=16 << 10)[:partitions]
                row[f"n{count}"] = int(difference(after, 44, 45).max())
            yield row


def release(bench: Bench) -> Iterator[Row]:
    """Clocks until the sources of an access may be written (its read counter), and until its result is there."""
    base = bench.card.alloc(1 << 20)
    for name in (
        *SHARED_FORMS,
        *GLOBAL_FORMS,
        "LDGSTS",
        "LDGSTS.128",
        "LDGSTS.BYPASS.128",
        "ATOMG.ADD",
        "REDG.ADD",
        "SHFL.BFLY",
        "MUFU.RCP",
        "LDC.IMM",
    ):
        for uniform in (False, True):
            a = 12 if name in ("ATOMG.ADD", "REDG.ADD") or name[:3] in ("LDG", "STG") else 8
            operands = {"SHFL.BFLY": {"d": 24, "a": 8}, "MUFU.RCP": {"d": 24, "b": 8}, "LDC.IMM": {"d": 24}}.get(name)
            if operands is None:
                stores = name.startswith(("STS", "STG", "REDG")) or "INC" in name
                operands = {"a": a, "offset": SHARED if a == 8 else 0}
                operands |= {} if stores or name.startswith("LDGSTS") else {"d": 24}
                operands |= {"b": 16} if (stores or name.startswith("ATOM")) and "INC" not in name else {}
                operands |= {"c": 20} if name == "ATOMS.CAS" else {}
                if name.startswith("LDGSTS"):
                    operands |= {"d": 8}  # the shared address; its offset lies in other bits
            row: Row = {"form": name, "uniform": int(uniform)}
            for what, counter in (("release", {"rd": 1}), ("result", {"wr": 0})):
                if what == "result" and (name.startswith(("STS", "STG", "STSM", "REDG", "LDGSTS")) or "INC" in name):
                    continue
                one = ins(name, **operands, **counter, stall=2)
                body = []
                for i in range(4):
                    body += [*nops(600, wait=63), clock(40 + 2 * i), one, clock(41 + 2 * i, wait=3)]
                values = bench.values()
                lanes = 0 * LANES if uniform else LANES * words_of(name)
                values[0, register(8)] = 4 * lanes + (SHARED if name.startswith("LDGSTS") else 0)
                values[0, register(12)] = (base & 0xFFFFFFFF) + 4 * lanes
                values[0, register(13)] = base >> 32
                after = bench.run(program(body), values, shared=16 << 10)
                row[what] = int(min(difference(after, 40 + 2 * i, 41 + 2 * i)[0] for i in range(4)))
            yield row


def queued_reads(bench: Bench, form: str, partitions: int, warps: int, count: int) -> list[int]:
    """Clocks until the last of so many accesses of each of a sub-core's warps has read its sources."""
    words = [_operation(form, i % 5, 7, stall=4) for i in range(count)]
    words[-1] = field(words[-1], 113, 3, 5)  # its read counter, which nobody else has
    base = bench.data if form[2:3] == "G" else 0
    values = bench.values(4 * warps)
    values[:, register(8)], values[:, register(9)] = LANES * words_of(form) * 4 + (base & 0xFFFFFFFF), base >> 32
    active = np.arange(4 * warps) % 4 < partitions
    values[:, register(55)] = active[:, None]
    body = [clock(44), *words, clock(45, wait=1 << 5)]
    after = bench.run(program(body, switch=True, loads=range(20)), values, shared=16 << 10)[active]
    return sorted(difference(after, 44, 45).tolist())


def queued_release(bench: Bench) -> Iterator[Row]:
    """The same by form, sub-cores, warps of each, and count: those behind each other in a sub-core's queue read their
    sources when they leave it."""
    for form in ("LDS", "STS", "LDG.W", "LDG.128", "STG"):
        for partitions, warps in ((1, 1), (1, 2), (4, 1), (4, 2)):
            for count in (1, 2, 4, 8, 12, 16):
                clocks = " ".join(map(str, queued_reads(bench, form, partitions, warps, count)))
                yield {"form": form, "partitions": partitions, "warps": warps, "count": count, "clocks": clocks}


def misses(bench: Bench) -> Iterator[Row]:
    """Independent loads that miss the L1, and hit the L2 or miss it too: when the last issued, when all have come.

    `lines`: lines that one instruction of a warp touches, each with so many `sectors`. CCTL.IVALL empties the L1 first.
    """
    near, far = bench.card.alloc(64 << 20), bench.card.alloc(4 << 30)
    used = 0
    cases = [(1, 1), (1, 2), (1, 4), (2, 4), (4, 1), (4, 4), (8, 1), (8, 4), (16, 1), (16, 2), (32, 1)]
    for where, lines, sectors in [("L2", *case) for case in cases] + [("DRAM", *case) for case in cases]:
        for loads in (1, 2, 4, 6, 8, 12, 16, 20):
            for warps in (1, 2, 4, 8, 16, 32):
                span = 128 * lines * loads * warps
                base = near if where == "L2" else far + used
                used += span if where == "DRAM" else 0
                per_line = 32 // lines
                lane = LANES // per_line * 128 + (LANES % per_line) * sectors * 8 // per_line * 4
                address = base + np.arange(warps)[:, None] * 128 * lines * loads + lane
                body = [ins("CCTL.IVALL", stall=15), *nops(900), ins("BAR.SYNC", stall=15), *nops(30), clock(44)]
                body += [ins("LDG.W", d=24 + i % 16, a=8, offset=128 * lines * i, wr=i % 6) for i in range(loads)]
                body += [clock(45), clock(46, wait=63)]
                values = bench.values(warps)
                values[:, register(8)], values[:, register(9)] = address & 0xFFFFFFFF, address >> 32
                words = program(body, loads=range(4), repeats=3 if where == "L2" else 1)
                clocks = bench.run(words, values)[:, [register(r) for r in (44, 45, 46)], 0].astype(np.int64)
                begin = clocks[:, 0].min()
                yield {
                    "where": where, "lines": lines, "sectors": sectors, "loads": loads, "warps": warps,
                    "issued": int(clocks[:, 1].max() - begin), "come": int(clocks[:, 2].max() - begin),
                    "first_warp": int(clocks[0, 2] - clocks[0, 0]),
                }  # fmt: skip


def merges(bench: Bench) -> Iterator[Row]:
    """Loads of all warps of the same few sectors, which miss: what a second request for a pending sector costs."""
    base = bench.card.alloc(1 << 20)
    for distinct in (1, 2, 4, 8, 32):
        for loads in (1, 2, 4, 8, 16):
            for warps in (1, 2, 4, 8, 16, 32):
                body = [ins("CCTL.IVALL", stall=15), *nops(900), ins("BAR.SYNC", stall=15), *nops(30), clock(44)]
                body += [ins("LDG.W", d=24 + i, a=8, offset=32 * (i % distinct), wr=0) for i in range(loads)]
                body += [clock(45), clock(46, wait=1)]
                values = bench.values(warps)
                values[:, register(8)], values[:, register(9)] = base & 0xFFFFFFFF, base >> 32
                clocks = bench.run(program(body, loads=range(4)), values)[
                    :, [register(r) for r in (44, 45, 46)], 0
                ].astype(np.int64)
                yield {
                    "sectors": distinct, "loads": loads, "warps": warps, "issued": int((clocks[:, 1] - clocks[:,
                    0].min()).max()),
                    "come": int((clocks[:, 2] - clocks[:, 0].min()).max()),
                }  # fmt: skip


def barriers(bench: Bench) -> Iterator[Row]:
    """Clocks from a warp's arrival at a barrier to its next instruction; all at once, or one warp that comes late."""
    for warps in (1, 2, 3, 4, 5, 8, 12, 16, 20, 24, 28, 32):
        for late in (False, True):
            wait = [ins("NOP", stall=15) for _ in range(40)] if late else []
            body = []
            for i in range(4):
                body += [immediate("MOV.I", 24, 0, stall=15)]
                if late:  # P3: the last warp
                    body += [ins("ISETP", a=10, b=RZ, pd=3, stall=15) & ~(7 << 76) | 2 << 76, *nops(15)]
                    body += [branch(16 * len(wait), guard=3), *wait]
                body += [clock(40 + 2 * i), ins("BAR.SYNC", stall=2), clock(41 + 2 * i)]
            values = bench.values(warps)
            values[:, register(10)] = (np.arange(warps) == warps - 1)[:, None]
            after = bench.run(program(body), values)
            for i in range(1, 4):
                arrive, leave = (after[:, register(40 + 2 * i + j), 0].astype(np.int64) for j in (0, 1))
                yield {
                    "warps": warps, "late": int(late), "round": i, "first_arrival": int(arrive.min() - arrive.max()),
                    "first_release": int(leave.min() - arrive.max()), "last_release": int(leave.max() - arrive.max()),
                }  # fmt: skip


def fences(bench: Bench) -> Iterator[Row]:
    """Clocks of a fence as ptxas writes it: alone, behind stores, behind a load."""
    base = bench.card.alloc(1 << 20)
    membar = {
        name: [ins(name, stall=6), ins("NOP", stall=2)]
        for name in ("MEMBAR.CTA", "MEMBAR.GPU", "MEMBAR.SC.GPU", "MEMBAR.SYS")
    }
    errors = [ins("ERRBAR", stall=0, keep=False), ins("CGAERRBAR", stall=6)]
    cases = {
        **membar, "MEMBAR.CTA counted": [ins("MEMBAR.CTA", stall=6, rd=0)],
        "__threadfence": [membar["MEMBAR.SC.GPU"][0], *errors, ins("CCTL.IVALL", stall=4)],
        "fence.acq_rel.gpu": [membar["MEMBAR.GPU"][0], *errors, ins("CCTL.IVALL", stall=4)],
        "__threadfence_system": [ins("MEMBAR.SYS", stall=6), *errors, ins("CCTL.IVALL", stall=4)],
        "CCTL.IVALL": [ins("CCTL.IVALL", stall=4)], "ERRBAR": errors[:1], "WARPSYNC.ALL": [ins("WARPSYNC.ALL",
        stall=1)],
        "NANOSLEEP 100": [ins("NANOSLEEP", stall=5)], "YIELD": [ins("YIELD", stall=1)], "NOP": [ins("NOP", stall=2)],
    }  # fmt: skip
    before = {
        "nothing": [], "store": [ins("STG", a=8, b=12, rd=1)], "load": [ins("LDG.GPU", d=24, a=8, wr=0)],
        "8 stores": [ins("STG", a=8, b=12, offset=4096 * i, rd=1) for i in range(8)],
        "shared store": [ins("STS", a=14, b=12, offset=SHARED, rd=1)],
    }  # fmt: skip
    for name, fence in cases.items():
        for what, one in before.items():
            body = []
            for i in range(4):
                body += [
                    *nops(2000, wait=63),
                    *one,
                    clock(40 + 2 * i),
                    *fence,
                    clock(41 + 2 * i, wait=1 if "counted" in name else 0),
                ]
            values = bench.values()
            values[0, register(8)], values[0, register(9)] = (base & 0xFFFFFFFF) + 4 * LANES, base >> 32
            values[0, register(14)] = 4 * LANES
            after = bench.run(program(body), values, shared=1024)
            yield {
                "fence": name,
                "behind": what,
                "clocks": " ".join(str(int(difference(after, 40 + 2 * i, 41 + 2 * i)[0])) for i in range(4)),
            }


PROBES = {
    "shared_phases": shared_phases, "l1_phases": l1_phases, "pipe_queue": queue, "queue_depth": queue_depth,
    "release": release, "queued_release": queued_release, "pending_misses": misses,
    "merged_misses": merges, "barriers": barriers, "fences": fences,
}  # fmt: skip
