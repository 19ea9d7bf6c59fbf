"""What a launch asks of the compiler: a program for its machine, its sizes and its limits of registers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from smmux import _core
from smmux.base.dimensions import MAX_BLOCKS
from smmux.compiler.driver.compiling import compile
from smmux.compiler.options import FEWEST_REGISTERS, Options, Thrift
from smmux.compiler.program import Program
from smmux.compiler.signature import Signature
from smmux.compiler.unit import Unit
from smmux.errors import ConfigError, LaunchError, did_you_mean, integer
from smmux.gpus import Gpu
from smmux.machines.occupancy import registers_for, registers_kept, resident_blocks

__all__ = ["Request", "split"]

FIRST_WITH_FLOAT64 = 13
"""Compute capability from which machines have 64-bit floats (CUDA C Programming Guide [PG55], Table 12)."""

WARP = 32
WORD = 4
"""Threads of a warp; bytes of a register."""

GROUP, UNROLLED = 16, 1200
"""Where the list schedule follows the vendor's compiler: trips of a short loop at a time, four of LLVM's times four of
ptxas's, as its code of such loops has them, and operations to which loops of constant trips unroll, LLVM's 300 with the
fourfold that it grants where code folds."""


@dataclass(frozen=True, slots=True)
class Request:
    """One launch as the compiler sees it.

    block: its size, None for a program of any. schedule: None for the machine's own. max_registers: the most registers
    of a thread, None for what the kernel says, or else the machine's limit. min_blocks: blocks for which an SM is to
    have registers. options: other fields of `Options`, such as the facts of the launch. dynamic, extra_blocks: its
    management of shared memory, as for `smmux.machines.occupancy.resident_blocks`.
    """

    machine: Gpu
    block: Any = None
    schedule: str | None = None
    max_registers: int | None = None
    min_blocks: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    dynamic: bool = False
    extra_blocks: int = 0

    def program(self, unit: Unit, signature: Signature, declared: int | None = None) -> Program:
        """The program for types of arguments; declared: the most registers of a thread that the kernel itself allows.

        The list schedule takes no registers that cost a block which resides on an SM in program order: more of them
        than the kernel needs are worth less than a block. That limits what it moves, and sends nothing to local memory.
        No more does what makes a block fit of which no SM has the registers, as far as they hold what is moved out of
        loops. Raises CompileError for a kernel outside the language, ConfigError for an option without meaning.
        """
        options = self._options(self._most_registers(declared))
        program = compile(unit, signature, options)
        if self.max_registers is None and declared is None and (most := self._for_one_block(program)):
            fewer = replace(options, max_registers=most)
            fitting = compile(unit, signature, fewer)
            if fitting.local_bytes == program.local_bytes:
                program, options = fitting, fewer
        if options.schedule != "source" and self._limited_by_registers(program):
            ordered = compile(unit, signature, replace(options, schedule="source", latencies=()))
            kept = registers_kept(ordered, self.machine, self.block, self.dynamic, self.extra_blocks)
            if program.nregs > kept:
                return compile(unit, signature, replace(options, max_registers=kept))
        return program

    def checking_bounds(self) -> Request:
        """The request for the run before the real one that finds indices outside their axes."""
        return replace(self, max_registers=None, min_blocks=None, options={**self.options, "bounds": True})

    def _options(self, most: int) -> Options:
        """Options of the compiler; latencies matter to the list schedule alone. most: registers of a thread."""
        machine = self.machine
        schedule = machine.schedule if self.schedule is None else self.schedule
        values: dict[str, Any] = {"schedule": schedule, "fused_mad": bool(machine.fused_mad), "max_registers": most}
        values["float64"] = machine.compute_capability >= FIRST_WITH_FLOAT64
        if schedule == "list":
            beyond = {"global": machine.flat_latency}  # of an idle memory, behind the SM's port: lat_global ends there
            values["latencies"] = tuple(
                (name, int(getattr(machine, f"lat_{name}")) + beyond.get(name, 0)) for name in _core.CLASSES
            )
            values["issue_interval"] = machine.issue_interval
            if machine.list_registers:
                step, words = max(machine.reg_unit // WARP, 1), machine.pointer_bytes // WORD
                values["group"], values["unroll_limit"] = GROUP, UNROLLED
                values["thrift"] = Thrift(machine.list_registers, step, machine.code_registers, words)
        return Options(**{**values, **self.options})

    def _most_registers(self, declared: int | None) -> int:
        """The most registers of a thread: what the launch says, else what the kernel says, else the machine's limit."""
        most = self.machine.max_regs_thread
        if self.max_registers is not None:
            most = self.max_registers
        elif declared is not None:
            most = min(declared, most)
        return most if self.min_blocks is None else min(most, self._enough(self.min_blocks))

    def _for_one_block(self, program: Program) -> int | None:
        """The registers of a thread with which an SM has enough for one block, if it has not for those of the program;
        None where it has, and where no number would do."""
        if self.block is None:
            return None
        try:
            most = registers_for(self.machine, self.block, 1)
        except LaunchError:
            return None
        return most if FEWEST_REGISTERS <= most < program.nregs else None

    def _limited_by_registers(self, program: Program) -> bool:
        """Whether more blocks of the program would reside if it had fewer registers; no block that no machine takes
        resides, as the launch will say."""
        if self.block is None:
            return False
        launch = program, self.machine, self.block, self.dynamic, self.extra_blocks
        try:
            return resident_blocks(program.nregs, *launch) < resident_blocks(1, *launch)
        except LaunchError:
            return False

    def _enough(self, blocks: int) -> int:
        """The registers of a thread that the option min_blocks leaves. Raises ConfigError where it has no meaning."""
        integer("min_blocks", blocks, 1, MAX_BLOCKS)
        if self.block is None:
            raise ConfigError(
                "min_blocks needs the block of a launch: compile(..., grid=..., block=..., min_blocks=...)"
            )
        most = registers_for(self.machine, self.block, blocks)
        if most < FEWEST_REGISTERS:
            raise ConfigError(
                f"min_blocks={blocks}: {self.machine.name} has {self.machine.regs_sm} registers on an SM, "
                f"too few for so many blocks of {self.block} threads"
            )
        return most


def split(options: Mapping[str, Any], others: Collection[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of the compiler, and others of these names. Raises ConfigError for any that is neither."""
    names = {field.name for field in fields(Options)}
    known = names | set(others)
    for name in options:
        if name not in known:
            raise ConfigError(f"there is no option {name!r}{did_you_mean(name, {*known, 'dynshared'})}")
    return {k: v for k, v in options.items() if k in names}, {k: v for k, v in options.items() if k not in names}
