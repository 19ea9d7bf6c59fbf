"""Statements of the random kernels of `python_kernels`, and whole kernels."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.numba import python_parts
from tests.numba.python_kernels import COLUMNS, HEADER, NAMES, SMALL, Case, Features, Writer, parameters
from tests.numba.python_numbers import KINDS

NEAR_THE_ENDS = (
    *("2147483647 - {a}, 2147483647, {s}", "-2147483648 + {a}, -2147483648, -{s}", "2147483640, 2147483647, {s}"),
    *("0, 2147483647, 1073741823 + {a}", "n, 2147483647, 1073741824", "-n, -2147483648, -1073741824"),
    *("uint32(4294967290), uint32(4294967295), {s}", "uint32(n), uint32(4294967295), uint32(2147483648)"),
)
RANGES = (
    "{a}",
    "n",
    "0, n, 2",
    "{a}, 9, 3",
    "5, -1, -2",
    "n, {a}",
    "n, -3, -1",
    "0",
    "i1 & 3",
    "i0 & 3, 5",
    "1, u0 & 3",
)


class Body(Writer):
    """Writes statements."""

    def block(self, header: str, *bodies: Callable[[], None]) -> None:
        """A header with what stands under it."""
        self.line(header)
        self.indent += 1
        before = len(self.lines)
        for body in bodies:
            body()
        if len(self.lines) == before:
            self.line("pass")
        self.indent -= 1

    def statements(self, depth: int, most: int = 4) -> None:
        """A few statements."""
        for _ in range(self.rng.randrange(1, most + 1)):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        """One statement, or a few that belong together."""
        forms: list[tuple[int, Callable[[], None]]] = [(8, self.assignment)]
        if self.arrays:
            forms += [(6, self.store), (4, self.alias), (2, self.tuples)]
            if self.features.slices:
                forms += [(4, lambda: python_parts.read(self)), (2, lambda: python_parts.store(self))]
        if depth > 0:
            forms += [(2, self.changing), (4, lambda: self.branch(depth - 1))]
            if self.loops < 2:
                forms += [(3, lambda: self.counted(depth - 1)), (2, lambda: self.over_items(depth - 1))]
                forms += [(2, lambda: self.looping(depth - 1))]
        if self.hostile and self.arrays:
            forms.append((1, self.perhaps_unassigned))
        chosen = self.rng.randrange(sum(weight for weight, _ in forms))
        for weight, form in forms:
            if chosen < weight:
                form()
                return
            chosen -= weight

    # -- simple statements

    def variable(self) -> tuple[str, str]:
        """A variable's type and name."""
        kind = self.one(self.features.kinds)
        return kind, f"{kind}{self.rng.randrange(3)}"

    def assignment(self) -> None:
        """To one variable, or to several at once."""
        kind, name = self.variable()
        form = self.rng.randrange(9)
        if form == 0 and KINDS[kind].kind != "f":
            self.line(f"{name} {self.pick('+=', '-=', '*=', '^=', '|=', '&=')} {self.value(kind, 2)}")
        elif form == 1:
            other = f"{kind}{self.rng.randrange(3)}"
            if other != name:
                self.line(f"{name}, {other} = {other}, {self.stored(kind, 1)}")
        elif form == 2 and KINDS[kind].kind != "f":
            self.line(f"{name} = {self.pick('3', '-1', '0') if KINDS[kind].kind == 'i' else '7'}")
        elif form == 3:
            self.line(f"{name}: {NAMES[kind]} = {self.stored(kind, 2)}")
        elif form == 4 and self.features.stars:
            self.line(f"{name}, *rest, {kind}8 = ({self.leaf(kind)}, {self.leaf('i')}, 1, {self.leaf(kind)})")
            self.line(f"{name} = {self.stored(kind, 1)} if len(rest) == {self.pick(2, 3)} else {kind}8")
        else:
            self.line(f"{name} = {self.stored(kind, 3)}")

    def store(self) -> None:
        """To an element that is the thread's own."""
        form = self.rng.randrange(10)
        if form < 3:
            array = self.pick("la[$]", "lb[$]", "lm[1, $]", "lm[$0, 2]")
            index = self.index(4) if "$0" not in array else str(self.pick("0", "1", "i2 & 1"))
            assign = self.pick("=", "=", "=", "+=", "^=", "-=")
            self.line(f"{array.replace('$0', index).replace('$', index)} {assign} {self.value('i', 2)}")
        elif form < 7:
            kind = self.one(self.features.kinds)
            assign = "=" if KINDS[kind].kind == "f" else self.pick("=", "+=", "^=")
            self.line(f"o{kind}[g, {self.index(COLUMNS)}] {assign} {self.value(kind, 3)}")
        elif form == 7:
            self.line(f"y{self.one(SMALL)}[g] = {self.value('i', 2)}")
        elif form == 8:
            self.line(f"ybool[g] = {self.condition(2)}")
        else:
            self.line(f"cuda.atomic.{self.pick('add', 'add')}(acc, {self.rng.randrange(2)}, {self.value('i', 1)})")

    def alias(self) -> None:
        """A second name for a local array, or for a part of one, and a use of it."""
        name = self.fresh("r")
        whole = self.pick("la", "lb", "lm[0]", "lm[1]", "(la, lb)[0]", "(la, lb)[1]", "pair[0]", "pair[1]")
        form = self.rng.randrange(7)
        if form == 0:
            self.line(f"{name}: object = {whole}")
        elif form == 1:
            self.line(f"{name} = lm.T")
            self.line(f"{name}[{self.index(4)}, {self.pick('0', '1', 'i0 & 1')}] = {self.value('i', 1)}")
            return
        elif form == 2:
            self.line(f"({name} := {whole})[{self.index(4)}] {self.pick('=', '+=')} {self.value('i', 1)}")
        elif form == 3:
            self.line(f"{name}, {name}b = {whole}, {self.pick('la', 'lb')}")
        elif form == 4:
            self.line(f"{name} = chosen({whole}, {self.pick('la', 'lb')})")
        elif form == 5 and self.features.slices:
            self.line(f"{name} = {whole}{self.pick('[1:]', '[::-1]', '[:3]', '[::2]')}")
            self.line(f"{name}[{self.pick('0', '-1', 'i0 & 1')}] = {self.value('i', 1)}")
            return
        else:
            self.line(f"{name} = {whole}")
        if self.chance(70):
            self.line(f"{name}[{self.index(4)}] {self.pick('=', '+=', '-=')} {self.value('i', 1)}")
        else:
            self.line(f"i{self.rng.randrange(3)} = put({name}, {self.index(4)}, {self.value('i', 1)})")

    def tuples(self) -> None:
        """A tuple, and its items."""
        name = self.fresh("p")
        kind = self.one(self.features.kinds)
        self.line(f"{name} = ({self.leaf(kind)}, ({self.leaf('i')}, {self.leaf(kind)}))")
        self.line(f"{kind}{self.rng.randrange(3)} = {name}[{self.pick('0', '-2', '1][1')}]")
        self.line(f"i{self.rng.randrange(3)} = {name}[1][0] + len({name})")

    def changing(self) -> None:
        """A name that is of one type after another, or a local array."""
        name = self.fresh("v")
        for kind in [self.one(self.features.kinds) for _ in range(self.rng.randrange(2, 4))]:
            if self.arrays and self.chance(20):
                self.line(f"{name} = {self.pick('la', '(lb, 3)')}")
            self.line(f"{name} = {self.stored(kind, 2)}")
            self.scope[kind].append(name)
            self.statements(0, 2)
            self.scope[kind].pop()

    def perhaps_unassigned(self) -> None:
        """A variable that some path does not assign."""
        name, condition = f"i{self.rng.randrange(4, 8)}", self.condition(1)
        self.block(f"if {condition}:", lambda: self.line(f"{name} = {self.value('i', 1)}"))
        if self.chance(70):
            self.block(f"if {condition}:", lambda: self.line(f"i0 = {name}"))
        elif self.chance(50):
            self.line(f"i1 = {name}")

    # -- compound statements

    def branch(self, depth: int) -> None:
        """if, sometimes with elif and else."""
        self.block(f"if {self.condition(2)}:", lambda: self.statements(depth))
        if self.chance(25):
            self.block(f"elif {self.condition(1)}:", lambda: self.statements(depth))
        if self.chance(50):
            self.block("else:", lambda: self.statements(depth))

    def leave(self) -> None:
        """Sometimes a break or continue."""
        if self.chance(30):
            self.block(f"if {self.condition(1)}:", lambda: self.line(self.pick("break", "continue")))

    def inside(self, counter: str, kind: str, depth: int) -> None:
        """The body of a loop, in which the counter can be read."""
        self.loops += 1
        self.scope[kind].append(counter)
        self.leave()
        self.statements(depth, 3)
        self.leave()
        self.scope[kind].pop()
        self.loops -= 1

    def otherwise(self) -> None:
        """Sometimes the else of a loop."""
        if self.chance(20):
            self.block("else:", lambda: self.statements(0, 2))

    def counted(self, depth: int) -> None:
        """A loop over a range, known or not, sometimes near the ends of its type."""
        k = self.fresh("k")
        bounds = self.one(NEAR_THE_ENDS if self.chance(20) else RANGES)
        if not self.arrays:
            bounds = (
                bounds.replace("n,", "i0 & 63,").replace("(n)", "(i0 & 7)").replace("n", "i0 & 63")
                if "uint" not in bounds
                else "3"
            )
        bounds = bounds.replace("{a}", str(self.rng.randrange(5))).replace("{s}", str(self.rng.randrange(1, 4)))
        kind = "u" if "u" in bounds else "i"
        if self.chance(8):
            bounds = f"{self.leaf('i')} & 3, {self.leaf('i')} & 7"
        self.block(f"for {k} in range({bounds}):", lambda: self.inside(f"{NAMES[kind]}({k})", kind, depth))
        self.otherwise()

    def over_items(self, depth: int) -> None:
        """A loop over a tuple, perhaps of arrays."""
        k = self.fresh("k")
        form = self.rng.randrange(7 if self.arrays else 3)
        if form == 0:
            text = f"for {k} in ({self.leaf('i')}, {self.leaf('i')}, {self.leaf('i')}):"
        elif form == 1:
            text = f"for j{k}, {k} in enumerate(({self.leaf('i')}, {self.leaf('i')})):"
        elif form > 4:
            items = self.pick("la", "lb", "lm[1]", "m[n & 3]", "(la, lb)[1]")
            headers = (
                f"for {k} in {items}:",
                f"for j{k}, {k} in enumerate({items}):",
                f"for {k} in reversed({items}):",
            )
            text = self.pick(*headers, f"for {k}, j{k} in zip({items}, lm[0]):")
        elif form == 2:
            text = f"for {k}, j{k} in zip(({self.leaf('i')}, {self.leaf('i')}), reversed((1, 2, 3))):"
        else:
            items = self.pick("(la, lb)", "pair", "(lb, lm[0], lm[1])")

            def use() -> None:
                self.line(f"r{k}[{self.index(4)}] {self.pick('+=', '=')} {self.value('i', 1)}")
                self.statements(0, 2)

            self.loops += 1
            self.block(f"for r{k} in {items}:", use)
            self.loops -= 1
            return
        self.block(text, lambda: self.inside(k, "i", depth))
        self.otherwise()

    def looping(self, depth: int) -> None:
        """A while loop with a counter that ends it."""
        k = self.fresh("k")
        self.line(f"{k} = int32({self.pick('0', '1', 'i0 & 3')})")
        limit = self.pick("4", "n" if self.arrays else "3", "(i1 & 3)")
        test = self.pick(f"{k} < {limit}", f"{k} < {limit} and {self.condition(1)}", f"0 <= {k} < {limit} < 8")
        header = f"while ({k} := {k} + 1) < {limit}:" if self.chance(25) else ""
        self.block(
            header or f"while {test}:",
            *(() if header else (lambda: self.line(f"{k} += 1"),)),
            lambda: self.inside(k, "i", depth),
        )
        self.otherwise()

    def phase(self, depth: int) -> None:
        """Every thread writes its own words of shared memory; behind a barrier all may be read."""
        for kind in "iuf":
            if self.chance(60):
                self.line(f"s{kind}[t] = {self.stored(kind, 2)}")
        self.line("cuda.syncthreads()")
        self.shared = True
        self.statements(depth, 4)
        self.shared = False
        self.line("cuda.syncthreads()")

    def kernel(self) -> None:
        """The statements of a kernel behind its prologue."""
        if self.chance(50):
            for _ in range(self.rng.randrange(1, 3)):
                self.phase(2)
        else:
            self.statements(2, 5)
            if self.chance(25):
                self.block(f"if {self.condition(2)}:", lambda: self.line("return"))
            self.statements(2, 3)


