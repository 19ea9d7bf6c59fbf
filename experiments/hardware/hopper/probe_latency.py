"""Latencies: the smallest stall count with which a consumer gets a producer's result; chains through counters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .assembler import RZ, branch, clock, ins, nops, program
from .bench import SHARED, Bench, Row, difference, register

# Fixed latency. Value: number of registers of the result, of each source (a, b, c; 0: not there).
FIXED: dict[str, tuple[int, int, int, int]] = {
    "FADD": (1, 1, 1, 0), "FMUL": (1, 1, 1, 0), "FFMA": (1, 1, 1, 1), "FMNMX": (1, 1, 1, 0), "FSEL": (1, 1, 1, 0),
    "IADD3": (1, 1, 1, 1), "VIADD": (1, 1, 1, 0), "IMAD": (1, 1, 1, 1), "IMAD.MOV.U32": (1, 0, 0, 1), "MOV": (1, 0,
        1, 0),
    "IMAD.HI": (1, 1, 1, 2), "IMAD.WIDE": (2, 1, 1, 2), "LOP3.LUT": (1, 1, 1, 1), "SHF.L.W.U32.HI": (1, 1, 1, 1),
    "PRMT": (1, 1, 1, 1), "SEL": (1, 1, 1, 0), "LEA": (1, 1, 1, 0), "VIMNMX": (1, 1, 1, 0), "VIMNMX3": (1, 1, 1, 1),
    "VIADDMNMX": (1, 1, 1, 1), "VABSDIFF": (1, 1, 1, 1), "VABSDIFF4.U8": (1, 1, 1, 1), "IABS": (1, 0, 1, 0),
    "IDP.4A": (1, 1, 1, 1), "SGXT": (1, 1, 1, 0), "BMSK": (1, 1, 1, 0), "I2FP.F32.S32": (1, 0, 1, 0),
    "F2FP.F16": (1, 1, 1, 0), "F2FP.BF16": (1, 1, 1, 0), "HADD2": (1, 1, 1, 0), "HMUL2": (1, 1, 1, 0),
    "HADD2.F32": (1, 0, 1, 0), "HFMA2": (1, 1, 1, 1), "HFMA2.MMA": (1, 1, 1, 1), "HFMA2.BF16": (1, 1, 1, 1),
    "HMNMX2": (1, 1, 1, 0), "HSET2": (1, 1, 1, 0), "DADD": (2, 2, 0, 2), "DMUL": (2, 2, 2, 0), "DFMA": (2, 2, 2, 2),
}  # fmt: skip
MATRIX: dict[str, tuple[int, int, int, int]] = {
    "HMMA.1688.F32": (4, 2, 1, 4), "HMMA.16816.F32": (4, 4, 2, 4), "HMMA.16816.BF16": (4, 4, 2, 4),
    "HMMA.16816.F16": (2, 4, 2, 2), "HMMA.1688.TF32": (4, 4, 2, 4), "IMMA.16832.S8": (4, 4, 2, 4), "DMMA.884": (4, 2,
        2, 4),
}  # fmt: skip
PREDICATES = ("ISETP", "FSETP", "DSETP", "HSETP2")
# Variable latency: result registers, source registers, in which slot the chain goes on.
COUNTED: dict[str, tuple[int, int, str]] = {
    **dict.fromkeys((
        "MUFU.RCP", "MUFU.RSQ", "MUFU.SQRT", "MUFU.SIN", "MUFU.COS", "MUFU.LG2", "MUFU.EX2", "MUFU.TANH",
        "MUFU.EX2.F16",
        "MUFU.RCP64H", "POPC", "FLO.U32", "BREV", "F2I", "F2I.TRUNC", "I2F.RP", "I2F.U8", "FRND",
    ), (1, 1, "b")),
    "F2I.S64": (2, 1, "b"), "F2I.S64.F64": (2, 2, "b"), "F2I.F64": (1, 2, "b"), "I2F.S64": (1, 2, "b"),
        "I2F.F64": (2, 1, "b"),
    "F2F.F32.F64": (1, 2, "b"), "F2F.F64.F32": (2, 1, "b"), "FRND.F64": (2, 2, "b"),
    "SHFL.IDX": (1, 1, "a"), "SHFL.BFLY": (1, 1, "a"), "MATCH.ANY": (1, 1, "a"), "MATCH.ALL": (1, 1, "a"),
        "MOVM": (1, 1, "a"),
    "S2R.TID": (1, 0, ""), "S2R.LANE": (1, 0, ""), "S2R.SM": (1, 0, ""), "LDS": (1, 1, "a"), "LDS.U8": (1, 1, "a"),
    "LDS.64": (2, 1, "a"), "LDS.128": (4, 1, "a"), "LDSM": (1, 1, "a"), "LDSM.2": (2, 1, "a"), "LDSM.4": (4, 1, "a"),
    "ATOMS.ADD": (1, 1, "a"), "ATOMS.MAX": (1, 1, "a"), "ATOMS.CAS": (1, 1, "a"), "ATOMS.EXCH": (1, 1, "a"),
}  # fmt: skip
STALLS = range(1, 16)
OUT = 32  # results of the tests, one register per stall count


def _sources(widths: tuple[int, int, int, int], at: int) -> dict[str, int]:
    """Registers for sources that no test writes: R8 and up, in quads."""
    return {slot: at + 4 * i for i, (slot, width) in enumerate(zip("abc", widths[1:], strict=True)) if width}


def pair(bench: Bench, producer: str, consumer: str, slot: str) -> dict[int, int] | None:
    """By stall count, how many lanes have the right result in the low word; None if slot is not that wide."""
    tables = {**FIXED, **MATRIX}
    made, used = tables[producer], tables[consumer]
    width = used["abc".index(slot) + 1]
    if not width:
        return None
    long = producer in MATRIX or consumer in MATRIX
    stalls = (
        (4, 6, 8, 10, 12, 14, 15, 17, 18, 19, 20, 22, 24, 26, 28, 30, 32, 33, 34, 35, 36, 38, 40) if long else STALLS
    )
    right: dict[int, int] = {}
    values = bench.floats() if producer[0] in "FHD" and producer[1] != "2" else bench.values()
    if consumer in ("BMSK", "SGXT"):
        values = bench.values() & 15
    if long:
        values = (bench.floats() & 0x3C003C00) | (bench.values() & 0x01FF01FF)
    expected = None
    for group in (stalls[i : i + 6] for i in range(0, len(stalls), 6)):
        body = []
        for index, stall in enumerate((60, *group)):
            first, rest = (stall, 0) if stall <= 15 else (15, stall - 15)
            body += [ins("MOV", d=24 + i, b=28 + i, stall=15) for i in range(max(made[0], width, 1))]  # junk
            body += nops(60)
            body += [ins(producer, d=24, **_sources(made, 8), stall=first)]
            body += [ins("NOP", stall=min(15, rest - done)) for done in range(0, rest, 15)]
            body += [ins(consumer, d=OUT, **{**_sources(used, 8), slot: 24}, stall=15), *nops(60)]
            body += [ins("MOV", d=40 + index, b=OUT, stall=15)]
        after = bench.run(program(body, repeats=2), values)[0]
        expected = after[register(40)] if expected is None else expected
        right |= {stall: int((after[register(41 + i)] == expected).sum()) for i, stall in enumerate(group)}
    return right


def stall_counts(bench: Bench) -> Iterator[Row]:
    """Every producer with every consumer: the smallest sum of stall counts from which on all lanes are right."""
    pairs = [(p, c, s) for p in FIXED for c in FIXED for s in "abc"]
    pairs += [(m, m, s) for m in MATRIX for s in "abc"] + [(m, c, "a") for m in MATRIX for c in ("FADD", "IADD3")]
    for producer, consumer, slot in pairs:
        if producer in FIXED and slot != _slot_of(consumer):
            continue
        right = pair(bench, producer, consumer, slot)
        if right is None:
            continue
        wrong = [stall for stall, lanes in right.items() if lanes < 32]
        need = min((stall for stall in right if stall > max(wrong, default=0)), default=None)
        yield {
            "producer": producer,
            "consumer": consumer,
            "slot": slot,
            "stall": need,
            "lanes_right": " ".join(map(str, right.values())),
        }


def _slot_of(name: str) -> str:
    """The source whose latency is asked for in the matrix of all pairs."""
    return next(slot for slot, width in zip("abc", FIXED[name][1:], strict=True) if width)


def slots(bench: Bench) -> Iterator[Row]:
    """The same for each source of some consumers."""
    for consumer in ("FFMA", "IADD3", "IMAD", "LOP3.LUT", "HFMA2", "HFMA2.MMA", "DFMA", "IMAD.WIDE", "PRMT"):
        for producer in ("FFMA", "IADD3", "IMAD", "HFMA2", "DFMA"):
            for slot in "abc":
                right = pair(bench, producer, consumer, slot)
                if right:
                    need = min((s for s in right if all(right[t] == 32 for t in right if t >= s)), default=None)
                    yield {"producer": producer, "consumer": consumer, "slot": slot, "stall": need}


def predicates(bench: Bench) -> Iterator[Row]:
    """From an instruction that sets a predicate to one that reads it: as operand, as guard, for a branch."""
    for producer in PREDICATES:
        for consumer in ("SEL", "FSEL", "guard", "guard of LDS", "branch", "P2R"):
            right: dict[int, int] = {}
            expected, values = None, bench.floats()
            for group in ((15,), STALLS[:7], STALLS[7:]):
                body = [ins("STS", a=20, b=21, offset=SHARED, stall=15), *nops(60)]
                for index, stall in enumerate(group):
                    # The predicate is first what it must not become: that of the other order of operands.
                    a, b = (8, 16) if producer == "DSETP" else (8, 9)
                    body += [ins(producer, a=b, b=a, pd=0, ps=7, stall=15), *nops(30)]
                    body += [ins("MOV", d=40 + index, b=12, stall=15)]
                    body += [ins(producer, a=a, b=b, pd=0, ps=7, stall=stall)]
                    body += _reader(consumer, 40 + index)
                    body += nops(60, wait=63)
                values[0, register(8), ::2] |= np.uint32(1 << 22)
                values[0, register(20)] = 4 * np.arange(32)
                after = bench.run(program(body, repeats=2), values, shared=1024)[0]
                if expected is None:
                    expected = after[register(40)]
                else:
                    right |= {stall: int((after[register(40 + i)] == expected).sum()) for i, stall in enumerate(group)}
            need = min((s for s in right if all(right[t] == 32 for t in right if t >= s)), default=None)
            yield {
                "producer": producer,
                "consumer": consumer,
                "stall": need,
                "lanes_right": " ".join(map(str, right.values())),
            }


def _reader(consumer: str, d: int) -> list[int]:
    """An instruction that reads P0."""
    if consumer in ("SEL", "FSEL"):
        return [ins(consumer, d=d, a=10, b=11, ps=0, stall=15)]
    if consumer == "guard":
        return [ins("MOV", d=d, b=10, guard=0, stall=15)]
    if consumer == "guard of LDS":
        return [ins("LDS", d=d, a=20, offset=SHARED, guard=0, stall=15, wr=3)]
    if consumer == "P2R":
        return [ins("P2R", d=d, a=None, stall=15)]
    return [branch(16, guard=0), ins("MOV", d=d, b=10, stall=15)]


def memory_operands(bench: Bench) -> Iterator[Row]:
    """From a fixed-latency instruction to the address or the data of a load or store."""
    producers = {
        "IADD3": (20, RZ, RZ),
        "LOP3.LUT": (20, RZ, RZ),
        "IMAD": (20, 22, RZ),
        "MOV": (None, 20, None),
        "LEA": (RZ, 20, None),
    }
    for producer, (a, b, c) in producers.items():
        for consumer in (
            "LDS address",
            "STS address",
            "STS data",
            "STG data",
            "SHFL data",
            "MUFU data",
            "POPC data",
            "ATOMS address",
        ):
            right: dict[int, int] = {}
            expected, values = None, bench.values()
            values[0, register(20)], values[0, register(21)] = 4 * np.arange(32), 4 * np.arange(32) + 128
            if consumer.startswith("MUFU"):
                values[0, register(20) : register(22)] = bench.floats()[0, :2]
            values[0, register(22)] = 1
            for group in ((15,), STALLS[:7], STALLS[7:]):
                body = []
                for index, stall in enumerate(group):
                    if consumer.split(" ")[0] in ("LDS", "STS", "ATOMS"):
                        body += [ins("STS", a=20, b=23, offset=SHARED, stall=15)]
                        body += [ins("STS", a=21, b=25, offset=SHARED, stall=15)]
                    body += [ins("MOV", d=24, b=21, stall=15), *nops(60)]
                    body += [ins(producer, d=24, a=a, b=b, c=c, stall=stall)]
                    body += _user(consumer, 26) + nops(90, wait=63)
                    body += [ins("LDS", d=26, a=20, offset=SHARED, wr=3, stall=2)] if consumer.startswith("STS") else []
                    if consumer.startswith("STG"):
                        body += [ins("LDG.GPU", d=26, a=2, offset=128 * 40, wr=3, stall=2)]
                    body += [ins("MOV", d=40 + index, b=26, stall=15, wait=63)]
                after = bench.run(program(body, repeats=2), values, shared=1024)[0]
                if expected is None:
                    expected = after[register(40)]
                else:
                    right |= {stall: int((after[register(40 + i)] == expected).sum()) for i, stall in enumerate(group)}
            need = min((s for s in right if all(right[t] == 32 for t in right if t >= s)), default=None)
            yield {
                "producer": producer,
                "consumer": consumer,
                "stall": need,
                "lanes_right": " ".join(map(str, right.values())),
            }


def _user(consumer: str, d: int) -> list[int]:
    """An instruction that takes R24."""
    name, _, role = consumer.partition(" ")
    if name in ("SHFL", "MUFU", "POPC"):
        full, slot = {"SHFL": ("SHFL.BFLY", "a"), "MUFU": ("MUFU.RCP", "b"), "POPC": ("POPC", "b")}[name]
        return [ins(full, d=d, **{slot: 24}, wr=3, stall=15)]
    if name == "LDS":
        return [ins("LDS", d=d, a=24, offset=SHARED, wr=3, stall=15)]
    if name == "ATOMS":
        return [ins("ATOMS.EXCH", d=d, a=24, b=9, offset=SHARED, wr=3, stall=15)]
    if name == "STG":
        return [ins("STG", a=2, b=24, offset=128 * 40, rd=3, stall=15)]
    return [
        ins("STS", a=24 if role == "address" else 20, b=9 if role == "address" else 24, offset=SHARED, rd=3, stall=15)
    ]


def chains(bench: Bench) -> Iterator[Row]:
    """Clocks per link of a chain through a counter, with the stall count that ptxas puts behind it (2), and with 4."""
    memory = ("LDS", "LDSM", "ATOMS")
    for name, (_, _, slot) in COUNTED.items():
        for stall in (2, 4):
            link = {slot: 8} if slot else {}
            if name.startswith("ATOMS"):  # they leave the memory as it is
                link |= {"b": 8 if "EXCH" in name else RZ, "c": RZ}
            if name == "SHFL.IDX":
                link |= {"b": 12}
            offset = {"offset": SHARED} if name.startswith(memory) else {}
            one = ins(name, d=8, **link, **offset, wr=0, wait=1, stall=stall)
            body = [clock(20), *[one] * 16, clock(21, wait=1), *[one] * 48, clock(22, wait=1)]
            values = bench.floats()
            if name.startswith(memory):  # each lane's word holds its own address; ldmatrix: all hold 0
                unit = {"64": 8, "128": 16}.get(name.split(".")[-1], 4)
                own = 0 if name.startswith("LDSM") else unit
                body = [
                    ins("STS.128", a=40, b=44, offset=SHARED, stall=15),
                    *nops(60),
                    ins("STS", a=41, b=8, offset=SHARED, stall=15),
                    *nops(60),
                    *body,
                ]
                values[0, register(40)], values[0, register(41)] = 16 * np.arange(32), unit * np.arange(32)
                values[0, register(8)] = own * np.arange(32)
                values[0, register(44) : register(48)] = 0
            after = bench.run(program(body), values, shared=2048)
            short, long = difference(after, 20, 21), difference(after, 21, 22)
            yield {"form": name, "stall": stall, "clocks": (int(long[0]) - int(short[0])) / 32}


def fixed_chain(bench: Bench, name: str, stall: int) -> float:
    """Clocks per link of a chain with that stall count."""
    widths, slot = {**FIXED, **MATRIX}[name], "c" if name in MATRIX else _slot_of(name)
    one = ins(name, d=24, **{**_sources(widths, 8), slot: 24}, stall=stall)
    body = [clock(40), *[one] * 16, clock(41), *[one] * 48, clock(42)]
    after = bench.run(program(body), bench.floats())
    return (int(difference(after, 41, 42)[0]) - int(difference(after, 40, 41)[0])) / 32


def fixed_chains(bench: Bench) -> Iterator[Row]:
    """Clocks per link of a chain by stall count: the count itself, unless the unit takes longer."""
    for name in (*FIXED, *MATRIX):
        for stall in (1, 2, 3, 4, 5, 6, 8, 10, 12, 15):
            yield {"form": name, "stall": stall, "clocks": fixed_chain(bench, name, stall)}


PROBES = {
    "stall_counts": stall_counts, "slots": slots, "predicates": predicates, "memory_operands": memory_operands,
    "counted_chains": chains, "fixed_chains": fixed_chains,
}  # fmt: skip
