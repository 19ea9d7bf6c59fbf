"""Random expressions of the kernels of `random_kernels`, typed alike under NumPy's rules and ours."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.numba import kernel_types as types
from tests.numba.kernel_types import COMPARISONS, DTYPES, LITERALS, NAMES, PARTS, SMALL, is_whole
from tests.numba.random_views import Place

WORD = re.compile(r"\$([klKntmscrRu])")


@dataclass
class Expressions:
    """Writes expressions.

    scope: what can be read, per type; reads, writes: elements that may be read, and those that are the thread's own,
    per type, each with a place for the index and the number of elements.
    """

    rng: Random
    scope: dict[str, list[str]]
    wide: bool
    functions: list[tuple[str, str, str]] = field(default_factory=list)  # name, types of parameters, type of the result
    reads: dict[str, list[Place]] = field(default_factory=dict)
    writes: dict[str, list[Place]] = field(default_factory=dict)
    arrays: bool = True
    shared: bool = False  # shared arrays may be read
    nesting: int = 0

    def __post_init__(self) -> None:
        self.kinds = "".join(self.scope)
        self.whole = [kind for kind in self.kinds if is_whole(kind)]
        self.real = [kind for kind in self.kinds if kind not in PARTS]
        self.pairs = types.pairs(self.kinds, self.wide)
        self.fitting = {kind: [pair for pair in self.pairs if types.joined(*pair) == kind] for kind in self.kinds}
        self.small = [kind for kind in self.reads if kind in SMALL]

    def pick(self, *options: Any) -> Any:
        """One of the options."""
        return self.rng.choice(options)

    def write(self, template: str, kind: str, depth: int) -> str:
        """A template of `kernel_types.expressions` with its $-words written out."""
        return WORD.sub(lambda match: self.word(match[1], kind, depth), template)

    def word(self, word: str, kind: str, depth: int) -> str:
        """One of a template's words."""
        if word in "rR":
            kind, word = PARTS[kind], {"r": "k", "R": "K"}[word]
        if word == "k" or word == "l" and self.rng.randrange(4):
            return self.value(kind, depth)
        if word == "u":
            return self.value("u", depth)
        if word == "K":
            return self.leaf(kind)
        if word == "l":
            return f"({self.literal(kind)})"
        if word == "c":
            return self.condition(depth)
        if word in "sm":
            return str(self.rng.randrange(1, types.bits(kind)) if word == "s" else types.bits(kind) - 1)
        return kind if word == "t" else NAMES[kind]

    def literal(self, kind: str) -> str:
        """A number without a type; in the 32-bit language an argument has one, int32 or float32."""
        text = str(self.rng.choice([x for x in LITERALS[kind] if self.arrays or x not in ("n", "r")]))
        return "uint32(n)" if text == "n" and kind == "u" and not self.wide else text

    def index(self, limit: int, *, signed: bool = True) -> str:
        """An index of an axis with as many elements, a power of two; signed: perhaps counted from the end."""
        if self.nesting >= 2 or self.rng.randrange(2):
            i, c = self.rng.choice(self.scope["i"]), self.rng.randrange(8)
            text = self.pick(str(self.rng.randrange(limit)), f"({i} + {c}) & {limit - 1}", f"({i} * {c} + 1) % {limit}")
            return str(self.pick(text, f"-{self.rng.randrange(1, limit + 1)}") if signed else text)
        self.nesting += 1
        kind = self.rng.choice(self.whole)
        text = f"{self.value(kind, 1)} {self.pick('&', '%')} LIMIT"
        text = text.replace("& LIMIT", f"& {limit - 1}").replace("% LIMIT", f"% {limit}")
        self.nesting -= 1
        signed = signed and DTYPES[kind].kind == "i"
        return str(self.pick(text, text, f"~({text})", f"({text}) - {limit}")) if signed else text

    def element(self, place: Place) -> str:
        """One of `reads` or `writes` with its indices written out."""
        text, limits = place
        extents = limits if isinstance(limits, tuple) else (limits,) * bool(limits)
        return text.format(*(self.index(extent, signed="g +" not in text) for extent in extents))

    def leaf(self, kind: str) -> str:
        """A variable, an element or a typed literal; floats are finite and not large."""
        if kind not in self.scope:
            return f"{NAMES[kind]}({self.leaf('i')})"
        form = self.rng.randrange(10)
        if form < 5:
            return str(self.rng.choice(self.scope[kind]))
        if form < 8 and self.reads.get(kind):
            return self.element(self.rng.choice(self.reads[kind]))
        if form == 8 and self.shared:
            index = self.pick("t", "(t + 1) % w", "(t * 5 + 3) % w", "0", "w - 1 - t")
            return f"s{kind}{self.pick('', '[::-1]')}[{index}]"
        return f"{NAMES[kind]}({self.literal(kind)})"

    def value(self, kind: str, depth: int) -> str:
        """An expression of a type; a float can be infinite or no number."""
        if depth <= 0 or kind not in self.scope:
            return self.leaf(kind)
        form = self.rng.randrange(18)
        if form == 0 and (fitting := [f for f in self.functions if f[2] == kind]):
            name, parameters, _ = self.rng.choice(fitting)
            return f"{name}({', '.join(self.finite(p, depth - 1) for p in parameters)})"
        if form < 4:
            return self.write(self.rng.choice(types.CHOICES if kind in PARTS else types.ORDERED), kind, depth - 1)
        if form < 8:
            return self.converted(kind, depth - 1)
        if form == 8 and kind in types.VECTORS:
            n = self.rng.randrange(2, 5)
            parts = ", ".join(self.value(kind, depth - 1 - j) for j in range(n))
            return f"cuda.{NAMES[kind]}x{n}({parts}).{'xyzw'[self.rng.randrange(n)]}"
        if form == 9 and kind in types.COUNTS:
            return self.write(self.rng.choice(types.COUNTS[kind]), kind, depth - 1)
        return self.write(self.rng.choice(types.expressions(kind)), kind, depth - 1)

    def finite(self, kind: str, depth: int) -> str:
        """An expression that is neither infinite nor no number."""
        return self.value(kind, depth) if is_whole(kind) else self.leaf(kind)

    def converted(self, kind: str, depth: int) -> str:
        """An expression of a type, made of numbers of others."""
        form = self.rng.randrange(5)
        if form == 0 and self.fitting[kind]:
            return self.joined(*self.rng.choice(self.fitting[kind]), depth)
        if form == 1 and (whole := [p for p in self.pairs if is_whole(p[0]) and is_whole(types.joined(*p))]):
            pair = self.rng.choice(whole)
            text = self.joined(*pair, depth)
            return f"{NAMES[kind]}({self.pick(text, f'min({self.leaf(pair[0])}, {self.leaf(pair[1])})')})"
        if form == 2 and self.small:
            small = self.rng.choice(self.small)
            element = self.element(self.rng.choice(self.reads[small]))
            if types.beside(small, kind) and self.rng.randrange(2):
                return f"({element} {self.pick('+', '*', '-')} {self.value(kind, depth)})"
            return f"{NAMES[kind]}({element})"
        if form == 3 and kind == "d" and self.wide:
            return (
                f"({self.value(self.rng.choice(self.whole), depth)} / ({self.leaf(self.rng.choice(self.whole))} | 1))"
            )
        return self.cast(kind, self.rng.choice(self.kinds), depth)

    def cast(self, kind: str, other: str, depth: int) -> str:
        """A number of a type as one of another."""
        name = NAMES[kind]
        if other == kind:
            return f"{name}({self.condition(depth)})"
        if other in PARTS and kind not in PARTS:
            part = f".{self.pick('real', 'imag')}"
            if PARTS[other] == kind:
                return self.value(other, depth) + part
            inner = self.leaf(other) + part
        elif is_whole(kind) and not is_whole(other):
            inner = self.leaf(other)
        else:
            return f"{name}({self.value(other, depth)})"
        if DTYPES[kind].kind == "u":
            inner = f"abs({inner})"
        rounded = self.pick("{}", "math.floor({})", "math.ceil({})", "round({})")
        return f"{name}({rounded.format(inner) if is_whole(kind) else inner})"

    def joined(self, a: str, b: str, depth: int) -> str:
        """An operation on numbers of two types."""
        x, y = self.value(a, depth), self.value(b, depth)
        kind = types.joined(a, b)
        if is_whole(kind):
            return str(self.pick(*(f"({x} {op} {y})" for op in "+-*&|^"), f"({x} // ({y} | 1))", f"({x} % ({y} | 1))"))
        return f"({x} {self.pick('+', '-', '*')} {y})" if kind in PARTS else f"({x} {self.pick(*'+-*/')} {y})"

    def condition(self, depth: int) -> str:
        """Something true or false."""
        form = self.rng.randrange(12 if depth > 0 else 4)
        kind, compare, depth = self.rng.choice(self.real), self.rng.choice(COMPARISONS), depth - 1
        if form < 4 or not self.arrays and form < 6:
            text = f"{self.value(kind, depth)} {compare} {self.word('l', kind, depth)}"
        elif form < 6:
            pairs = [pair for pair in self.pairs if not {*pair} & {*PARTS}]
            a, b = self.rng.choice(pairs) if pairs else (kind, kind)
            text = f"{self.value(a, depth)} {compare} {self.value(b, depth)}"
        elif form == 6:
            a, b, c = (self.leaf(self.rng.choice(self.whole)) for _ in range(3))
            text = self.pick(f"{a} {compare} {b} <= {c}", f"{a} < {b} {compare} {c}")
        elif form == 7:
            planes = [kind for kind in self.kinds if kind in PARTS]
            kind = self.rng.choice(planes) if planes else kind
            text = f"{self.value(kind, depth)} {self.pick('==', '!=')} {self.leaf(kind)}"
        elif form == 8:
            floats = [kind for kind in self.real if not is_whole(kind)]
            test = f"math.{self.pick('isnan', 'isinf', 'isfinite')}"
            text = f"{test}({self.value(self.rng.choice(floats), depth)})" if floats else f"{self.leaf('i')} & 4"
        elif form == 9 and "b" in self.reads:
            text = f"{self.pick('', 'not ')}{self.element(self.rng.choice(self.reads['b']))}"
        else:
            a, b = self.condition(depth), self.condition(depth)
            text = self.pick(f"not {a}", f"{a} and {b}", f"{a} or {b}", f"{a} and not {b}")
        return f"({text})"
