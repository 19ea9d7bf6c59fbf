"""Vectors: what single instructions make of special and random operands, bit for bit.

Arrays: `inputs_KIND` (cases, 3 sources, 2 words), `predicates` (cases: bit 0 is P0, bit 1 is P1) and, for each form,
`FORM` (cases, words): the result (no words where it has none), and `FORM predicates`: P0-P6 as bits after it.
"""

from __future__ import annotations

import numpy as np

from .assembler import RZ, field, ins, nops, program
from .bench import Bench, register
from .probe_latency import MATRIX

CASES = 4096
SPECIAL32 = (
    0,
    1,
    2,
    3,
    0x7FFFFFFF,
    0x80000000,
    0x80000001,
    0xFFFFFFFF,
    0xFFFFFFFE,
    0x55555555,
    0xFFFF0000,
    0x0000FFFF,
    31,
    32,
    33,
    0x00010000,
)
FLOATS = (0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x80800000, 0x3F800000, 0xBF800000, 0x7F7FFFFF,
    0xFF7FFFFF, 0x7F800000,
          0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001, 0xFFBFFFFF, 0x7FFFFFFF, 0x4F000000, 0xCF000000, 0x4EFFFFFF,
              0x4F800000, 0x3F000000, 0x40490FDB,
          0x5F000000, 0xDF000000, 0x3FC00000, 0xC0200000)  # fmt: skip
HALVES = (
    0,
    0x8000,
    1,
    0x8001,
    0x03FF,
    0x0400,
    0x3C00,
    0xBC00,
    0x7BFF,
    0xFBFF,
    0x7C00,
    0xFC00,
    0x7E00,
    0xFE01,
    0x7C01,
    0xFDFF,
    0x3555,
    0x1400,
)
DOUBLES = (0, 1 << 63, 1, 0xFFFFFFFFFFFFF, 0x0010000000000000, 0x3FF0000000000000, 0xBFF0000000000000,
    0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000,
           0xFFF0000000000000, 0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000001, 0x41DFFFFFFFC00000,
               0xC1E0000000000000, 0x41E0000000000000,
           0x43E0000000000000, 0xC3E0000000000000, 0x43F0000000000000, 0x3FE0000000000000, 0x36A0000000000000,
               0x380FFFFFE0000000, 0x47EFFFFFF0000000)  # fmt: skip

