"""Random kernels for comparing the compiler and the machine with Numba's simulator, bit for bit.

`generate(rng)` writes a kernel that both must agree on: every operation's operands are typed alike under NumPy's rules
and ours, indices are in range, divisors are not zero, barriers are uniform, and no two threads touch a word without a
barrier between, except by atomics whose order does not matter. `rng` is a `random.Random` or one of hypothesis.
`smaller` removes what a failure does not need. `differential.py` runs the kernels.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

INPUTS = 64  # elements of each input array, a power of two
OUTPUTS = 4  # words per thread of each output array
VARIABLES = 3  # of each type
TYPES = {"i": "int32", "u": "uint32", "f": "float32"}
HEADER = """\
import math

import numpy as np
from numba import cuda, float32, int16, int32, uint32

WEIGHTS = np.array([3, -1, 4, 1, -5, 9, 2, -6], np.int32)
SCALES = np.array([0.5, -1.25, 3, 0.125], np.float32)


@cuda.jit(device=True)
def tame(x):
    if -8192.0 < x and x < 8192.0:
        return x
    return float32(1.5)
"""
BARRIER = "cuda.syncthreads()"
WORD = re.compile(r"\$(l[iuf]|[iufIUFcs])")
LITERALS: dict[str, tuple[Any, ...]] = {
    "i": (0, 1, 2, 3, 5, 8, 31, 100, -1, -7, 65535, 2**31 - 1, -(2**31) + 1, "3 - 5", "2 * 6"),
    "u": (0, 1, 2, 3, 7, 31, 255, 1000, 2**31, 0x9E3779B9, 2**32 - 1),
    "f": (0.0, 0.5, 1.0, -1.5, 2.0, 0.125, 3.75, -0.25, 100.0, 7),
}
# Which zero is the smaller one, Python and the hardware see differently: + 0.0 makes both positive.
ANY_TYPE = ("($k if $c else $k)", "(min($K, $K) + 0)", "(max($K, $K) + 0)", "cuda.selp($c, $K, $K)")
EXPRESSIONS = {
    "i": (
        *(
            "($li + $i)",
            "($i - $li)",
            "($li * $i)",
            "($i & $li)",
            "($i | $li)",
            "($li ^ $i)",
            "($i * $i + $i)",
            "(-$i)",
            "(~$i)",
        ),
        *(
            "($i // ($i | 1))",
            "($i % ($i | 1))",
            "($i // 3)",
            "($i // 16)",
            "($i // -4)",
            "($i % 10)",
            "($i % 32)",
            "($i % -5)",
        ),
        *(
            "($i << ($i & 31))",
            "($i >> ($i & 31))",
            "($i << $s)",
            "($i >> $s)",
            "($i >> $s << 3)",
            "abs($i)",
            "($I ** 2)",
        ),
        *(
            "int32($F)",
            "int32($u)",
            "int32($i + $u)",
            "int32($u - $i)",
            "int32($i * $u)",
            "int32($i ^ $u)",
            "int32($c)",
        ),
        *(
            "int32(cuda.popc($u))",
            "int32(cuda.clz($u))",
            "int32(cuda.ffs($u))",
            "int32(math.floor($F))",
            "int32($u >> 5)",
        ),
    ),
    "u": (
        *("($lu + $u)", "($u - $lu)", "($lu - $u)", "($u * $lu)", "($u & $lu)", "($lu | $u)", "($u ^ $lu)", "(~$u)"),
        *("($u // ($u | uint32(1)))", "($u % ($u | uint32(1)))", "($u // 10)", "($u // 4096)", "($u % 7)", "($u % 64)"),
        *(
            "($u << ($u & 31))",
            "($u >> ($u & 31))",
            "($u << $s)",
            "($u >> $s)",
            "(($u << $s) | ($u >> $s))",
            "uint32($i)",
        ),
        *(
            "uint32($i + $u)",
            "uint32($u - $i)",
            "uint32($i * $u)",
            "uint32($i & $u)",
            "uint32($u | $i)",
            "uint32(abs($F))",
        ),
        *("uint32(cuda.brev($u))", "uint32($I // ($u | 1))", "uint32($I % ($u | 1))"),
    ),
    "f": (
        *(
            "($f + $lf)",
            "($lf - $f)",
            "($f - $lf)",
            "($f * $lf)",
            "($f * $f + $f)",
            "($f * $lf - $f)",
            "($f - $f * $f)",
        ),
        *("($f / ($f + 0.5))", "($f / $F)", "($lf / $F)", "($f / 3.0)", "($f / 0.125)", "(-$f)", "abs($f)", "tame($f)"),
        *(
            "float32($i)",
            "float32($u)",
            "float32(math.sqrt(abs($F)))",
            "float32(math.floor($F))",
            "float32(math.ceil($F))",
        ),
        *("(math.fabs($f) * $f)", "float32($c)"),
    ),
}
CONDITIONS = (
    *("$i < $li", "$u < $lu", "$f < $lf", "$i < $u", "$u < $i", "not $c", "$c and $c", "$c or $c", "$I < $I <= $I"),
    *("$I & 4", "$F < 0.0 or $c", "$c and not $c", "$i < 0 and $u < $u"),
)


@dataclass(frozen=True)
class Block:
    """A statement with a body; `header` ends with a colon."""

    header: str
    body: list[Any]


Statement = str | Block


@dataclass(frozen=True)
class Case:
    """A kernel, `kernel` in its text, and how to launch it."""

    functions: str
    prologue: list[Statement]
    body: list[Statement]
    grid: int
    block: int
    seed: int

    @property
    def text(self) -> str:
        """The kernel file."""
        body = render([*self.prologue, *self.body], 1)
        parameters = "fi, ii, ui, bi, fo, io, uo, bo, acc, n"
        return f"{HEADER}\n{self.functions}\n@cuda.jit\ndef kernel({parameters}):\n{body}"

    def arguments(self) -> list[Any]:
        """New arguments, always the same."""
        data = np.random.default_rng(self.seed)
        threads = self.grid * self.block
        return [
            np.where(
                data.integers(0, 2, INPUTS), data.integers(-512, 512, INPUTS) / 8, data.normal(0, 9, INPUTS)
            ).astype("f4"),
            data.integers(-(2**31), 2**31, INPUTS).astype(np.int32) >> data.integers(0, 31, INPUTS).astype(np.int32),
            data.integers(0, 2**32, INPUTS).astype(np.uint32) >> data.integers(0, 31, INPUTS).astype(np.uint32),
            data.integers(0, 256, INPUTS).astype(np.uint8),
            np.zeros((threads, OUTPUTS), np.float32),
            np.zeros((threads, OUTPUTS), np.int32),
            np.zeros(threads * OUTPUTS, np.uint32),
            np.zeros(threads, np.int16),
            np.zeros(4, np.int32),
            int(data.integers(1, 7)),
        ]


def render(body: list[Statement], depth: int) -> str:
    """Statements as text."""
    lines = []
    for statement in body:
        if isinstance(statement, str):
            lines.append("    " * depth + statement + "\n")
        else:
            lines.append("    " * depth + statement.header + "\n" + render(statement.body or ["pass"], depth + 1))
    return "".join(lines)


@dataclass
class Writer:
    """Writes expressions and statements. scope: what can be read, per type; storage: what a statement may store to."""

    rng: Random
    scope: dict[str, list[str]]
    functions: list[tuple[str, str, str]] = field(default_factory=list)  # name, types of parameters, type of the result
    arrays: bool = True
    shared: bool = False  # shared arrays may be read
    outputs: bool = True
    counting: bool = True  # there are counters that live from the first to the last statement
    anew: bool = False  # every phase defines all shared arrays anew
    depth: int = 2  # of expressions
    loops: int = 0
    names: int = 0
    nesting: int = 0

    # -- expressions

    def pick(self, *options: Any) -> Any:
        """One of the options."""
        return self.rng.choice(options)

    def write(self, template: str, depth: int) -> str:
        """A template with its $-words written out."""
        return WORD.sub(lambda match: self.word(match[1], depth), template)

    def word(self, word: str, depth: int) -> str:
        """i, u, f: an expression of the type; I, U, F: a leaf; li, lu, lf: perhaps a literal; c: a condition."""
        if word in TYPES:
            return self.value(word, depth)
        if word.lower() in TYPES:
            return self.leaf(word.lower())
        if word == "c":
            return self.condition(depth)
        if word == "s":
            return str(self.rng.randrange(1, 32))
        kind = word[1]
        return f"({self.rng.choice(LITERALS[kind])})" if self.rng.randrange(4) == 0 else self.value(kind, depth)

    def index(self, limit: int) -> str:
        """An index below a power of two."""
        if self.nesting >= 2 or self.rng.randrange(2):
            i, c = self.rng.choice(self.scope["i"]), self.rng.randrange(8)
            return str(self.pick(self.rng.randrange(limit), f"({i} + {c}) & {limit - 1}", f"({i} * {c} + 1) % {limit}"))
        self.nesting += 1
        text = self.value(self.pick("i", "u"), 1)
        self.nesting -= 1
        return f"{text} & {limit - 1}"

    def leaf(self, kind: str) -> str:
        """A variable, an element or a typed literal; floats are finite and not large."""
        form = self.rng.randrange(10)
        if form < 5 or not self.arrays and form < 9:
            return str(self.rng.choice(self.scope[kind]))
        if form < 7:
            return f"{kind}i[{self.index(INPUTS)}]"
        if form == 7 and kind == "i":
            limit, array = self.pick((INPUTS, "int32(bi[{}])"), (8, "weights[{}]"), (4, "li[{}]"), (4, "io[g, {}]"))
            return str(array.format(self.index(limit) if self.outputs or "io" not in array else 0))
        if form == 7 and kind == "f":
            return f"{self.pick('scales', 'lf', 'lf')}[{self.pick(self.rng.randrange(4), self.index(4))}]"
        if form == 8 and self.shared:
            return f"s{kind}[{self.pick('t', '(t + 1) % w', '(t * 5 + 3) % w', '0', 'w - 1 - t')}]"
        return f"{TYPES[kind]}({self.rng.choice(LITERALS[kind])})"

    def value(self, kind: str, depth: int) -> str:
        """An expression of a type; a float can be infinite or no number."""
        if depth <= 0:
            return self.leaf(kind)
        form = self.rng.randrange(14)
        if form == 0 and (fitting := [f for f in self.functions if f[2] == kind]):
            name, parameters, _ = self.rng.choice(fitting)
            return f"{name}({', '.join(self.leaf(p) if p == 'f' else self.value(p, depth - 1) for p in parameters)})"
        if form < 4:
            return self.write(
                self.rng.choice(ANY_TYPE).replace("$k", f"${kind}").replace("$K", f"${kind.upper()}"), depth - 1
            )
        return self.write(self.rng.choice(EXPRESSIONS[kind]), depth - 1)

    def condition(self, depth: int) -> str:
        """Something true or false."""
        template = self.rng.choice(CONDITIONS if depth > 0 else CONDITIONS[:3])
        compare = self.pick("<", "<=", ">", ">=", "==", "!=")
        return "(" + self.write(template.replace("<", compare, 1), depth - 1) + ")"

    # -- statements

    def stored(self, kind: str, depth: int) -> str:
        """An expression that may go into a variable: floats stay finite and not large."""
        text = self.value(kind, depth)
        return f"tame({text})" if kind == "f" else text

    def assignment(self) -> Statement:
        """To a variable."""
        kind = self.pick("i", "u", "f")
        names = self.scope[kind][:VARIABLES]
        name = self.rng.choice(names)
        form = self.rng.randrange(5)
        if form == 0 and kind != "f":
            return f"{name} {self.pick('+=', '-=', '*=', '^=', '|=', '&=')} {self.value(kind, 1)}"
        if form == 1:
            other = self.rng.choice([n for n in names if n != name])
            return f"{name}, {other} = {other}, {self.stored(kind, 1)}"
        return f"{name} = {self.stored(kind, self.depth)}"

    def store(self) -> Statement:
        """To an element that is the thread's own."""
        c = self.rng.randrange(OUTPUTS)
        form = self.rng.randrange(8)
        if form == 0:
            return f"li[{self.index(4)}] = {self.value('i', 2)}"
        if form == 1:
            return f"lf[{self.pick(c, self.index(4))}] = {self.stored('f', 2)}"
        if not self.outputs:
            return self.assignment()
        if form == 2:
            return f"fo[g, {c}] = {self.value('f', self.depth)}"
        if form == 3:
            return f"io[g, {self.pick(c, self.index(4))}] {self.pick('=', '=', '+=', '^=')} {self.value('i', 2)}"
        if form == 4:
            return f"uo[{OUTPUTS} * g + {c}] = {self.value('u', self.depth)}"
        if form == 5:
            return f"bo[g] = int16({self.value('i', 2)})"
        if form == 6:
            return f"cuda.atomic.add(acc, {c % 2}, {self.value('i', 1)})"
        return f"cuda.atomic.max(acc, {2 + c % 2}, {self.value('i', 1)})"

    def statement(self, depth: int) -> list[Statement]:
        """One statement, or a few that belong together."""
        form = self.rng.randrange(12)
        if depth > 0 and form < 3:
            return self.branch(depth - 1)
        if depth > 0 and form == 3 and self.loops < 2:
            return self.for_loop(depth - 1)
        if depth > 0 and form == 4 and self.loops < 2:
            return self.while_loop(depth - 1)
        return [self.assignment() if form < 9 else self.store()]

    def body(self, depth: int, most: int = 4) -> list[Statement]:
        """A few statements."""
        return [s for _ in range(self.rng.randrange(1, most + self.depth - 1)) for s in self.statement(depth)]

    def branch(self, depth: int) -> list[Statement]:
        """if, sometimes with elif and else."""
        blocks: list[Statement] = [Block(f"if {self.condition(2)}:", self.body(depth))]
        if self.rng.randrange(4) == 0:
            blocks.append(Block(f"elif {self.condition(1)}:", self.body(depth)))
        if self.rng.randrange(2):
            blocks.append(Block("else:", self.body(depth)))
        return [Block("if True:", blocks)] if len(blocks) > 1 else blocks

    def fresh(self, prefix: str) -> str:
        """A new name."""
        self.names += 1
        return f"{prefix}{self.names}"

    def in_loop(self, counter: str, depth: int) -> list[Statement]:
        """The body of a loop, in which the counter can be read."""
        self.loops += 1
        self.scope["i"].append(f"int32({counter})")
        body = self.body(depth)
        self.scope["i"].pop()
        self.loops -= 1
        return body

    def leave(self) -> list[Statement]:
        """Sometimes a break or continue."""
        if self.rng.randrange(3):
            return []
        return [Block(f"if {self.condition(1)}:", [self.pick("break", "continue")])]

    def for_loop(self, depth: int) -> list[Statement]:
        """A loop over a range, known or not."""
        k = self.fresh("k")
        some = f"({self.value('i', 1)} & 3)"
        known = self.pick(str(self.rng.randrange(6)), "5, -1, -2", "2, 5", "0")
        unknown = self.pick("n", "0, n, 2", "t % 4, 9, 3", some, f"{some}, 5", f"1, {some} + 2", f"{some}, -3, -1")
        bounds = self.pick(known, unknown, unknown)
        body = self.in_loop(k, depth)
        return [Block(f"for {k} in range({bounds}):", [*self.leave(), *body, *self.leave()])]

    def while_loop(self, depth: int) -> list[Statement]:
        """A loop with a counter that ends it."""
        k = self.fresh("k")
        limit = self.pick("4", "n", f"({self.value('i', 1)} & 3)")
        test = self.pick(f"{k} < {limit}", f"{k} < {limit} and {self.condition(1)}")
        body = self.in_loop(k, depth)
        return [f"{k} = int32(0)", Block(f"while {test}:", [f"{k} += 1", *self.leave(), *body])]

    def phase(self, depth: int) -> list[Statement]:
        """Every thread writes its own words of shared memory; after a barrier all may be read."""
        kinds = [kind for kind in "iuf" if self.anew or self.rng.randrange(2)]
        writes: list[Statement] = [f"s{kind}[t] = {self.stored(kind, 2)}" for kind in kinds]
        if self.rng.randrange(3) == 0:
            writes.append(Block(f"if {self.condition(1)}:", [f"si[t] = {self.value('i', 2)}"]))
        if self.counting and self.rng.randrange(3) == 0:
            writes.append(f"cuda.atomic.add(count, {self.index(4)}, {self.value('i', 1)})")
        self.shared = True
        reads = self.body(depth, 5)
        self.shared = False
        return [*writes, BARRIER, *reads, BARRIER]

    def kernel(self) -> list[Statement]:
        """The statements of a kernel behind its prologue."""
        body: list[Statement] = []
        for _ in range(self.rng.randrange(1, self.depth + 1)):
            if self.rng.randrange(4) == 0:
                k = self.fresh("k")
                self.loops += 1
                inner = self.phase(1)
                self.loops -= 1
                body.append(Block(f"for {k} in range({self.pick('3', 'n')}):", inner))
            elif self.rng.randrange(3):
                body += self.phase(2)
            else:
                body += self.body(2)
        return body


