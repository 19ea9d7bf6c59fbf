"""Random kernels that use the language as people write it, for comparing with the same text run as plain Python.

Variables of a type are named by its letter in `python_numbers.KINDS` and a digit. Every expression is written for a
type that both sides must find; what NumPy and kernels define differently (conversions of floats out of range, say) is
kept out by `tame_f`. A kernel may raise: then both sides must.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from tests.numba.python_numbers import KINDS
from tests.numba.random_layouts import laid_out

INPUTS = 16
COLUMNS = 4
BOX = (4, 3, 5)  # the shape of the inputs with three axes
NAMES = {kind: str(dtype) for kind, dtype in KINDS.items()}
SMALL = ("int8", "uint8", "int16", "uint16")
HEADER = """\
import math

import numpy as np
from numba import cuda, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64
"""
LITERALS: dict[str, tuple[Any, ...]] = {
    "i": (0, 1, 2, 3, 5, 8, 31, 100, -1, -7, 65535, 2**31 - 1, -(2**31) + 1),
    "u": (0, 1, 2, 3, 7, 31, 255, 1000, 2**31, 0x9E3779B9, 2**32 - 1),
    "f": (0.0, 0.5, 1.0, -1.5, 2.0, 0.125, 3.75, -0.25, 100.0),
    "q": (0, 1, -1, 7, 2**31, -(2**31) - 1, 2**40 + 5, 2**63 - 1, -(2**63) + 1),
    "w": (0, 1, 7, 2**32, 2**63, 2**64 - 1),
    "d": (0.0, 0.1, -1.5, 3.75, 1e10, -0.25),
}
INTEGERS = {
    "same": ("($k + $l)", "($l - $k)", "($k * $l)", "($k & $l)", "($l | $k)", "($k ^ $k)", "(~$k)", "(-$k)"),
    "divide": ("($k // ($k | 1))", "($k % ($k | 1))", "($k // 3)", "($k % 10)", "($k % 32)", "divmod($k, 7)[$2]"),
    "shift": ("($k << ($k & 31))", "($k >> ($k & 31))", "($k << $s)", "($k >> $s << 3)", "($k >> $s)"),
    "functions": ("mixed_up($k, $k, $l)", "mixed_up($k)", "mixed_up($k, by=$k)", "shifted(by=$k, x=$k)"),
    "choose": ("($k if $c else $k)", "min($k, $k)", "max($k, $l)", "($k or $k)", "($k and $k)", "min($k, $k, $k)"),
    "walrus": ("(($w := $k) + $w)", "($k - ($w := $k) * $w)"),
}
SIGNED = ("abs($k)", "($k // -4)", "($k % -5)", "($k // 16)")
FLOATS = (
    *("($k + $l)", "($l - $k)", "($k * $l)", "($k * $k + $k)", "($k / ($k + 0.5))", "($l / $K)", "(-$k)", "abs($k)"),
    *("($K if $c else $K)", "(min($K, $K) + 0)", "(max($K, $K) + 0)", "(($w := $K) * $w)", "math.sqrt(abs($K))"),
    *("$n(math.floor($K))", "($k / 3)", "($k * 0.125)"),
)
CONVERSIONS = {
    "i": (
        *("int32($F)", "int32($u)", "int32($c)", "int32(uint8($i))", "int32(int16($i))", "int32(int8($i))"),
        *(
            "int32($i + $u)",
            "int32(($i - $u) >> 3)",
            "int32(min($i, $u))",
            "int32($i if $c else $u)",
            "int32($u or $i)",
        ),
        *("int32($i // ($u | 1))", "int32($u % ($i | 1))"),
    ),
    "u": ("uint32($i)", "uint32(abs($F))", "uint32($c)", "uint32($u * $i)", "uint32(max($i, $u))", "uint32($i ^ $u)"),
    "f": ("float32($i)", "float32($u)", "float32($c)"),
    "q": ("int64($i)", "($i + $u)", "($q - $i)", "($u * $q)", "int64($u)", "int64($F)", "($u - $i)"),
    "w": ("uint64($u)", "uint64($i)", "($w + $u)", "($u * $w)", "uint64($q)"),
    "d": ("float64($f)", "float64($i)", "($F * $D)", "($i * $F)", "($D + $i)", "($i / ($I | 1))", "($F + $q)"),
}
NARROW_FLOATS = ("($i * $F)", "($F + $u)", "($i / ($I | 1))")  # of kernels without 64-bit data
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
CONDITIONS = (
    *("$i < $li", "$u < $lu", "$f < $lf", "$i < $u", "$u < $i", "$F < $i", "not $c", "$c and $c", "$c or $c"),
    *("$i < $i < $i", "0 <= $i < $u < $u", "$i < $e < $i", "$i in ($i, 3, $i)", "$i not in ($I, $I)", "$i & 4"),
    *("($i + $u) < $i", "min($i, $u) < 0", "($u - $i) // 3 < $i", "max($i, $u) % 7 < $i"),
)


@dataclass(frozen=True)
class Features:
    """What random kernels have beyond the 32-bit language.

    wide: types of 64 bits. slices: views by slices. stars: `*` in targets, parameters and calls. negative: indices that
    count from the end. hostile: of a hundred kernels, those that may raise.
    """

    wide: bool = False
    slices: bool = True
    stars: bool = True
    negative: bool = True
    hostile: int = 15

    @property
    def kinds(self) -> str:
        """The types of variables."""
        return "iufqwd" if self.wide else "iuf"


@dataclass(frozen=True)
class Case:
    """A kernel file, whose kernel is called `kernel`, and how to launch it."""

    text: str
    grid: int
    block: int
    seed: int
    kinds: str = "iuf"
    views: bool = False

    def arguments(self, wide: bool = False) -> list[Any]:
        """New arguments, always the same. wide: with 64 bits in place of 32, and floats that 32 bits round."""
        data = np.random.default_rng(self.seed)
        threads = self.grid * self.block
        inputs = [_inputs(data, kind) for kind in self.kinds]
        outputs = [np.zeros((threads, COLUMNS), KINDS[kind]) for kind in self.kinds]
        boxes = [_inputs(data, kind, math.prod(BOX)).reshape(BOX) for kind in self.kinds]
        matrix = data.integers(-99, 99, (COLUMNS, 8)).astype(np.int32)
        smalls = [data.integers(0, 200, INPUTS).astype(name) for name in SMALL]
        written = [np.zeros(threads, name) for name in (*SMALL, "bool")]
        arrays = [*inputs, *outputs, *boxes, matrix, *smalls, *written, np.zeros(4, np.int32)]
        if wide:
            arrays = [_widened(array) for array in arrays]
        if self.views:
            laid = np.random.default_rng([self.seed, 1])
            arrays = [laid_out(laid, array) for array in arrays]
        return [*arrays, int(data.integers(0, 7))]


def parameters(kinds: str) -> str:
    """The kernel's parameters, in the order of `Case.arguments`."""
    names = [f"a{k}" for k in kinds] + [f"o{k}" for k in kinds] + [f"b{k}" for k in kinds] + ["m"]
    names += [f"x{name}" for name in SMALL] + [f"y{name}" for name in (*SMALL, "bool")]
    return ", ".join([*names, "acc", "n"])


