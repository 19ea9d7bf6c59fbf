"""Random kernels for comparing the compiler and the machine with Numba's simulator, bit for bit.

`generate(rng)` writes a kernel that both must agree on: every operation's operands are typed alike under NumPy's rules
and ours, indices are in range, divisors are not zero, barriers are uniform, and no two threads touch a word without a
barrier between, except by atomics whose order does not matter. `rng` is a `random.Random` or one of hypothesis.
`kernel_types.py` has the types, `random_expressions.py` the expressions; `differential.py` runs the kernels, and
`random_shrink.py` removes what a failure does not need.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from tests.numba import kernel_types as types
from tests.numba.kernel_types import CASTS, DTYPES, NAMES, PARTS, SMALL, is_whole
from tests.numba.random_expressions import Expressions
from tests.numba.random_layouts import laid_out
from tests.numba.random_views import INPUTS, OUTPUTS, ROWS, Place, views

VARIABLES = 3  # of each type
TOTALS = 8  # elements of each array of totals
PLACES = {"rows": "[g, {}]", "columns": "[{}, g]", "flat": f"[{OUTPUTS} * g + int32({{}})]", "fortran": "[g, {}]"}
"""How an output array lies, and how a thread names one of its own elements."""
BARRIER = "cuda.syncthreads()"


@dataclass(frozen=True)
class Block:
    """A statement with a body; `header` ends with a colon."""

    header: str
    body: list[Any]


Statement = str | Block


@dataclass(frozen=True)
class Case:
    """A kernel, `kernel` in its text, and how to launch it.

    kinds: the letters of the types of its variables; small: of its elements of 8 and 16 bits; fields: of its records;
    places: how the output array of each type lies, of `PLACES`; views: whether all arrays are views of larger ones.
    """

    functions: str
    prologue: list[Statement]
    body: list[Statement]
    grid: int
    block: int
    seed: int
    kinds: str
    small: str
    fields: str
    places: dict[str, str]
    views: bool = False

    @property
    def elements(self) -> str:
        """The types of its arrays."""
        return self.kinds + self.small

    @property
    def totals(self) -> str:
        """The types of its totals, which atomics make."""
        return "".join(kind for kind in self.kinds if kind in types.ATOMIC)

    @property
    def parameters(self) -> list[str]:
        """Their names, in the order of `arguments`."""
        names = [f"{name}{kind}" for name in "ao" for kind in self.elements] + [f"m{kind}" for kind in self.kinds]
        names += [f"total_{kind}" for kind in self.totals] + [f"p{kind}" for kind in self.kinds]
        return [*names, "ri", "ro", "n", "r"]

    @property
    def text(self) -> str:
        """The kernel file."""
        body = render([*self.prologue, *self.body], 1)
        head = f"{types.header(self.kinds)}\n{self.functions}\n@cuda.jit\n"
        return f"{head}def kernel({', '.join(self.parameters)}):\n{body}"

    def arguments(self) -> list[Any]:
        """New arguments, always the same."""
        data = np.random.default_rng(self.seed)
        threads = self.grid * self.block
        record = np.dtype([(f"x{j}", DTYPES[kind]) for j, kind in enumerate(self.fields)], align=True)
        records = np.zeros(INPUTS, record)
        for j, kind in enumerate(self.fields):
            records[f"x{j}"] = types.numbers(data, kind, INPUTS)
        shapes = {"columns": (OUTPUTS, threads), "flat": (OUTPUTS * threads,)}
        outputs = [
            np.zeros(shapes.get(place, (threads, OUTPUTS)), DTYPES[kind], order="F" if place == "fortran" else "C")
            for kind, place in self.places.items()
        ]
        values = [
            *(types.numbers(data, kind, INPUTS) for kind in self.elements),
            *outputs,
            *(types.numbers(data, kind, math.prod(ROWS)).reshape(ROWS) for kind in self.kinds),
            *(np.zeros(TOTALS, DTYPES[kind]) for kind in self.totals),
            *(types.numbers(data, kind, 1)[0] for kind in self.kinds),
            records,
            np.zeros(threads, record),
            int(data.integers(1, 7)),
            float(data.integers(-32, 32) / 8),
        ]
        if not self.views:
            return values
        laid = np.random.default_rng([self.seed, 1])
        return [laid_out(laid, value) if isinstance(value, np.ndarray) else value for value in values]


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
class Writer(Expressions):
    """Writes statements."""

    count: str = ""  # the type of counters that live from the first to the last statement, if there are any
    anew: bool = False  # every phase defines all shared arrays anew
    depth: int = 2  # of expressions
    loops: int = 0
    names: int = 0

    def stored(self, kind: str, depth: int) -> str:
        """An expression that may go into a variable: floats stay finite and not large."""
        text = self.value(kind, depth)
        return text if is_whole(kind) else f"tame_{kind}({text})"

    def assignment(self) -> Statement:
        """To a variable."""
        kind = self.rng.choice(self.kinds)
        names = self.scope[kind][:VARIABLES]
        name = self.rng.choice(names)
        form = self.rng.randrange(6)
        if form == 0 and is_whole(kind):
            if self.rng.randrange(4) == 0:
                return f"{name} {self.pick('<<=', '>>=')} {self.word('s', kind, 0)}"
            others = [kind, kind, *(b for a, b in self.fitting[kind] if a == kind)]
            return f"{name} {self.pick('+=', '-=', '*=', '^=', '|=', '&=')} {self.value(self.rng.choice(others), 1)}"
        if form == 1:
            other = self.rng.choice([n for n in names if n != name])
            return f"{name}, {other} = {other}, {self.stored(kind, 1)}"
        if form == 2 and self.writes and kind in types.ATOMIC and is_whole(kind):
            return self.exchange(kind, name)
        return f"{name} = {self.stored(kind, self.depth)}"

    def exchange(self, kind: str, name: str) -> Statement:
        """An atomic operation on an element of the thread's own."""
        text, limit = self.writes[kind][0]
        array, index = text.format(self.index(limit, signed="g +" not in text))[:-1].split("[", 1)
        place = f"{array}, ({index})"
        x = self.value(kind, 1)
        names = ["exch", "add", "max", "min", *(["and_", "or_", "xor"] if kind in "iuqw" else [])]
        if self.rng.randrange(3) == 0:
            return f"{name} = cuda.atomic.cas({place}, {self.pick(self.leaf(kind), f'{NAMES[kind]}(0)')}, {x})"
        return f"{name} = cuda.atomic.{self.rng.choice(names)}({place}, {x})"

    def total(self, kind: str) -> Statement:
        """An atomic operation whose order among the threads does not matter."""
        c = self.rng.randrange(2)
        if not is_whole(kind):
            short = f"{NAMES[kind]}({self.value('i', 1)} & 255) * 0.125"
            form = self.pick(
                f"add({{}}, {c}, {short})", f"max({{}}, {2 + c}, {{}} + 0)", f"min({{}}, {4 + c}, {{}} + 0)"
            )
            return f"cuda.atomic.{form.format(f'total_{kind}', self.leaf(kind))}"
        names = (("add", 0), ("sub", 0), ("max", 2), ("min", 4), ("or_", 6), ("xor", 7))
        name, first = self.rng.choice(names)
        return f"cuda.atomic.{name}(total_{kind}, {first + (c if first < 6 else 0)}, {self.value(kind, 1)})"

    def store(self) -> Statement:
        """To an element that is the thread's own, or to a total."""
        if not self.writes:
            return self.assignment()
        if self.rng.randrange(5) == 0:
            return self.total(self.rng.choice([kind for kind in self.kinds if kind in types.ATOMIC]))
        kind = self.rng.choice(list(self.writes))
        place = self.rng.choice(self.writes[kind])
        target, output = self.element(place), place[0][0] == "o"
        if kind == "b":
            return f"{target} = {self.pick(self.condition(1), self.value(self.rng.choice(self.whole), 1))}"
        if is_whole(kind):
            operation = self.pick("=", "=", "+=", "^=")
            other = self.rng.choice(self.whole)
            value = self.value(other, self.depth)
            return f"{target} {operation} {value if types.joined(kind, other) == kind else f'{NAMES[kind]}({value})'}"
        if self.rng.randrange(4) == 0:
            others = [k for k in self.kinds if k not in PARTS or kind in PARTS]
            value = self.value(self.rng.choice(others), 1)
            return f"{target} = {value if output else f'tame_{kind}({NAMES[kind]}({value}))'}"
        return f"{target} = {self.value(kind, self.depth) if output else self.stored(kind, self.depth)}"

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
        kinds = [kind for kind in self.kinds if self.anew or self.rng.randrange(2)]
        writes: list[Statement] = [f"s{kind}[t] = {self.stored(kind, 2)}" for kind in kinds]
        if self.rng.randrange(3) == 0:
            kind = self.rng.choice(self.kinds)
            writes.append(Block(f"if {self.condition(1)}:", [f"s{kind}[t] = {self.stored(kind, 2)}"]))
        if self.count and self.rng.randrange(3) == 0:
            writes.append(f"cuda.atomic.add(count, {self.index(4)}, {self.value(self.count, 1)})")
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


