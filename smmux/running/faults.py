"""Errors of a launch in the user's terms: kernel, file and line, and the array and element of an address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smmux.base.dimensions import Dim3
from smmux.errors import (
    KernelAssertionError,
    KernelError,
    KernelUnboundLocalError,
    LaunchError,
    OutOfBoundsError,
    raised,
)
from smmux.language.placement import FIRST_ADDRESS, extent
from smmux.results.checks import Findings, from_core
from smmux.results.printed import text_of

if TYPE_CHECKING:
    from smmux.compiler.ir import Trap
    from smmux.compiler.program import Placed, Program
    from smmux.running.arguments import Arguments

__all__ = ["of_launch", "of_run"]

HELD = 1 << 28
"""Bytes outside an array from which on an index may have been held back by `safe_indices`, so that it is not told."""


def of_launch(error: LaunchError, program: Program, check: str | None) -> LaunchError:
    """The refusal of a launch that has not begun, with the kernel, its file and, if no other line is at fault, the
    line of its `def`."""
    _name_kernel(error, program)
    error.findings = Findings() if check else None
    return error


def of_run(
    error: KernelError, program: Program, arguments: Arguments, grid: Dim3, block: Dim3, check: str | None
) -> KernelError:
    """The failure of a run, with what only the launch knows: kernel, file, array and element, and the findings of the
    check up to there, which are also printed with the exception."""
    error.findings = _findings(error, program, grid, block, check)
    error.printed = text_of(error.printed or b"", 0, program)
    if error.findings:
        error.add_note(f"check={check!r} had found:\n{error.findings}")
    _name_kernel(error, program)
    if isinstance(error, KernelUnboundLocalError) and error.pc is not None:
        number = int(program.code["imm"][error.pc])
        if 0 <= number < len(program.traps):  # of rows that no compiler of ours made there may be none
            error = _trapped(error, program.traps[number])
    _name_place(error, program, arguments.arrays)
    if error.line is None and error.pc is not None and error.pc < len(program.instructions):
        instruction = program.instructions[error.pc]  # in code without lines it alone tells the place
        error.message += f", at {instruction.address:#06x} ({instruction.text})"
    return error


def _name_place(error: KernelError, program: Program, arrays: Sequence[NDArray[Any]]) -> None:
    """Name the array and the element of an error that has an address. arrays: the arguments that are arrays."""
    if isinstance(error, OutOfBoundsError) and error.pc in program.joined and error.address is not None:
        _blame_word(error, program, arrays)
    if error.array_index is not None and error.address is not None:
        _name_argument(error, program, arrays)
    elif (place := _placed(error, program)) is not None:
        error.array, error.element, error.address = place[0].name, _in_place(*place), place[1]
    elif isinstance(error, OutOfBoundsError) and error.address is not None:
        error.array, error.element = _in_block(program, error)
        if program.instructions and error.message.startswith("local") and error.address < 0:
            error.message += f" (the stack of {program.local_bytes} bytes is full; `stack=` gives a thread more)"


def _placed(error: KernelError, program: Program) -> tuple[Placed, int] | None:
    """The array that compiled code misses, and the byte in it; none of a null pointer."""
    if error.address is None or error.pc is None:
        return None
    in_global = error.message.startswith("global access")
    if in_global and program.instructions and 0 <= error.address < FIRST_ADDRESS:
        error.message = "global access through a null pointer"
        return None
    return program.placed(error.pc, error.address, in_global)


def _trapped(caught: KernelError, trap: Trap) -> KernelError:
    """The error that a trap stands for."""
    made: KernelError
    if trap.kind == "axis":
        made = OutOfBoundsError(f"index outside {trap.text}")
    elif trap.kind == "assert":
        made = KernelAssertionError(f"assert {trap.text} does not hold")
    elif trap.kind == "raise":
        made = raised(trap.text)
    else:
        made = KernelUnboundLocalError(f"variable {trap.text!r} is used before it is assigned")
    made.__dict__.update({**vars(caught), "message": made.message, "array": trap.array or None, "address": None})
    return made


def _name_kernel(error: KernelError, program: Program) -> None:
    """Kernel, file and line; an error that concerns no line in particular is said of the kernel's `def`."""
    error.kernel = program.name
    error.filename = program.file_of(error.pc) if error.pc is not None else program.filename
    error.line = error.line or program.line or None