HELPERS = """

@cuda.jit(device=True)
def tame_f(x):
    if -8192.0 < x < 8192.0:
        return x
    return float32(1.5)


@cuda.jit(device=True)
def tame_d(x):
    if -8192.0 < x < 8192.0:
        return x
    return float64(1.5)


@cuda.jit(device=True)
def put(array, index, value):
    old = array[index]
    if old == value:
        return old
    array[index] = value
    return old - value


@cuda.jit(device=True)
def chosen(first, second):
    return first


@cuda.jit(device=True)
def mixed_up(x, *others, by=3):
    for i, other in enumerate(others):
        x = x * by + other if i else x ^ other
    return x - by if len(others) < 2 else x


@cuda.jit(device=True)
def shifted(x, by=5):
    if x < by:
        return x
    return x - by
"""


def device_function(rng: Random, features: Features, name: str, taken: str, result: str) -> str:
    """A function of scalars: perhaps early returns, perhaps a loop."""
    body = Body(rng, features, {kind: [f"{kind}{j}" for j in range(3)] for kind in features.kinds}, arrays=False)
    for kind in features.kinds:
        for j in range(3):
            body.line(f"{kind}{j} = {NAMES[kind]}({j + 1})")
    for j, kind in enumerate(taken):
        body.line(f"{kind}{j} = p{j}")

    def leave() -> None:
        body.line(f"return {body.stored(result, 1)}")

    if body.chance(60):
        body.block(f"if {body.condition(1)}:", leave)
    body.statements(1, 3)
    if taken and body.chance(30):  # a parameter of another type
        kind = body.one(features.kinds)
        body.line(f"p0 = {body.stored(kind, 1)}")
        body.scope[kind].append("p0")
        body.statements(0, 2)
    if body.chance(30):
        body.loops += 1
        body.block(
            f"for k in range({body.rng.randrange(1, 4)}):", lambda: body.block(f"if {body.condition(1)}:", leave)
        )
        body.loops -= 1
    leave()
    names = ", ".join(f"p{j}" for j in range(len(taken)))
    return f"\n\n@cuda.jit(device=True)\ndef {name}({names}):\n" + "".join(f"{line}\n" for line in body.lines)


