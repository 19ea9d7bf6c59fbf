"""Which answers of a card are compared with a simulated machine's, and why some differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["CASES", "REASONS", "Case"]


@dataclass(frozen=True, slots=True)
class Case:
    """A number of a probe. where: columns of its row, and their values. column: the number."""

    probe: str
    what: str
    where: tuple[tuple[str, object], ...]
    column: str = "clocks"

    def matches(self, row: Mapping[str, Any]) -> bool:
        """Whether a row of the probe is that of the case."""
        return all(str(row[key]) == str(value) for key, value in self.where)


def _case(probe: str, what: str, column: str = "clocks", /, **where: object) -> Case:
    return Case(probe, what, tuple(where.items()), column)


INTERVALS = (
    "FFMA FADD IADD3 IMAD IMAD.WIDE LOP3.LUT SHF.L.W.U32.HI PRMT FMNMX SEL ISETP FSETP HFMA2 HADD2 DFMA DADD MUFU.RCP "
    "POPC F2I F2I.F64 I2FP.F32.S32 HMMA.16816.F32 HMMA.1688.F32 IMMA.16832.S8 DMMA.884 VOTE.ANY UIADD3 CS2R.32 S2R.TID "
    "SHFL.BFLY LDS LDS.64 LDS.128 LDSM.4 STS STS.128 ATOMS.ADD"
).split()
PAIRS = (
    "FFMA IADD3|FFMA IMAD|IADD3 IMAD|IADD3 LOP3.LUT|FFMA HFMA2|FFMA DFMA|FFMA MUFU.RCP|FFMA HMMA.16816.F32|IADD3 POPC|"
    "FFMA LDS|IMAD LDS|FFMA ISETP"
).split("|")
CHAINS = (
    "MUFU.RCP MUFU.EX2 POPC FLO.U32 BREV F2I I2F.U8 F2I.F64 I2F.S64 F2F.F32.F64 FRND SHFL.BFLY SHFL.IDX MATCH.ALL "
    "S2R.TID LDS LDS.U8 LDS.64 LDS.128 LDSM LDSM.2 LDSM.4 ATOMS.ADD ATOMS.CAS ATOMS.EXCH"
).split()
RELEASED = "LDS LDS.128 STS STS.64 STS.128 ATOMS.ADD LDG.W LDG.64 LDG.128 STG STG.128 SHFL.BFLY MUFU.RCP".split()
RESULTS = "LDS LDS.64 LDS.128 LDSM.4 ATOMS.ADD LDG.W LDG.64 LDG.128 SHFL.BFLY MUFU.RCP".split()
QUEUES = ("LDS", "STS", "LDG.W")

CASES = [
    *(
        _case("intervals", f"{form}, {n} partition{'s' * (n > 1)}", form=form, partitions=n, warps=4)
        for form in INTERVALS
        for n in (1, 4)
    ),
    *(_case("interval_pairs", pair, **dict(zip("ab", pair.split(" "), strict=True)), warps=4) for pair in PAIRS),
    *(_case("counted_chains", form, form=form, stall=2) for form in CHAINS),
    *(_case("release", f"{form}, sources free", "release", form=form, uniform=0) for form in RELEASED),
    *(_case("release", f"{form}, result", "result", form=form, uniform=0) for form in RESULTS),
    *(
        _case("queue_depth", f"{count} {form}, {n} partition{'s' * (n > 1)}", f"n{count}", form=form, partitions=n)
        for form in QUEUES
        for n in (1, 4)
        for count in (8, 16, 32)
    ),
    *(
        _case("stall_and_yield", f"NOP, stall {stall}, bit {bit}", form="NOP", stall=stall, yield_bit=bit, warps=1)
        for stall, bit in ((0, 1), (0, 0), (1, 0), (4, 1), (12, 1), (15, 0))
    ),
    *(
        _case("register_banks", f"{form} {registers}, reuse {reuse}", form=form, registers=registers, reuse=reuse)
        for form, registers, reuse in (
            ("FFMA", "8 12 17", 0),
            ("FFMA", "8 13 16", 0),
            ("FFMA", "8 12 16", 1),
            ("FFMA", "8 12 16", 7),
            ("FFMA alternate", "8 12 16", 7),
            ("IADD3", "8 12 16", 0),
            ("IMAD", "8 12 16", 0),
            ("DFMA", "8 12 16", 0),
        )
    ),
    *(
        _case("mixed_banks", f"{a} and {b}", first=a, second=b)
        for a, b in (("eee", "eee"), ("eeo", "eoo"), ("eeo", "eeo"), ("eee", "ooo"), ("one", "eee"), ("one", "eeo"))
    ),
    *(_case("branches", name, case=name, stall=5) for name in ("taken, next", "not taken", "bssy and bsync")),
    *(
        _case("barriers", f"{n} warps, last release", "last_release", warps=n, late=0, round=2)
        for n in (1, 4, 8, 16, 32)
    ),
    *(
        _case("l2_rates", f"{what}, {who}", "bytes_per_clock", what=what, who=who, megabytes=size)
        for what in ("read", "write", "copy")
        for who, size in (("1", 2), ("TPC", 2), ("GPC", 2), ("all", 8))
    ),
    *(
        _case("dram_stream", what, "bytes_per_clock", what=what, threads=1024, multiprocessors=132)
        for what in ("read", "write", "copy")
    ),
    *(_case("l2_chase", f"{size} MB", kind="footprint", megabytes=size) for size in (0.0625, 16, 32, 64)),
    *(
        _case("code_ladder", f"{kind}, {size} kB", "last", kind=kind, kilobytes=size, blocks=1, warps=1, partitions=1)
        for kind in ("straight", "jumps")
        for size in (1, 16, 64, 112, 160, 320)
    ),
    *(
        _case(
            "atomics",
            f"{form}, {pattern}, {n} blocks",
            "clocks_per_round",
            form=form,
            pattern=pattern,
            blocks=n,
            threads=32,
        )
        for form in ("red_u32", "red_f32", "atom_u32")
        for pattern in ("one word", "a line per lane", "a word per thread")
        for n in (1, 132)
    ),
]

REASONS: dict[tuple[str, str], str] = {
    ("interval_pairs", "FFMA HFMA2"): "halves take both parts of the float lanes at once; the machine has one part",
    ("intervals", "S2R.TID, 1 partition"): "special registers are read by one unit of the whole SM, here by lanes",
    ("intervals", "S2R.TID, 4 partitions"): "special registers are read by one unit of the whole SM, here by lanes",
    ("intervals", "SHFL.BFLY, 1 partition"): "shuffles take no queue",
    ("intervals", ""): "a queue of the sub-core drains with its own rhythm, which was fitted to bursts",
    ("interval_pairs", ""): "nobody has explained it",
    ("queue_depth", ""): "four queues that fill at once: their order on the card is not known",
    (
        "stall_and_yield",
        "NOP, stall 12, bit 1",
    ): "measured with FFMA it is one clock in both; what is no instruction of a unit takes two here",
    ("counted_chains", "ATOMS.EXCH"): "all atomics but compare-and-swap take as long as an addition",
    ("release", "ATOMS.ADD, result"): "an addition whose result is used takes three clocks more than in a chain",
    ("branches", "bssy and bsync"): "the pair costs two clocks more here, which nobody has explained",
    ("l2_rates", "read, TPC"): "the limit of a GPC is shared out to its TPCs, so that one alone gets no more",
    ("l2_rates", "copy, TPC"): "the limit of a GPC is shared out to its TPCs, so that one alone gets no more",
    ("l2_rates", "write, TPC"): "stores and their address take turns at the port",
    ("l2_rates", "read, GPC"): "the card gives nine TPCs what it gives eight",
    ("l2_rates", "write, GPC"): "nothing limits what a GPC writes but the ports of its TPCs",
    ("l2_rates", "write, all"): "slices take in stores without a loss",
    ("dram_stream", ""): "nobody has explained it; reading alone is right",
    (
        "code_ladder",
        "",
    ): "jumps: the machine has no level of 4 kB in front, and its lines ahead are asked for at jumps, too",
    (
        "atomics",
        "atom_u32, one word, 1 blocks",
    ): "a compiled loop with four of them under way, which the card answers one by one",
    ("atomics", ""): "one rule for all atomics, and ports that take a short run ahead; the rest nobody has explained",
    ("barriers", ""): "a lone barrier is left a clock late",
}
"""By probe and case, or for all cases of a probe: why the machine is more than a tenth off. What is said of halves,
special registers, shuffles and banks are conjectures: no probe takes their causes apart."""
