"""The objects that kernels name and only the compiler understands: `cuda.threadIdx`, `cuda.laneid`, ..."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from smmux.errors import Error, did_you_mean

__all__ = ["Attribute", "Dim3", "KernelOnlyError", "absent", "kernel_only"]


class KernelOnlyError(Error, TypeError):
    """Something that has a meaning only inside a kernel was used outside."""


def kernel_only(name: str) -> NoReturn:
    """Refuse the use of a name of the kernel language in plain Python."""
    raise KernelOnlyError(f"{name} exists only inside a kernel (a function decorated with @cuda.jit)")


class Dim3:
    """`cuda.threadIdx` and its like; `register` is the special register's name without the component."""

    def __init__(self, name: str, register: str) -> None:
        self.name, self.register = name, register

    @property
    def x(self) -> int:
        """First component."""
        kernel_only(f"cuda.{self.name}.x")

    @property
    def y(self) -> int:
        """Second component."""
        kernel_only(f"cuda.{self.name}.y")

    @property
    def z(self) -> int:
        """Third component."""
        kernel_only(f"cuda.{self.name}.z")

    def __repr__(self) -> str:
        return f"cuda.{self.name}"


class Attribute:
    """A name that stands for a value, such as `cuda.laneid`; `lower` is filled in by the compiler."""

    lower: Callable[..., Any]

    def __init__(self, name: str) -> None:
        self.name = name

    def _refuse(self, *_: object) -> NoReturn:
        kernel_only(f"cuda.{self.name}")

    __index__ = __int__ = __float__ = __bool__ = __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __and__ = __rand__ = __mod__ = __floordiv__ = _refuse

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"cuda.{self.name}"


# Attributes of numba.cuda that smmux.cuda does not have.
ABSENT: dict[str, str] = {
    "compile_ptx": "kernel.ir(*args) is the listing of a kernel",
    "compile": "kernel.ir(*args) is the listing of a kernel",
    "compile_for_current_device": "kernel.ir(*args) is the listing of a kernel",
    "open_ipc_array": "arrays are NumPy arrays; pass them to other processes as such",
    "cudadecl": "a program needs nothing of Numba's compiler here",
    "random": "import it: from smmux.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32",
    "nanosleep": "nothing is gained by sleeping; leave it out",
    "match_any_sync": "warps have shfl, ballot_sync, any_sync and all_sync",
    "match_all_sync": "warps have shfl, ballot_sync, any_sync and all_sync",
    "grid_group": "write cuda.cg.this_grid()",
    "declare_device": "write a @cuda.jit(device=True) function",
    "jit_module": "decorate each function with @cuda.jit",
}


def absent(module: str, name: str, known: Iterable[str] = ()) -> str:
    """The refusal of a name that a module does not have; known: the names that it has."""
    instead = ABSENT.get(name) if module == "smmux.cuda" else None
    if instead is None:
        return f"{module} has no attribute {name!r}{did_you_mean(name, known)}"
    return f"{module} has no attribute {name!r}; {instead}"