def device_function(rng: Random, kinds: str, wide: bool, name: str, parameters: str, result: str) -> str:
    """A function of scalars: perhaps an early return, perhaps a loop."""
    scope = {kind: [f"{kind}{j}" for j in range(VARIABLES)] for kind in kinds}
    reads = {kind: [(f"TABLE_{kind}[{{}}]", types.TABLE_LENGTH)] for kind in kinds}
    writer = Writer(rng, scope, wide, reads=reads, arrays=False)
    body: list[Statement] = [f"{kind}{j} = {NAMES[kind]}({j + 1})" for kind in kinds for j in range(VARIABLES)]
    body += [f"{kind}{j} = p{j}" for j, kind in enumerate(parameters)]
    if rng.randrange(2):
        body.append(Block(f"if {writer.condition(1)}:", [f"return {writer.stored(result, 1)}"]))
    if rng.randrange(3) == 0:
        body.append(Block(f"for k in range({rng.randrange(1, 4)}):", [writer.assignment(), writer.assignment()]))
    body.append(writer.assignment())
    body.append(f"return {writer.stored(result, 2)}")
    names = ", ".join(f"p{j}" for j in range(len(parameters)))
    return f"\n@cuda.jit(device=True)\ndef {name}({names}):\n{render(body, 1)}"


