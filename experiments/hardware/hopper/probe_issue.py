"""Issue: intervals of forms and of pairs of forms, what stall and yield do, which warp is chosen, register banks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement

import numpy as np

from .assembler import RZ, clock, ins, program
from .bench import SHARED, Bench, Row, difference, register
from .probe_latency import COUNTED, FIXED, MATRIX

NO_RESULT = {
    "ISETP": "ab", "FSETP": "ab", "DSETP": "ab", "HSETP2": "ab", "FCHK": "ab", "PLOP3": "", "NOP": "",
    "VOTE.ANY": "", "VOTE.ALL": "",
    "REDUX.SUM": "a", "REDUX.MAX": "a", "REDUX.XOR": "a", "R2UR": "a", "UIADD3": "", "ULOP3": "", "UMOV": "",
    "P2R": "", "LDC.IMM": "",
    "R2P": "a", "CS2R.32": "", "CS2R": "", "CS2R.Z": "", "MOV.UR": "", "WARPSYNC.ALL": "", "STS": "ab",
    "STS.64": "ab", "STS.128": "ab",
    "FFMA.C": "ac", "FADD.C": "a", "ULDC": "",
}  # fmt: skip
UNIFORM = ("REDUX.SUM", "REDUX.MAX", "REDUX.XOR", "R2UR", "UIADD3", "ULOP3", "UMOV", "ULDC")  # they write UR8
PAIRED = (
    "FFMA", "FADD", "IADD3", "IMAD", "IMAD.WIDE", "LOP3.LUT", "SHF.L.W.U32.HI", "PRMT", "ISETP", "FSETP", "SEL",
    "MOV", "IMAD.MOV.U32",
    "FMNMX", "HFMA2", "HFMA2.MMA", "HADD2", "DFMA", "MUFU.RCP", "POPC", "F2I", "I2FP.F32.S32", "I2F.U8", "SHFL.BFLY",
    "LDS", "F2FP.F16",
    "HMMA.16816.F32", "VOTE.ANY", "UIADD3", "IDP.4A",
)  # fmt: skip


def stream(name: str, index: int) -> int:
    """One of a stream of independent instructions of a form: destinations go round, sources stay."""
    if name in NO_RESULT:
        sources: dict[str, int] = dict(zip(NO_RESULT[name], (8, 8, 8) if name[0] != "S" else (8, 12, 16), strict=False))
        width = 2 if name in ("CS2R", "CS2R.Z") else 1
        d = 24 + index * width % 16 if name[:4] in ("P2R", "VOTE", "CS2R", "LDC.", "MOV.", "FFMA", "FADD") else None
        if name == "VOTE.ALL":
            d = None
        if name in UNIFORM:
            d = 8
    elif name in COUNTED:
        width, _, slot = COUNTED[name]
        sources = {slot: 8} if slot else {}
        sources |= {"b": 12, "c": RZ} if name.startswith("ATOMS") else {"b": 12} if name == "SHFL.IDX" else {}
        d = 24 + index * width % 16
    else:
        widths = {**FIXED, **MATRIX}[name]
        places = (8, 12, 16) if name in MATRIX else (8, 8, 8)  # one register is one read, whatever it is for
        sources = {slot: at for at, slot, width in zip(places, "abc", widths[1:], strict=True) if width}
        d = 24 + index * (4 if name in MATRIX else widths[0]) % 16
    offset = {"offset": SHARED} if name.startswith(("LDS", "STS", "ATOMS")) else {}
    counter = (
        {"wr": index % 6}
        if name in COUNTED or name in ("LDC.IMM", "REDUX.SUM", "REDUX.MAX", "REDUX.XOR", "R2UR", "FCHK")
        else {}
    )
    if name.startswith("STS"):
        counter = {"rd": index % 6}
    return ins(name, d=d, **sources, **offset, **counter, stall=1)


def interval(bench: Bench, names: Sequence[str], partitions: int, warps: int) -> float:
    """Clocks per instruction and partition in a stream of the forms in turn.

    partitions: how many of the four run warps: `warps` each. One warp: the second part of its stream is twice as long
    as the first, and the difference counts; several: from the first issue of all to the last one's end. All sources of
    an instruction are one register, so that it reads once: what different ones cost is `register_banks`.
    """
    length = 32 * len(names)
    first = [stream(names[i % len(names)], i) for i in range(length)]
    body = [clock(44), *first, clock(45), *first, *first, clock(46, wait=0)]
    # At the end all counters are waited for, before results are stored: program() does that.
    values = bench.floats(4 * warps)
    values[:, register(8)] = 4 * np.arange(32) * (4 if any("128" in name or "LDSM" in name for name in names) else 2)
    active = np.arange(4 * warps) % 4 < partitions
    values[:, register(55)] = active[:, None]
    after = bench.run(program(body, switch=True), values, shared=4096)[active]
    if warps == 1:
        short, long = difference(after, 44, 45).astype(int), difference(after, 45, 46).astype(int)
        return float(np.median(long - short)) / length
    begin, end = (after[:, register(number), 0].astype(np.int64) for number in (44, 46))
    return float(end.max() - begin.min()) / (3 * length * warps)


def intervals(bench: Bench) -> Iterator[Row]:
    """Every form alone: one warp; four warps in one partition; one, and four, in each of the four."""
    for name in [*FIXED, *MATRIX, *COUNTED, *NO_RESULT]:
        for partitions, warps in ((1, 1), (1, 2), (1, 4), (4, 1), (4, 4)):
            yield {
                "form": name, "partitions": partitions, "warps": warps,
                "clocks": interval(bench, [name], partitions, warps),
            }  # fmt: skip


def pairs(bench: Bench) -> Iterator[Row]:
    """Two forms in turn: clocks per pair in one partition. Forms that share nothing take the slower one's time."""
    for a, b in combinations_with_replacement(PAIRED, 2):
        for warps in (1, 4):
            yield {"a": a, "b": b, "warps": warps, "clocks": 2 * interval(bench, [a, b], 1, warps)}