def generate(rng: Random, features: Features | None = None) -> Case:
    """A random kernel."""
    features = features or Features()
    kinds = features.kinds
    grid, block = rng.choice([(1, 1), (1, 4), (2, 3), (1, 7), (3, 2)])
    taken = [(rng.choice(kinds) + rng.choice(kinds), rng.choice(kinds)) for _ in range(rng.randrange(3))]
    functions = [(f"function{j}", *shape) for j, shape in enumerate(taken)]
    text = HEADER + HELPERS + "".join(device_function(rng, features, *function) for function in functions)
    scope = {kind: [f"{kind}{j}" for j in range(3)] for kind in kinds}
    scope["i"] += ["t", "g"]
    body = Body(rng, features, scope, functions, hostile=rng.randrange(100) < features.hostile)
    for text_line in (
        *("t = int32(cuda.threadIdx.x)", "g = int32(cuda.grid(1))", "w = int32(cuda.blockDim.x)"),
        *(f"s{kind} = cuda.shared.array({block}, {NAMES[kind]})" for kind in "iuf"),
        *("la = cuda.local.array(4, int32)", "lb = cuda.local.array((4,), int32)"),
        "lm = cuda.local.array((2, 4), int32)",
        *("for j in range(4):", "    la[j] = g - j", "    lb[j] = j", "    lm[0, j] = t", "    lm[1, j] = 3 * j"),
        "pair = (la, lb)",
        *(f"s{kind}[t] = {NAMES[kind]}(t)" for kind in "iuf"),
        *(f"{kind}{j} = a{kind}[(g + {5 * j}) & 15]" for kind in kinds for j in range(3)),
        *(f"f{j} = tame_f(f{j})" for j in range(3)),
        "cuda.syncthreads()",
    ):
        body.line(text_line)
    body.kernel()
    for kind in kinds:
        for j in range(3):
            body.line(f"o{kind}[g, {j}] {'=' if KINDS[kind].kind == 'f' else '+='} {kind}{j}")
    for j in range(4):
        body.line(f"oi[g, {j}] += la[{j}] * 3 + lb[{j}] * 5 + lm[0, {j}] * 7 + lm[1, {j}] * 11")
    text += f"\n\n@cuda.jit\ndef kernel({parameters(kinds)}):\n" + "".join(f"{line}\n" for line in body.lines)
    return Case(text, grid, block, rng.randrange(2**31), kinds, features.slices and rng.randrange(3) > 0)