def device_function(rng: Random, name: str, parameters: str, result: str) -> str:
    """A function of scalars: perhaps an early return, perhaps a loop."""
    scope = {kind: [f"{kind}{j}" for j in range(VARIABLES)] for kind in "iuf"}
    writer = Writer(rng, scope, arrays=False, outputs=False)
    body: list[Statement] = [f"{kind}{j} = {TYPES[kind]}({j + 1})" for kind in "iuf" for j in range(VARIABLES)]
    body += [f"{kind}{j} = p{j}" for j, kind in enumerate(parameters)]
    if rng.randrange(2):
        body.append(Block(f"if {writer.condition(1)}:", [f"return {writer.stored(result, 1)}"]))
    if rng.randrange(3) == 0:
        body.append(Block(f"for k in range({rng.randrange(1, 4)}):", [writer.assignment(), writer.assignment()]))
    body.append(writer.assignment())
    body.append(f"return {writer.stored(result, 2)}")
    names = ", ".join(f"p{j}" for j in range(len(parameters)))
    return f"\n@cuda.jit(device=True)\ndef {name}({names}):\n{render(body, 1)}"


def generate(rng: Random, depth: int = 2) -> Case:
    """A random kernel; depth: of its expressions, and a measure of its size."""
    grid, block = rng.choice([1, 1, 2, 3]), rng.choice([32, 32, 33, 48, 64, 16])
    shapes = [("iu", "i"), ("ff", "f"), ("ui", "u"), ("if", "f")]
    functions = [(f"d{j}", *rng.choice(shapes)) for j in range(rng.randrange(3))]
    text = "\n".join(device_function(rng, *function) for function in functions) + "\n"
    prologue: list[Statement] = [
        "t = int32(cuda.threadIdx.x)",
        "g = int32(cuda.grid(1))",
        "w = int32(cuda.blockDim.x)",
        *(f"s{kind} = cuda.shared.array({block}, {TYPES[kind]})" for kind in "iuf"),
        "count = cuda.shared.array(4, int32)",
        "li = cuda.local.array(4, int32)",
        "lf = cuda.local.array(4, float32)",
        "weights = cuda.const.array_like(WEIGHTS)",
        "scales = cuda.const.array_like(SCALES)",
        Block("for j in range(4):", ["li[j] = g - j", "lf[j] = float32(t) / (j + 1)"]),
        Block("if t < 4:", ["count[t] = 0"]),
        *(f"s{kind}[t] = {TYPES[kind]}(t)" for kind in "iuf"),
        *(f"i{j} = g * {j + 2}" for j in range(VARIABLES)),
        *(f"u{j} = ui[(t + {j}) & {INPUTS - 1}]" for j in range(VARIABLES)),
        *(f"f{j} = fi[(g + {j}) & {INPUTS - 1}]" for j in range(VARIABLES)),
        BARRIER,
    ]
    scope = {kind: [f"{kind}{j}" for j in range(VARIABLES)] + ["t", "g"] * (kind == "i") for kind in "iuf"}
    counting, anew = rng.randrange(2) == 0, rng.randrange(2) == 0
    writer = Writer(rng, scope, functions, counting=counting, anew=anew, depth=depth)
    body = writer.kernel()
    body += [f"fo[g, {j}] = f{j}" for j in range(VARIABLES)]
    body += [f"io[g, {j}] += i{j}" for j in range(VARIABLES)] + [
        f"uo[{OUTPUTS} * g + {j}] = u{j}" for j in range(VARIABLES)
    ]
    if counting:
        body.append(Block("if t < 4:", ["cuda.atomic.add(acc, 0, count[t])"]))
    return Case(text, prologue, body, grid, block, rng.randrange(2**31))


def smaller(case: Case, fails: Callable[[Case], bool]) -> Case:
    """The case with as many statements removed as possible while it still fails; barriers stay."""
    progress = True
    while progress:
        progress = False
        for body in _reductions(case.body):
            candidate = Case(case.functions, case.prologue, body, case.grid, case.block, case.seed)
            if fails(candidate):
                case, progress = candidate, True
                break
    return case


def _reductions(body: list[Statement]) -> list[list[Statement]]:
    """Every body with one statement removed, or one block replaced by what is in it."""
    found = []
    for i in reversed(range(len(body))):
        before, statement, after = body[:i], body[i], body[i + 1 :]
        if statement == BARRIER:
            continue
        text = render([statement], 0)
        if BARRIER not in text:
            found.append(before + after)
        if isinstance(statement, Block):
            if statement.header == "if True:" or (statement.header.startswith("if ") and "break" not in text):
                if not any(isinstance(s, Block) and s.header[:2] == "el" for s in statement.body):
                    found.append(before + statement.body + after)
            found += [
                [*before, Block(statement.header, inner), *after] for inner in _reductions(statement.body) if inner
            ]
    return found