# form: sources. A name with an arrow is a form of `words.json` with bits set: see `VARIANTS`.
FORMS: dict[str, dict[str, str]] = {
    "integer": {
        **dict.fromkeys(("IADD3", "IADD3.P", "IADD3.P-a", "IADD3.P-b", "IADD3.P-c", "IADD3.P-b-c", "IADD3.X",
            "IADD3.X~b", "IMAD", "IMAD.HI", "IMAD.HI.U32",
                         "IMAD.WIDE", "IMAD.WIDE.U32", "IMAD.WIDE.P", "LOP3.LUT", "LOP3.LUT.P", "SHF.L.W.U32.HI",
                         "SHF.R.W.U32", "SHF.R.U32", "PRMT", "PRMT.F4E",
                         "PRMT.B4E", "PRMT.RC8", "PRMT.ECL", "PRMT.ECR", "PRMT.RC16", "VABSDIFF", "VABSDIFF.U32",
                         "VABSDIFF4.U8", "IDP.4A", "IDP.4A.U8",
                         "IDP.2A", "VIMNMX3", "VIADDMNMX"), "abc"),
        **dict.fromkeys(("SHF.L.U32", "SEL", "LEA", "SGXT", "BMSK", "VIMNMX", "VIMNMX.U32", "ISETP", "ISETP.U32",
            "VIADD"), "ab"),
        **dict.fromkeys(("SHF.R.U32.HI", "SHF.R.S32.HI"), "bc"),
        **dict.fromkeys(("IABS", "POPC", "FLO.U32", "FLO.S32", "FLO.SH", "BREV", "I2FP.F32.S32", "I2FP.F32.U32",
            "I2F.RP", "I2F.U8", "I2F.F64",
                         "I2F.S64", "I2F.F64.S64", "MOV"), "b"),
        "R2P": "a", "P2R": "", "PLOP3": "",
    },
    "float": {
        **dict.fromkeys(("FFMA", "FFMA.FTZ", "FFMA.SAT", "FFMA.RM", "FFMA.RP", "FFMA.RZ"), "abc"),
        **dict.fromkeys(("FADD", "FADD.FTZ", "FADD.RM", "FADD.RP", "FADD.RZ", "FADD.SAT", "FADD-a", "FADD|a|",
            "FMUL", "FMUL.FTZ", "FMUL.RZ", "FMNMX", "FMNMX.MAX",
                         "FMNMX.NAN", "FMNMX.FTZ", "FMNMX.XORSIGN", "FSEL", "FSEL-a", "FSEL|a|", "FSETP",
                         "FSETP.NAN", "FCHK", "F2FP.F16", "F2FP.BF16",
                         "F2FP.F16.RZ", "F2FP.E4M3", "F2FP.E5M2"), "ab"),
        **dict.fromkeys(("MUFU.RCP", "MUFU.RSQ", "MUFU.SQRT", "MUFU.SIN", "MUFU.COS", "MUFU.LG2", "MUFU.EX2",
            "MUFU.TANH", "F2I", "F2I.TRUNC", "F2I.U32.TRUNC",
                         "F2I.FLOOR", "F2I.CEIL", "F2I.S64", "F2I.U64", "FRND", "FRND.FLOOR", "FRND.TRUNC",
                         "F2F.F64.F32"), "b"),
    },
    "double": {
        "DFMA": "abc", "DADD": "ac", "DMUL": "ab", "DSETP": "ab",
        **dict.fromkeys(("F2I.F64", "F2I.U32.F64", "F2I.S64.F64", "F2F.F32.F64", "FRND.F64", "MUFU.RCP64H",
            "MUFU.RSQ64H"), "b"),
    },
    "half": {
        **dict.fromkeys(("HFMA2", "HFMA2.MMA", "HFMA2.BF16", "HFMA2.RELU"), "abc"),
        **dict.fromkeys(("HADD2", "HMUL2", "HMNMX2", "HMNMX2.NAN", "HSETP2", "HSET2"), "ab"),
        **dict.fromkeys(("HADD2.F32", "F2FP.UNPACK.E4M3", "F2FP.UNPACK.E5M2", "MUFU.EX2.F16", "MUFU.TANH.F16"), "b"),
    },
}  # fmt: skip
# A negation bit of sources: of the first 72, of the second 63, of the third 75; |first| 73.
VARIANTS = {
    "IADD3.P-a": ("IADD3.P", (72,)), "IADD3.P-b": ("IADD3.P", (63,)), "IADD3.P-c": ("IADD3.P", (75,)),
        "IADD3.P-b-c": ("IADD3.P", (63, 75)),
    "IADD3.X~b": ("IADD3.X", (63,)), "FADD-a": ("FADD", (72,)), "FADD|a|": ("FADD", (73,)), "FSEL-a": ("FSEL",
        (72,)), "FSEL|a|": ("FSEL", (73,)),
    "IMAD.WIDE.P": ("IMAD.WIDE.U32", ()),
}  # fmt: skip
LANEWISE = ("MUFU", "POPC", "FLO", "BREV", "F2I", "I2F.", "F2F.", "FRND", "FCHK")  # they take a counter


def word_of(name: str, sources: str) -> int:
    """The instruction of a form: sources R8, R12, R16; result R24; predicates written P0, P1, read P0, P1."""
    base, bits = VARIANTS.get(name, (name, ()))
    registers = {slot: 8 + 4 * "abc".index(slot) for slot in sources}
    if "c" not in sources and name in ("SHF.L.U32", "LEA"):
        registers["c"] = RZ
    no_result = base.split(".")[0] in ("ISETP", "FSETP", "DSETP", "HSETP2", "FCHK", "R2P", "PLOP3")
    counted = {"wr": 0} if base.startswith(LANEWISE) else {}
    word = ins(base, d=None if no_result else 24, **registers, **counted, stall=15)
    if base == "FCHK":
        word = field(word, 81, 3, 0)
    if base in ("IADD3.P", "IADD3.X") or name == "IMAD.WIDE.P":
        word = field(field(word, 81, 3, 0), 84, 3, 1 if "IMAD" not in name else 7)
    if base == "IADD3.X":  # carries in: P0 and P1
        word = field(field(word, 87, 4, 0), 77, 4, 1)
    if base in ("ISETP", "FSETP", "DSETP", "HSETP2"):
        word = field(field(word, 84, 3, 1), 87, 4, 0)  # both results, combined with P0
    for bit in bits:
        word |= 1 << bit
    return word