def stalls(bench: Bench) -> Iterator[Row]:
    """Every stall count with both yield bits, one warp alone and two in a partition: clocks per instruction."""
    for name in ("NOP", "FADD"):
        for stall in range(16):
            for keep in (True, False):
                for warps in (1, 2):
                    registers = {"d": 24, "a": 8, "b": 12} if name == "FADD" else {}
                    one = ins(name, **registers, stall=stall, keep=keep)
                    body = [clock(44), *[one] * 32, clock(45), *[one] * 64, clock(46)]
                    values = bench.floats(4 * warps)
                    values[:, register(55)] = (np.arange(4 * warps) % 4 == 0)[:, None]
                    after = bench.run(program(body, switch=True), values)[::4]
                    long, short = difference(after, 45, 46).astype(int), difference(after, 44, 45).astype(int)
                    yield {
                        "form": name,
                        "stall": stall,
                        "yield_bit": int(keep),
                        "warps": warps,
                        "clocks": float((long - short).mean()) / 32,
                    }


def choice(bench: Bench) -> Iterator[Row]:
    """When each of several warps in one partition issues: clocks of all readings, from the first one on.

    Between two readings a warp has `between` FADDs with a stall count, or waits for a load from shared memory.
    """
    cases = [
        ("FADD", between, stall, keep)
        for between, stall in ((1, 1), (3, 1), (3, 2), (3, 4), (2, 8))
        for keep in (True, False)
    ]
    cases += [("LDS", 1, 2, True), ("MUFU", 1, 2, True)]
    for kind, between, stall, keep in cases:
        for warps in (2, 4, 8):
            body = []
            for i in range(20):
                body += [clock(28 + i, stall=1)]
                if kind == "FADD":
                    body += [ins("FADD", d=24 + j % 2, a=8, b=12, stall=stall, keep=keep) for j in range(between)]
                else:
                    body += [ins(kind if kind == "LDS" else "MUFU.RCP", d=24, **{"a" if kind == "LDS" else "b": 8},
                        wr=1, stall=2,
                                 **({"offset": SHARED} if kind == "LDS" else {})), ins("FADD", d=25, a=24, b=12,
                                     wait=2, stall=4)]  # fmt: skip
            values = bench.floats(4 * warps)
            values[:, register(8)] = 4 * np.arange(32)
            values[:, register(55)] = (np.arange(4 * warps) % 4 == 0)[:, None]
            after = bench.run(program(body, switch=True), values, shared=1024)[::4, register(28) : register(48), 0]
            for warp, clocks in enumerate((after - after.min()).tolist()):
                yield {
                    "between": f"{between} {kind}", "stall": stall, "yield_bit": int(keep), "warps": warps,
                    "warp": warp,
                    "clocks": " ".join(map(str, clocks)),
                }  # fmt: skip


