"""Programs of a kernel under the names that Numba gives them: `kernel.overloads[types].regs_per_thread`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from smmux.language.numba_types import of_smmux
from smmux.language.types import TYPES, ArrayAnnotation, FunctionType, Scalar, TupleAnnotation, Void

if TYPE_CHECKING:
    from smmux.compiler.ir import Loc
    from smmux.compiler.program import Program
    from smmux.compiler.signature import Signature
    from smmux.gpus import Gpu
    from smmux.kernels.kernel import Kernel

__all__ = ["AxisWarning", "Overload", "Overloads", "example"]


class AxisWarning(UserWarning):
    """An index that is outside its axis whenever it is used, and means an element of another row of the array."""


EXTENT = 64
"""Elements along each axis of the arrays for which a kernel is compiled that was not launched yet [EST]."""


@dataclass(frozen=True, slots=True)
class Overload:
    """A compiled kernel, and the machine for which it was compiled."""

    program: Program
    machine: Gpu

    @property
    def regs_per_thread(self) -> int:
        """32-bit registers of a thread."""
        return self.program.nregs

    @property
    def shared_mem_per_block(self) -> int:
        """Bytes of shared memory that a block declares."""
        return self.program.shared_bytes + self.program.dynamic_bytes

    @property
    def local_mem_per_thread(self) -> int:
        """Bytes of local memory of a thread."""
        return self.program.local_bytes

    @property
    def const_mem_size(self) -> int:
        """Bytes of constant memory."""
        return len(self.program.const)

    @property
    def max_threads_per_block(self) -> int:
        """Most threads of a block: those of the machine, or those for whose registers it has room."""
        warp = 32
        fitting = self.machine.regs_sm // max(1, self.program.nregs) // warp * warp
        return min(self.machine.max_threads_block, fitting)

    def inspect_asm(self, cc: Any = None) -> str:
        """The program as text."""
        return self.program.listing()

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """Blocks that reside on the machine all at once."""
        from smmux.base.dimensions import dim3
        from smmux.machines.occupancy import occupancy

        x, y, z = dim3("block", blockdim)
        held = self.shared_mem_per_block + dynsmemsize
        parameters = self.program.param_bytes(self.machine.pointer_bytes)
        resident = occupancy(x * y * z, self.program.nregs, held, self.machine, parameters)
        return resident.blocks * self.machine.sm_count


class Overloads(dict[tuple[Any, ...], Overload]):
    """The newest program of a kernel for each tuple of argument types, in Numba's words: `(float32[::1], int64)`.

    Types that the kernel declares need no launch: it is compiled for arrays of some size.
    """

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.kernel = kernel
        self._told: set[tuple[Loc, str]] = set()

    def __missing__(self, types: Any) -> Overload:
        of_numba, types = types, tuple(map(of_smmux, types)) if isinstance(types, tuple) else of_smmux(types)
        if isinstance(types, FunctionType):
            return self[types.arguments]
        if types != of_numba and types in self:
            return self[types]
        if types not in [signature.arguments for signature in self.kernel.definition.declared]:
            raise KeyError(types)
        self.kernel.compile(tuple(map(_example, types)))
        return super().__getitem__(types)

    def add(self, signature: Signature, overload: Overload) -> None:
        """Keep the newest program for the types of a signature, or for those that the kernel declares.

        Warns of indices that are always outside of their axis, once for each place of the kernel.
        """
        for place in overload.program.outside:
            if place not in self._told:
                self._told.add(place)
                loc, axis = place
                message = f'this index is always outside {axis}; where it is used, check="bounds" ends the launch'
                warnings.warn_explicit(message, AxisWarning, loc.filename, loc.line)
        declared = self.kernel.definition.declared
        types = declared[0].arguments if len(declared) == 1 else _types_of(signature.arguments)
        super().__setitem__(types, overload)

    def facts(self, fact: Callable[[Overload], Any], types: Any) -> Any:
        """A fact of one program, or a dict of those of all by argument types. A kernel with one signature has one."""
        declared = self.kernel.definition.declared
        if types is None and len(declared) == 1:
            types = declared[0].arguments
        if types is not None:
            return fact(self[types])
        return self.facts_of_all(fact)

    def facts_of_all(self, fact: Callable[[Overload], Any]) -> Facts:
        """A fact of all programs, also of those for types that the kernel declares."""
        for signature in self.kernel.definition.declared:
            self[signature.arguments]
        return Facts({key: fact(overload) for key, overload in self.items()})


class Facts(dict[tuple[Any, ...], Any]):
    """A fact of each program by its argument types, which may be Numba's."""

    def __missing__(self, types: Any) -> Any:
        known = tuple(map(of_smmux, types))
        if known not in self:
            raise KeyError(types)
        return self[known]


def example(given: Any) -> Any:
    """A value of a type, of smmux or of Numba; anything else as it is."""
    found = of_smmux(given)
    return _example(found) if isinstance(found, TYPES) else given


def _example(declared: Any) -> Any:
    """A value of a declared type."""
    if isinstance(declared, ArrayAnnotation):
        return np.zeros((EXTENT,) * declared.ndim, declared.dtype, order="F" if declared.layout == "F" else "C")
    if isinstance(declared, TupleAnnotation):
        return tuple(map(_example, declared.items))
    return None if isinstance(declared, Void) else declared.dtype.type(1)


def _types_of(types: Iterable[Any]) -> tuple[Any, ...]:
    """The types of a Signature in Numba's words."""
    return tuple(map(_type_of, types))


def _type_of(type: Any) -> Any:
    if items := getattr(type, "items", None):
        return TupleAnnotation(_types_of(items))
    if shape := getattr(type, "shape", None):
        return ArrayAnnotation(type.dtype, len(shape), _layout(shape, type.strides))
    name = getattr(type, "name", None)
    if name is None:
        return type
    wide = {"int32": "int64", "float32": "float64"} if type.python else {}
    return Void() if name == "none" else Scalar(wide.get(name, name))


def _layout(shape: tuple[int, ...], strides: tuple[int, ...]) -> str:
    """The order in which the elements of an array lie."""
    steps = [math.prod(shape[i + 1 :]) for i in range(len(shape))], [math.prod(shape[:i]) for i in range(len(shape))]
    for order, expected in zip("CF", steps, strict=True):
        if all(n == 1 or have == want for n, have, want in zip(shape, strides, expected, strict=True)):
            return order
    return "A"