def _findings(error: KernelError, program: Program, grid: Dim3, block: Dim3, check: str | None) -> Findings | None:
    """The findings of the check up to the failure; None if nothing was looked for."""
    records, lost = error.findings or (b"", 0)
    if not check:
        return None
    return from_core(records, lost, program, grid, block) if records else Findings()


def _name_argument(error: KernelError, program: Program, arrays: Sequence[NDArray[Any]]) -> None:
    """Name of an array argument, and the element at a byte of it."""
    assert error.array_index is not None
    assert error.address is not None
    if error.array_index < len(arrays):
        array = arrays[error.array_index]
        names = [word.name for word in program.params if word.type in ("ptr", "tex")]
        error.array = names[error.array_index] if names else f"array {error.array_index} of the arguments"
        low, _ = extent(array)
        error.element = _element(array, error.address - (array.ctypes.data - low))


def _blame_word(error: OutOfBoundsError, program: Program, arrays: Sequence[NDArray[Any]]) -> None:
    """Blame the first word of a joined access that lies outside its array, and that word's line."""
    assert error.pc is not None
    assert error.address is not None
    start = size = 0
    if error.array_index is None:
        if place := program.element(error.pc, error.address):
            start, size = place[1], place[0].nbytes
    elif error.array_index < len(arrays):
        low, high = extent(arrays[error.array_index])
        start, size = error.address, high - low
    lines = program.joined[error.pc]
    outside = (i for i in range(len(lines)) if not 0 <= start + 4 * i <= size - 4)
    word = next(outside, 0)
    error.address, error.line = error.address + 4 * word, lines[word]


def _in_place(place: Placed, offset: int) -> str:
    """The element at a byte of an array of compiled code."""
    if not -HELD < offset < HELD + place.nbytes:
        return f"an address far outside of its {place.nbytes} bytes"
    index, rest = divmod(offset, place.element)
    return f"byte {offset} of {place.nbytes}" if rest else f"flat index {index} of {place.nbytes // place.element}"


def _in_block(program: Program, error: OutOfBoundsError) -> tuple[str | None, str]:
    """Array and element of an access to shared, local or constant memory."""
    place = program.element(error.pc, error.address) if error.pc is not None and error.address is not None else None
    if place is None:
        return None, f"byte {_byte(program, error)}"
    array, offset = place
    if not -HELD < offset < HELD:
        return array.name, f"an index far outside of {array.elements}"
    index, rest = divmod(offset, array.element)
    if rest:
        return array.name, f"byte {offset} of {array.nbytes}"
    return array.name, f"flat index {index} of {array.elements}"


def _byte(program: Program, error: OutOfBoundsError) -> int | None:
    """The byte of an access to memory without arrays: of shared memory behind what is reserved."""
    front = program.reserved_bytes if program.reserved_first and error.message.startswith("shared") else 0
    return error.address - front if error.address is not None else None


def _element(array: NDArray[Any], offset: int) -> str:
    """The element at a byte offset from element 0, as an index of the array where it has one."""
    if not -HELD < offset < HELD + array.nbytes:
        return f"an index far outside of shape {array.shape}"
    flat, rest = divmod(offset, array.itemsize)
    where = f"flat index {flat}" if not rest else f"byte {offset}"
    if not rest and array.ndim > 1 and array.flags.c_contiguous and 0 <= flat < array.size:
        where = f"index {tuple(int(i) for i in np.unravel_index(flat, array.shape))}"
    return f"{where} of shape {array.shape}"