def banks(bench: Bench) -> Iterator[Row]:
    """Clocks per FFMA, IADD3, FADD and DFMA by the registers that it reads, and by reuse bits; one warp."""

    def clocks(name: str, reuse: int, alternate: bool = False, **registers: int) -> float:
        words = [ins(name, d=40 + 2 * (i % 2), **registers, reuse=reuse, stall=1) for i in range(32)]
        if alternate:  # every second one reads others, so that nothing is kept
            words = [
                w if i % 2 else ins(name, d=44, **{k: v ^ 16 for k, v in registers.items()}, stall=1)
                for i, w in enumerate(words)
            ]
        body = [clock(48), *words, clock(49), *words, *words, clock(50)]
        after = bench.run(program(body), bench.floats())
        return (int(difference(after, 49, 50)[0]) - int(difference(after, 48, 49)[0])) / 32

    for name in ("FFMA", "IMAD", "IADD3", "HFMA2", "LOP3.LUT"):
        for a in range(8, 12):
            for b in range(12, 16):
                for c in range(16, 20):
                    yield {
                        "form": name,
                        "registers": f"{a} {b} {c}",
                        "reuse": 0,
                        "clocks": clocks(name, 0, a=a, b=b, c=c),
                    }
    for reuse in range(8):
        for a, b, c in (
            (8, 12, 16),
            (8, 12, 17),
            (8, 13, 16),
            (9, 12, 16),
            (9, 13, 17),
            (8, 8, 16),
            (8, 8, 8),
            (9, 9, 9),
        ):
            for alternate in (False, True):
                yield {
                    "form": "FFMA alternate" if alternate else "FFMA", "registers": f"{a} {b} {c}", "reuse": reuse,
                    "clocks": clocks("FFMA", reuse, alternate, a=a, b=b, c=c),
                }  # fmt: skip
    for a in range(8, 12):
        for b in range(12, 16):
            yield {"form": "FADD", "registers": f"{a} {b}", "reuse": 0, "clocks": clocks("FADD", 0, a=a, b=b)}
    for a, b, c in ((8, 12, 16), (8, 12, 18), (8, 14, 16), (10, 12, 16), (8, 8, 8)):
        for reuse in range(8):
            yield {
                "form": "DFMA",
                "registers": f"{a} {b} {c}",
                "reuse": reuse,
                "clocks": clocks("DFMA", reuse, a=a, b=b, c=c),
            }


def mixed_banks(bench: Bench) -> Iterator[Row]:
    """Two FFMAs in turn with registers of different banks, so that read ports of several clocks are shared."""
    sets = {
        "eee": (8, 12, 16),
        "eeo": (8, 12, 17),
        "eoo": (8, 13, 17),
        "ooo": (9, 13, 17),
        "4eee": (8, 10, 12),
        "one": (8, 8, 8),
    }
    for first, x in sets.items():
        for second, y in sets.items():
            words = [
                ins("FFMA", d=40 + i % 4, **dict(zip("abc", x if i % 2 else y, strict=True)), stall=1)
                for i in range(32)
            ]
            body = [clock(48), *words, clock(49), *words, *words, clock(50)]
            after = bench.run(program(body), bench.floats())
            yield {
                "first": first,
                "second": second,
                "clocks": (int(difference(after, 49, 50)[0]) - int(difference(after, 48, 49)[0])) / 16,
            }


PROBES = {
    "intervals": intervals, "interval_pairs": pairs, "stall_and_yield": stalls, "warp_choice": choice,
    "register_banks": banks,
    "mixed_banks": mixed_banks,
}  # fmt: skip
