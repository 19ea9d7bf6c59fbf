"""The PTX instructions that random programs are made of: opcode, letter of the target, letters of the sources.

Letters of registers: h, r, q of 16, 32, 64 bits; e, f, d floats of 16, 32, 64 bits; x two halves; p predicates. Others
stand for special sources: s the amount of a shift, b a place or a length of bits (0 to 255: beyond that nothing is
defined), w a length of bits that is no parameter as it is (of which ptxas makes a constant bank that there is not: see
`ptx_known`), L a table of lop3, N, M, H a divisor (of 32, 64, 16 bits), k a float without NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

__all__ = ["CHAINS", "Template", "templates"]


@dataclass(frozen=True)
class Template:
    name: str
    target: str
    sources: str
    least: int = 75
    weight: float = 1.0


INTEGERS = """
h | add sub mul.lo mul.hi min max | u16 s16 | hh
h | mad.lo mad.hi sad | u16 s16 | hhh
h | div rem | u16 s16 | hH
h | neg | s16 | h
h | and or xor | b16 | hh
h | not cnot | b16 | h
h | shl | b16 | hs
h | shr | u16 s16 b16 | hs
h | selp | b16 u16 s16 | hhp
r | mul.wide | u16 s16 | hh
r | mad.wide | u16 s16 | hhr
r | add sub mul.lo mul.hi min max mul24.lo mul24.hi | u32 s32 | rr
r | add.sat sub.sat | s32 | rr
r | mad.lo mad.hi mad24.lo mad24.hi sad | u32 s32 | rrr
r | mad.hi.sat mad24.hi.sat | s32 | rrr
r | div rem | u32 s32 | rN
r | abs neg | s32 | r
r | and or xor | b32 | rr
r | not cnot popc clz brev | b32 | r
r | bfind bfind.shiftamt | u32 s32 | r
r | bfind bfind.shiftamt | u64 s64 | q
r | popc clz | b64 | q
r | shl | b32 | rs
r | shr | u32 s32 b32 | rs
r | shf.l.wrap shf.l.clamp shf.r.wrap shf.r.clamp | b32 | rrs
r | bfe | u32 s32 | rbb
r | bfi | b32 | rrbb
r | bmsk.clamp bmsk.wrap | b32 | ss
r | szext.clamp szext.wrap | u32 s32 | rw | 80
r | prmt | b32 b32.f4e b32.b4e b32.rc8 b32.ecl b32.ecr b32.rc16 | rrr
r | lop3 | b32 | rrrL
r | dp4a.u32 dp4a.s32 dp2a.lo.u32 dp2a.lo.s32 dp2a.hi.u32 dp2a.hi.s32 | u32 s32 | rrr
r | selp | b32 u32 s32 | rrp
r | slct.u32 slct.s32 | s32 | rrr
r | slct.u32 slct.ftz.u32 | f32 | rrf
q | mul.wide | u32 s32 | rr
q | mad.wide | u32 s32 | rrq
q | add sub mul.lo mul.hi min max | u64 s64 | qq
q | mad.lo mad.hi sad | u64 s64 | qqq
q | div rem | u64 s64 | qM
q | abs neg | s64 | q
q | and or xor | b64 | qq
q | not cnot brev | b64 | q
q | shl | b64 | qs
q | shr | u64 s64 b64 | qs
q | bfe | u64 s64 | qbb
q | bfi | b64 | qqbb
q | selp | b64 u64 s64 | qqp
q | slct.u64 slct.s64 | s32 | qqr
p | and or xor | pred | pp
p | not | pred | p
"""
FLOATS = """
f | add sub mul | {rn rz rm rp}{ ftz}{ sat}f32 | ff
f | fma | {rn rz rm rp}{ ftz}{ sat}f32 | fff
f | div | {rn rz rm rp}{ ftz}f32 | ff
f | rcp sqrt | {rn rz rm rp}{ ftz}f32 | f
f | min max | { ftz}f32 | ff
f | min.NaN max.NaN | f32 | ff | 80
f | abs neg | { ftz}f32 | f
f | copysign | f32 | kf
f | selp | f32 | ffp
f | slct.f32 | s32 f32 | ff?
d | add sub mul | {rn rz rm rp}f64 | dd
d | fma | {rn rz rm rp}f64 | ddd
d | div | {rn rz rm rp}f64 | dd
d | rcp sqrt | {rn rz rm rp}f64 | d
d | min max | f64 | dd
d | abs neg | f64 | d
d | selp | f64 | ddp
x | add sub mul | {rn}{ ftz}{ sat}f16x2 | xx
x | fma | {rn}{ ftz}{ sat}f16x2 | xxx
x | fma.rn.relu | f16x2 | xxx | 80
x | min max min.NaN max.NaN | f16x2 | xx | 80
x | abs neg | f16x2 | x
e | add sub mul | {rn}{ ftz}{ sat}f16 | ee
e | fma | {rn}{ ftz}{ sat}f16 | eee
e | abs neg | f16 | e
p | testp.finite testp.infinite testp.number testp.notanumber testp.normal testp.subnormal | f32 | f
p | testp.finite testp.infinite testp.number testp.notanumber testp.normal testp.subnormal | f64 | d
"""
LETTER = {"16": "h", "32": "r", "64": "q", "f16": "e", "f32": "f", "f64": "d"}
CHAINS = (
    ("r", "u32", ("add.cc", "addc.cc", "addc")),
    ("r", "s32", ("sub.cc", "subc.cc", "subc")),
    ("r", "u32", ("mad.lo.cc", "madc.hi.cc", "addc")),
    ("r", "s32", ("mad.lo.cc", "madc.lo.cc", "madc.hi")),
    ("q", "u64", ("add.cc", "addc.cc", "addc")),
    ("q", "s64", ("sub.cc", "subc")),
)
"""Letter, type and instructions of a chain of carries; the middle ones may come several times."""


def spread(text: str) -> list[str]:
    """`{rn rz}{ ftz}f32`: all of them, with dots."""
    head, brace, rest = text.partition("{")
    if not brace:
        return [text]
    choices, _, rest = rest.partition("}")
    return [f"{head}{c}{'.' if c else ''}{tail}" for c in choices.split(" ") for tail in spread(rest)]


def from_table(text: str) -> list[Template]:
    found = []
    for line in text.strip().splitlines():
        target, heads, kinds, sources, *least = (part.strip() for part in line.split("|"))
        kinds_of = spread(kinds) if "{" in kinds else kinds.split()
        names = [f"{head}.{kind}" for head, kind in product(heads.split(), kinds_of)]
        weight = 0.3 if heads.split()[0] in ("div", "rcp") else 1.0  # they are long
        for name in names:
            letters = sources.replace("?", "f" if name.endswith("f32.f32") else "r")
            found.append(Template(name, target, letters, int(least[0]) if least else 75, weight / len(names)))
    return found


def comparisons() -> list[Template]:
    """setp, alone and combined, and set."""
    found = []
    ordered = "eq ne lt le gt ge".split()
    kinds = {
        "h": (("u16", "s16"), ordered),
        "r": (("u32", "s32"), [*ordered, "lo", "hs"]),
        "q": (("u64", "s64"), [*ordered, "ls", "hi"]),
        "f": (("f32", "ftz.f32"), [*ordered, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]),
        "d": (("f64",), [*ordered, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]),
        "e": (("f16",), [*ordered, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]),
    }
    for letter, (types, relations) in kinds.items():
        for kind, relation in product(types, relations):
            if relation in ("lo", "hs", "ls", "hi") and kind[0] != "u":
                continue
            found.append(Template(f"setp.{relation}.{kind}", "p", letter * 2, weight=0.1))
            for way in ("and", "or", "xor"):
                found.append(Template(f"setp.{relation}.{way}.{kind}", "p", f"{letter * 2}p", weight=0.03))
            if letter in "rqfd":
                to, target = ("u32", "r") if relation != "gt" else ("f32", "f")
                name = kind.rpartition(".")
                found.append(
                    Template(f"set.{relation}{'.ftz' * bool(name[0])}.{to}.{name[2]}", target, letter * 2, weight=0.05)
                )
    return found


def conversions() -> list[Template]:
    integers = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
    reals = ["f16", "f32", "f64"]
    names: list[str] = []
    names += [f"cvt.{a}.{b}" for a, b in product(integers, integers) if a != b]
    names += [f"cvt.sat.{a}.{b}" for a, b in product(integers, integers) if not holds_all(a, b)]
    for real, integer in product(reals, integers):
        ftz = ("", ".ftz") if real == "f32" else ("",)
        names += [f"cvt.{m}{z}.{integer}.{real}" for m in ("rni", "rzi", "rmi", "rpi") for z in ftz]
        names += [f"cvt.{m}{s}.{real}.{integer}" for m in ("rn", "rz", "rm", "rp") for s in ("", ".sat")]
    for real in reals:
        ftz = ("", ".ftz") if real == "f32" else ("",)
        names += [
            f"cvt.{m}{z}{s}.{real}.{real}" for m in ("rni", "rzi", "rmi", "rpi") for z in ftz for s in ("", ".sat")
        ]
    for m in ("rn", "rz", "rm", "rp"):
        names += [f"cvt.{m}{z}{s}.f32.f64" for z in ("", ".ftz") for s in ("", ".sat")]
        names += [f"cvt.{m}.f16.f64"]
        names += [f"cvt.{m}.f16.f32"]  # of which ptxas forgets .ftz
    names += ["cvt.f64.f32", "cvt.ftz.f64.f32", "cvt.f32.f16", "cvt.ftz.f32.f16", "cvt.f64.f16", "cvt.sat.f32.f16"]
    return [Template(name, *letters_of(name), weight=0.1) for name in names]


def holds_all(to: str, of: str) -> bool:
    """Does a type of integers hold all numbers of another one?"""
    return to == of or (int(to[1:]) > int(of[1:]) and (to[0] == "s" or of[0] == "u"))


def letters_of(name: str) -> tuple[str, str]:
    """Letters of a conversion. Bytes are taken from registers of 32 bits, and put into those of 16: ptxas forgets the
    upper half of those of 32 where two paths meet."""
    to, of = name.split(".")[-2:]
    target, source = (LETTER.get(kind, LETTER.get(kind[1:])) for kind in (to, of))
    return target or "h", source or "r"


def templates(arch: int) -> list[Template]:
    """All that an architecture has."""
    every = from_table(INTEGERS) + from_table(FLOATS) + comparisons() + conversions()
    return [template for template in every if template.least <= arch]