def operands(kind: str, rng: np.random.Generator) -> np.ndarray:
    """Sources of all cases: special values with each other first, then special and random ones, then random ones."""
    low, high = rng.integers(0, 2**32, (CASES, 3), np.uint32), rng.integers(0, 2**32, (CASES, 3), np.uint32)
    special = {"integer": SPECIAL32, "float": FLOATS, "double": DOUBLES, "half": HALVES}[kind]
    table = np.array(special, np.uint64)
    if kind == "half":
        table = (rng.permutation(table)[:, None] << np.uint64(16) | table[None, :]).ravel()
    picks = table[rng.integers(0, len(table), (CASES, 3))]
    n = len(special)
    grid = np.arange(min(n * n, 1024))
    if kind != "half":
        picks[: len(grid), 0], picks[: len(grid), 1] = table[grid // n % n], table[grid % n]
    use = rng.random((CASES, 3)) < np.where(np.arange(CASES) < 2048, 0.7, 0.1)[:, None]
    use[: len(grid)] = True
    if kind == "float":  # near each other, so that sums cancel and products stay finite
        near = (rng.normal(size=(CASES, 3)) * 2.0 ** rng.integers(-6, 7, (CASES, 3))).astype(np.float32).view(np.uint32)
        low = np.where(rng.random((CASES, 3)) < 0.6, near, low)
    if kind == "double":
        near64 = (rng.normal(size=(CASES, 3)) * 2.0 ** rng.integers(-40, 70, (CASES, 3))).view(np.uint64)
        low, high = (near64 & 0xFFFFFFFF).astype(np.uint32), (near64 >> np.uint64(32)).astype(np.uint32)
    if kind == "half":
        near16 = (
            (rng.normal(size=(CASES, 3, 2)) * 2.0 ** rng.integers(-8, 8, (CASES, 3, 2)))
            .astype(np.float16)
            .view(np.uint16)
            .astype(np.uint32)
        )
        low = np.where(rng.random((CASES, 3)) < 0.7, near16[..., 0] << np.uint32(16) | near16[..., 1], low)
    if kind == "integer":
        small = rng.integers(0, 70, (CASES, 3), np.uint32)
        low = np.where(rng.random((CASES, 3)) < 0.3, small, low)
    low = np.where(use, (picks & np.uint64(0xFFFFFFFF)).astype(np.uint32), low)
    if kind == "double":
        high = np.where(use, (picks >> np.uint64(32)).astype(np.uint32), high)
    return np.stack([low, high], axis=2)


def forms(bench: Bench) -> dict[str, np.ndarray]:
    """All forms on all cases."""
    rng = np.random.default_rng(11)
    predicates = rng.integers(0, 4, CASES, np.uint32)
    arrays = {"predicates": predicates.astype(np.uint8)}
    warps = CASES // 32
    for kind, table in FORMS.items():
        sources = operands(kind, rng)
        arrays[f"inputs_{kind}"] = sources
        values = bench.values(warps)
        for i in range(3):
            for part in range(2):
                values[:, register(8 + 4 * i) + part] = sources[:, i, part].reshape(warps, 32)
        values[:, register(20)], values[:, register(21)] = ((predicates >> i & 1).reshape(warps, 32) for i in (0, 1))
        values[:, register(24) : register(30)] = 0
        for name, slots in table.items():
            body = [ins("R2P", a=29, stall=15)]  # all predicates false
            body += [field(ins("ISETP", a=20 + i, b=RZ, pd=i, stall=15), 76, 3, 5) for i in (0, 1)]
            body += [*nops(30), word_of(name, slots), *nops(60, wait=63), ins("P2R", d=28, stall=15)]
            after = bench.run(program(body, repeats=1), values, blocks=warps)
            low, high, bits = (after[:, register(r)].reshape(-1) for r in (24, 25, 28))
            if bits.tobytes() != predicates.tobytes():  # else the form leaves predicates alone
                arrays[f"{name} predicates"] = bits.astype(np.uint8)
            if low.any() or high.any():
                arrays[name] = np.stack([low, high] if high.any() else [low], axis=1)
    return arrays


def matrix(bench: Bench) -> dict[str, np.ndarray]:
    """Products of small matrices in the registers' own order: (warps, registers a b c d, lanes)."""
    rng, arrays, warps = np.random.default_rng(12), {}, 32
    for name, (d, *_) in MATRIX.items():
        values = bench.values(warps)
        if "S8" not in name:
            spread = np.repeat([1, 4, 12, 24], warps // 4)[:, None, None]
            size = (warps, 48, 32)
            if "BF16" in name or "TF32" in name:
                values = (
                    (rng.normal(size=size) * 2.0 ** (spread * rng.uniform(-1, 1, size)))
                    .astype(np.float32)
                    .view(np.uint32)
                )
                if "BF16" in name:
                    values = values & 0xFFFF0000 | np.roll(values, 1, 0) >> np.uint32(16)
            elif "DMMA" not in name:
                halves = (
                    (
                        rng.normal(size=(*size, 2))
                        * 2.0 ** (np.minimum(spread, 10)[..., None] * rng.uniform(-1, 1, (*size, 2)))
                    )
                    .astype(np.float16)
                    .view(np.uint16)
                )
                values = halves[..., 0].astype(np.uint32) | halves[..., 1].astype(np.uint32) << np.uint32(16)
            if "16816.F16" not in name and "DMMA" not in name:
                c = (
                    (rng.normal(size=size) * 2.0 ** (spread * rng.uniform(-1, 1, size)))
                    .astype(np.float32)
                    .view(np.uint32)
                )
                values[:, register(16) : register(20)] = c[:, :4]
            if "DMMA" in name:
                numbers = (
                    rng.normal(size=(warps, 24, 32)) * 2.0 ** (spread * rng.uniform(-1, 1, (warps, 24, 32)))
                ).view(np.uint64)
                values = (
                    np.stack([numbers & 0xFFFFFFFF, numbers >> np.uint64(32)], axis=2)
                    .astype(np.uint32)
                    .reshape(warps, 48, 32)
                )
        body = [ins(name, d=24, a=8, b=12, c=16, stall=15), *nops(90)]
        after = bench.run(program(body, repeats=1), values, blocks=warps)
        arrays[name] = np.concatenate(
            [values[:, register(8) : register(20)], after[:, register(24) : register(24 + d)]], axis=1
        )
    return arrays


def warp_forms(bench: Bench) -> dict[str, np.ndarray]:
    """Instructions across a warp: `inputs` (warps, sources a b c, lanes); `lanes`: those with a true guard; results
    under that guard (`FORM`, 0 where it is false), and P0-P6 after it (`FORM predicates`)."""
    warps = 64
    values = bench.values(warps)
    rng = np.random.default_rng(13)
    values[:, register(8)] = np.where(
        rng.random((warps, 32)) < 0.5, values[:, register(8)], rng.integers(0, 4, (warps, 1))
    )
    values[:, register(12)] &= 63
    values[:, register(16)] &= 0x1F1F
    lanes = rng.random((warps, 32)) < np.repeat([1, 0.7, 0.3, 0.1], warps // 4)[:, None]
    lanes[:, 5] = True
    values[:, register(10)] = lanes
    values[:, register(24) : register(30)] = 0
    arrays = {"inputs": values[:, [register(r) for r in (8, 12, 16)]], "lanes": lanes}
    for name, slots in {"SHFL.IDX": "ab", "SHFL.UP": "abc", "SHFL.DOWN": "abc", "SHFL.BFLY": "a", "VOTE.ANY": "",
        "VOTE.ALL": "", "MATCH.ANY": "a", "MATCH.ALL": "a",
                        "R2UR": "a", "REDUX.SUM": "a", "REDUX.MAX": "a", "REDUX.XOR": "a"}.items():  # fmt: skip
        uniform = name.startswith(("R2UR", "REDUX"))
        sources = {slot: 8 + 4 * "abc".index(slot) for slot in slots}
        body = [ins("R2P", a=29, stall=15), field(ins("ISETP", a=10, b=RZ, pd=2, stall=15), 76, 3, 5)]
        body += [field(ins("ISETP", a=8, b=12, pd=0, stall=15), 76, 3, 1), *nops(30)]
        d = None if name == "VOTE.ALL" else 8 if uniform else 24
        body += [
            ins(name, d=d, **sources, guard=2, stall=15, **({} if name.startswith("VOTE") else {"wr": 0})),
            *nops(60, wait=63),
        ]
        body += [ins("MOV.UR", b=8, d=24, stall=15)] if uniform else []
        body += [*nops(30), ins("P2R", d=28, stall=15)]
        after = bench.run(program(body, repeats=1), values, blocks=warps)
        arrays[name] = after[:, register(24)]
        arrays[f"{name} predicates"] = after[:, register(28)].astype(np.uint8)
    return arrays


ARRAYS = {"vectors": forms, "vectors_warp": warp_forms, "vectors_matrix": matrix}