WIDER = {"int32": "int64", "uint32": "uint64", "float32": "float64"}


def _widened(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array with elements of 64 bits, if it has some of 32."""
    made = array.astype(WIDER.get(array.dtype.name, array.dtype))
    return made * (1 + 2.0**-40) if made.dtype.kind == "f" else made


def _inputs(data: np.random.Generator, kind: str, count: int = INPUTS) -> Any:
    dtype = KINDS[kind]
    if dtype.kind == "f":
        some = np.where(data.integers(0, 2, count), data.integers(-512, 512, count) / 8, data.normal(0, 9, count))
        return some.astype(dtype)
    bits = 8 * dtype.itemsize
    whole = data.integers(0, 2**bits, count, dtype=np.uint64 if bits == 64 else np.int64).astype(dtype)
    return whole >> data.integers(0, bits - 1, count).astype(dtype)


@dataclass
class Writer:
    """Writes expressions and statements. scope: what can be read, by type."""

    rng: Random
    features: Features
    scope: dict[str, list[str]]
    functions: list[tuple[str, str, str]] = field(default_factory=list)  # name, types of parameters, of the result
    arrays: bool = True
    shared: bool = False
    hostile: bool = False
    loops: int = 0
    names: int = 0
    lines: list[str] = field(default_factory=list)
    indent: int = 1

    # -- expressions

    def pick(self, *options: Any) -> Any:
        """One of the options."""
        return options[self.rng.randrange(len(options))]

    def one(self, options: Sequence[Any]) -> Any:
        """One of a sequence."""
        return options[self.rng.randrange(len(options))]

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred cases."""
        return self.rng.randrange(100) < percent

    def fill(self, template: str, kind: str, depth: int) -> str:
        """A template with its $-words written out."""
        parts = template.split("$")
        walrus = f"{kind}9" if ":=" in template else ""
        text = [parts[0]]
        for part in parts[1:]:
            word, rest = (part[:2], part[2:]) if part[0] == "l" and part[1:2] in KINDS else (part[:1], part[1:])
            text.append((walrus if word == "w" and walrus else self.word(word, kind, depth)) + rest)
        return "".join(text)

    def word(self, word: str, kind: str, depth: int) -> str:
        """k, l: an expression of the type at hand, l perhaps a literal; K: a leaf; n: the type's name; c: a condition;
        s: a shift count; 2: 0 or 1; e: something that a chain must not compute too early; else a type's letter."""
        if word == "k":
            return self.value(kind, depth)
        if word == "K":
            return self.leaf(kind)
        if word[0] == "l":
            kind = word[1:] or kind
            return f"({self.one(LITERALS[kind])})" if self.chance(30) else self.value(kind, depth)
        if word == "c":
            return self.condition(depth)
        if word == "s":
            return str(self.rng.randrange(1, 32))
        if word == "e":
            return f"ai[{self.pick('0', 't', 'i0 & 15')} + {self.pick('0', '0', '9' if self.hostile else '1')}]"
        table = {"2": lambda: str(self.rng.randrange(2)), "n": lambda: NAMES[kind]}
        if word in table:
            return table[word]()
        return self.leaf(word.lower()) if word.isupper() else self.value(word, depth)

    def index(self, extent: int) -> str:
        """An index of an axis: nearly always inside."""
        if self.hostile and self.chance(6):
            return str(self.pick(self.leaf("i"), f"({self.leaf('i')} << 28)", str(2**30 + 1), str(extent), "-9 - n"))
        form = self.rng.randrange(8)
        if form < 2:
            return str(self.rng.randrange(extent))
        if form > 5:
            return self.remainder(extent)
        if form in (2, 3) and not self.features.negative:
            return "0"
        if form == 2:
            return f"-{self.rng.randrange(1, extent + 1)}"
        if form == 3:
            return f"~({self.leaf('i')} & {_mask(extent)})"
        return f"{self.leaf('i')} & {_mask(extent)}"

    def remainder(self, extent: int) -> str:
        """An index of an axis from an integer of any type."""
        kind = self.one([kind for kind in self.features.kinds if KINDS[kind].kind in "iu"])
        value = self.leaf(kind)
        if KINDS[kind].kind == "u" or not self.features.negative:
            return f"{value} % {extent}"
        return str(self.pick(f"{value} % {extent}", f"{value} % {extent} - {extent}", f"~({value} % {extent})"))

    def leaf(self, kind: str) -> str:
        """A variable, an element or a typed literal."""
        form = self.rng.randrange(10)
        if form < 6 or not self.arrays:
            return str(self.one(self.scope[kind]))
        if form == 6:
            if kind == "i" and self.chance(60):
                array = self.pick("m[$, #]", "la[$]", "lb[$]", "lm[1, $]", "int32(x" + self.one(SMALL) + "[@])")
                axes = array.replace("$", self.rng.choice("0123")).replace("#", self.rng.choice("01234567"))
                return axes.replace("@", self.rng.choice("0123456789"))
            last = "-1 - (i1 & 7)" if self.features.negative else "i1 & 7"
            return f"a{kind}[{self.pick(str(self.rng.randrange(INPUTS)), 't & 15', 'i0 & 15', last)}]"
        if form == 7 and self.shared and kind in "iuf":
            return f"s{kind}[{self.pick('t', '(t + 1) % w', 'w - 1 - t', '0')}]"
        return f"{NAMES[kind]}({self.one(LITERALS[kind])})"

    def value(self, kind: str, depth: int) -> str:
        """An expression of a type; a float can be infinite or no number."""
        if depth <= 0:
            return self.leaf(kind)
        if self.functions and self.chance(12):
            fitting = [f for f in self.functions if f[2] == kind]
            if fitting:
                name, taken, _ = self.one(fitting)
                arguments = [self.leaf(p) if KINDS[p].kind == "f" else self.value(p, depth - 1) for p in taken]
                return f"{name}({', '.join(arguments)})"
        if kind in CONVERSIONS and self.chance(20):
            more = NARROW_FLOATS if kind == "f" and not self.features.wide else ()
            return self.fill(self.one(CONVERSIONS[kind] + more), kind, depth - 1)
        if KINDS[kind].kind == "f":
            return self.fill(self.one(FLOATS), kind, depth - 1)
        group = self.one(("same", "same", "divide", "shift", "choose", "choose", "walrus", "signed", "functions"))
        if group == "signed" and KINDS[kind].kind == "i":
            return self.fill(self.one(SIGNED), kind, depth - 1)
        if self.hostile and self.chance(3):
            return self.fill(self.pick("($k // $K)", "($k % $K)"), kind, depth - 1)
        return self.fill(self.one(INTEGERS.get(group, INTEGERS["same"])), kind, depth - 1)

    def condition(self, depth: int) -> str:
        """Something true or false."""
        template = self.one(CONDITIONS if depth > 0 and self.arrays else CONDITIONS[:6])
        if depth <= 0:
            template = template.replace("$l", "$")
        for _ in range(template.count(" < ")):
            template = template.replace(" < ", f" {self.one(COMPARISONS)} ", 1)
        return "(" + self.fill(template, "i", max(depth - 1, 0)) + ")"

    def stored(self, kind: str, depth: int) -> str:
        """An expression that may go into a variable: floats stay finite and not large."""
        text = self.value(kind, depth)
        return f"tame_{kind}({text})" if KINDS[kind].kind == "f" else text

    # -- lines

    def line(self, text: str) -> None:
        """One more line."""
        self.lines.append("    " * self.indent + text)

    def fresh(self, prefix: str) -> str:
        """A new name."""
        self.names += 1
        return f"{prefix}{self.names}"


def _mask(extent: int) -> int:
    return (1 << (extent.bit_length() - 1)) - 1
