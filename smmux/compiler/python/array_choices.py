"""Variables that stand for one array or another, chosen while the kernel runs: `a, b = b, a` in a loop, `v = v[1:]`.

Names of arrays cost nothing as long as each stands for an array that is known wherever it is used. Where paths with
different arrays come together, lowering begins anew, and the variable is then a number, which says which array it
stands for, beside its first element and its extents where those differ too. An access through it has a branch for each
array that it may be, so that each access is one of a known array, whose bounds are checked as those of any other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from smmux.compiler import ir
from smmux.compiler.build import memory64
from smmux.compiler.build.numbers import DTYPES, Kind, Value, constant, weak
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import operand
from smmux.compiler.python.typed_values import Anything, ArrayRef, Choice, LocalArray, Packed, Structure

Variable = tuple[Any, str]
"""A variable of a function, whichever call it is inlined for."""


class Restart(Exception):
    """Lowering has to begin anew: variables stand for several arrays."""

    def __init__(self, variables: Iterable[Variable]) -> None:
        super().__init__("variables stand for several arrays")
        self.variables = tuple(variables)


@dataclass(slots=True)
class Choices:
    """The variables of a kernel that stand for several arrays.

    expected: the arrays of each, as the lowering before this one has found them. found: as this one does. numbers: by
    which a variable tells them apart.
    """

    expected: dict[Variable, tuple[ir.Storage, ...]] = field(default_factory=dict)
    found: dict[Variable, dict[ir.Storage, None]] = field(default_factory=dict)
    numbers: dict[ir.Storage, int] = field(default_factory=dict)

    @property
    def settled(self) -> bool:
        """Whether this lowering knew all arrays from its beginning."""
        return all(set(self.expected[v]) == set(self.found.get(v, self.expected[v])) for v in self.expected)

    def next(self, more: Iterable[Variable] = ()) -> Choices:
        """For the next lowering, with further variables."""
        known = {v: tuple(self.found.get(v, arrays)) for v, arrays in self.expected.items()}
        return Choices({**dict.fromkeys(more, ()), **known})

    def members(self, variable: Variable) -> tuple[ir.Storage, ...]:
        """The arrays that a variable may stand for."""
        return tuple(dict.fromkeys((*self.expected[variable], *self.found.get(variable, ()))))

    def number(self, storage: ir.Storage) -> int:
        """The number of an array."""
        return self.numbers.setdefault(storage, len(self.numbers))


def possible(a: Anything, b: Anything) -> bool:
    """Whether one variable can stand for either of two arrays: they differ in place and extents alone."""
    if not isinstance(a, ArrayRef) or not isinstance(b, ArrayRef) or a.dtype != b.dtype:
        return False
    return len(a.shape) == len(b.shape) and a.strides == b.strides and not isinstance(a.dtype, Structure | Packed)


def typed(f: Frame, name: str, value: Anything) -> Anything:
    """The type that a definition gives to a variable that stands for several arrays, if it is one."""
    variable = f.source, name
    if variable not in f.ctx.choices.expected or not isinstance(value, ArrayRef):
        return value
    if isinstance(value.dtype, Structure | Packed):
        return value
    shown = value.name if name.startswith(".") else name  # what a function returns has no name of its own
    offset = 0 if value.base is not None else value.offset  # as `conform` puts it
    return replace(value, storage=Choice(variable, shown), which=Value(Kind.INT32), offset=offset)


def conform(f: Frame, value: Anything, declared: Anything) -> Anything:
    """An array in the form that its variable has throughout the function."""
    if not (isinstance(value, ArrayRef) and isinstance(declared, ArrayRef) and isinstance(declared.storage, Choice)):
        return value
    choices, variable = f.ctx.choices, declared.storage.variable
    which, storage = value.which, value.storage
    if isinstance(storage, Choice):
        arrays = choices.members(storage.variable)
    else:
        known = storage.memory or demote(f, storage) if isinstance(storage, LocalArray) else storage
        arrays, which = (known,), constant(Kind.INT32, choices.number(known))
    choices.found.setdefault(variable, {}).update(dict.fromkeys(arrays))
    base, offset = value.base, value.offset
    if declared.base is not None:
        base = _moved(f, base, offset)
        offset = 0
    pairs = zip(value.shape, declared.shape, strict=True)
    shape = tuple(weak(x) if isinstance(x, int) and not isinstance(y, int) else x for x, y in pairs)
    readonly = value.readonly or declared.readonly
    return replace(
        value, storage=declared.storage, which=which, base=base, offset=offset, shape=shape, readonly=readonly
    )


def _moved(f: Frame, base: Value | None, offset: int) -> Value:
    """A base and a constant number of elements beside it as one number."""
    if base is None or base.known:
        return constant(Kind.INT32, offset + (0 if base is None else base.const))
    if not offset:
        return base
    by = ir.Imm(offset & 0xFFFFFFFF, ir.Type.S32)
    return Value(Kind.INT32, f.b.op("add.s32", ir.Type.S32, operand(f, base), by), None, *RANGE32)


RANGE32 = -(2**31), 2**31 - 1


def storages(f: Frame, array: ArrayRef) -> tuple[ir.Storage, ...]:
    """The arrays that a reference to one of several may mean."""
    assert isinstance(array.storage, Choice)
    assert array.which is not None
    choices: Choices = f.ctx.choices
    if array.which.known:
        return tuple(s for s in choices.numbers if choices.numbers[s] == array.which.const)
    return choices.members(array.storage.variable)


def memory(f: Frame, array: ArrayRef) -> ir.Storage | None:
    """The memory that indices of an array count in: of several arrays one that is as large as any; None if the array
    lies in registers, or types are being inferred."""
    storage = array.storage
    if isinstance(storage, LocalArray):
        return storage.memory
    if not isinstance(storage, Choice):
        return storage
    return None if f.ctx.dry else max(storages(f, array), key=lambda s: s.nbytes + s.offset, default=None)


def demote(f: Frame, storage: LocalArray) -> ir.Storage:
    """Move an array with a run-time index to memory; lowering starts again when this pass is over."""
    if not f.ctx.dry:
        f.ctx.demoted.add(storage.place)
    dtype = DTYPES[storage.dtype.name]
    size, elements = memory64.layout(ir.Space.LOCAL, dtype, storage.elements)
    storage.memory = ir.Storage(ir.Space.LOCAL, 0, storage.name, size, elements, signed=dtype.signed)
    return storage.memory


def refuse_choice(f: Frame, node: ast.AST, array: ArrayRef, what: str) -> None:
    """Refuse what can be done with a known array only."""
    if isinstance(array.storage, Choice):
        raise f.error(
            node,
            f"{array.name!r} stands for several arrays, chosen while the kernel runs; {what} each before the choice",
        )
