"""Programs of a kernel under the names that Numba gives them: `kernel.overloads[types].regs_per_thread`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smmux.compiler.program import Program
    from smmux.gpus import Gpu

__all__ = ["Overload"]


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
        from smmux.dimensions import dim3
        from smmux.occupancy import occupancy

        x, y, z = dim3("block", blockdim)
        held = self.shared_mem_per_block + dynsmemsize
        parameters = self.program.param_bytes(self.machine.pointer_bytes)
        resident = occupancy(x * y * z, self.program.nregs, held, self.machine, parameters)
        return resident.blocks * self.machine.sm_count