def generate(rng: Random, depth: int = 2, *, every: bool = True) -> Case:
    """A random kernel; depth: of its expressions, and a measure of its size; every: of all types, or of 32 bits."""
    some = every and rng.randrange(5)
    kinds = "i" + "".join(rng.sample(types.VALUES[1:], 3)) if some else types.NARROW
    small = "".join(rng.sample(list(SMALL), 2))
    wide = any(kind in types.WIDE for kind in kinds)
    grid, block = rng.choice([1, 1, 2, 3]), rng.choice([32, 32, 33, 48, 64, 16])
    shapes = [("".join(rng.choice(kinds) for _ in range(rng.randrange(1, 4))), rng.choice(kinds)) for _ in range(2)]
    functions = [(f"function{j}", *shape) for j, shape in enumerate(shapes[: rng.randrange(3)])]
    text = "\n".join(device_function(rng, kinds, wide, *function) for function in functions) + "\n"
    places = {kind: rng.choice(list(PLACES)) for kind in kinds + small}
    fields = "".join(rng.sample(kinds + small, 3))
    count = rng.choice(["", next(kind for kind in rng.sample(kinds, len(kinds)) if is_whole(kind))])
    parts, own, lines = views(rng, kinds, places)
    prologue: list[Statement] = [
        "t = int32(cuda.threadIdx.x)",
        "g = int32(cuda.grid(1))",
        "w = int32(cuda.blockDim.x)",
        *(f"s{kind} = cuda.shared.array({block}, {NAMES[kind]})" for kind in kinds),
        *(f"l{kind} = cuda.local.array({OUTPUTS}, {NAMES[kind]})" for kind in kinds + small),
        *(f"t{kind} = cuda.const.array_like(TABLE_{kind})" for kind in kinds),
        Block(f"for j in range({OUTPUTS}):", [f"l{kind}[j] = {CASTS[kind]}(g - j)" for kind in kinds + small]),
        *([f"count = cuda.shared.array(4, {NAMES[count]})", Block("if t < 4:", ["count[t] = 0"])] if count else []),
        *(f"s{kind}[t] = {NAMES[kind]}(t)" for kind in kinds),
        *(f"{kind}{j} = a{kind}[(g + {5 * j}) & {INPUTS - 1}]" for kind in kinds for j in range(VARIABLES)),
        *lines,
        BARRIER,
    ]
    scope = {kind: [f"{kind}{j}" for j in range(VARIABLES)] + ["t", "g"] * (kind == "i") for kind in kinds}
    for kind in kinds:
        scope[kind].append(f"p{kind}")
    reads: dict[str, list[Place]] = {}
    writes: dict[str, list[Place]] = {}
    for kind in kinds + small:
        records = [(f"x{j}", f"['x{j}']") for j, field_kind in enumerate(fields) if field_kind == kind]
        output = f"o{kind}{PLACES[places[kind]]}"
        writes[kind] = [(output, OUTPUTS), (f"l{kind}[{{}}]", OUTPUTS)]
        writes[kind] += [(f"ro[g]{rng.choice(['.' + name, item])}", 0) for name, item in records]
        reads[kind] = [(f"a{kind}[{{}}]", INPUTS), (f"l{kind}[{{}}]", OUTPUTS)]
        reads[kind] += [(f"ri[{{}}]{rng.choice(['.' + name, item])}", INPUTS) for name, item in records]
        reads[kind] += [(output, OUTPUTS)] * is_whole(kind)
        if kind in kinds:
            reads[kind] += [(f"{name}{kind}[{{}}]", types.TABLE_LENGTH) for name in ("TABLE_", "t")]
            reads[kind] += parts[kind]
            writes[kind].append(own[kind])
    anew = rng.randrange(2) == 0
    writer = Writer(rng, scope, wide, functions, reads, writes, count=count, anew=anew, depth=depth)
    body = writer.kernel()
    for kind in kinds:
        operation = "+=" if is_whole(kind) else "="
        body += [f"{f'o{kind}{PLACES[places[kind]]}'.format(j)} {operation} {kind}{j}" for j in range(VARIABLES)]
    if count:
        body.append(Block("if t < 4:", [f"cuda.atomic.add(total_{count}, 0, count[t])"]))
    return Case(
        text, prologue, body, grid, block, rng.randrange(2**31), kinds, small, fields, places, rng.randrange(3) > 0
    )
