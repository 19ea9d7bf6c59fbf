"""Programs written instruction by instruction, for tests of the machine that no compiler should stand in the way of."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smmux import _core, gpus, policies
from smmux.compiler.program import GUARD_NOT, INSN, OPERAND_NONE, OPERAND_SPECIAL, OPERAND_UNIFORM, UNIFORM

TID_X = OPERAND_SPECIAL | _core.SPECIALS["tid.x"]
CTAID_X = OPERAND_SPECIAL | _core.SPECIALS["ctaid.x"]
LANEID = OPERAND_SPECIAL | _core.SPECIALS["laneid"]


@dataclass
class Assembler:
    """Collects instructions; operands are register numbers, `imm(...)`, `param(...)` or specials."""

    rows: list[dict[str, int]] = field(default_factory=list)
    uniforms: list[tuple[int, int]] = field(default_factory=list)
    host: dict[str, int] = field(default_factory=dict)
    """Windows and passes of the last run, which depend on the host threads."""

    def uniform(self, kind: str, value: int) -> int:
        """A uniform operand."""
        row = (_core.UNIFORMS[kind], value & 0xFFFFFFFF)
        if row not in self.uniforms:
            self.uniforms.append(row)
        return OPERAND_UNIFORM | self.uniforms.index(row)

    def imm(self, value: int | float) -> int:
        """An immediate operand: the bits of an int or of a float32."""
        bits = int(np.float32(value).view(np.uint32)) if isinstance(value, float) else value
        return self.uniform("imm", bits)

    def param(self, word: int) -> int:
        """A parameter word as operand."""
        return self.uniform("param", word)

    def __call__(self, op: str, *, guard: int | None = None, guard_not: bool = False, **fields: int) -> int:
        """Append one instruction; returns its pc."""
        row = {"op": _core.OPS[op][0], "line": len(self.rows) + 1, "q": OPERAND_NONE}
        row |= dict.fromkeys(("d", "a", "b", "c", "dh", "ah", "bh", "ch"), OPERAND_NONE) | fields
        if guard is not None:
            row["guard"] = (guard + 1) | (GUARD_NOT if guard_not else 0)
        self.rows.append(row)
        return len(self.rows) - 1

    def code(self) -> NDArray[Any]:
        """The program as an array of INSN."""
        out = np.zeros(len(self.rows), INSN)
        for i, row in enumerate(self.rows):
            for name, value in row.items():
                out[i][name] = value
        return out

    def run(
        self,
        gpu: str | gpus.Gpu = "GTX285",
        *,
        grid: Any = (1, 1, 1),
        block: Any = (32, 1, 1),
        nregs: int = 16,
        npreds: int = 4,
        buffers: Any = (),
        params: Any = (),
        shared: int = 0,
        dynamic_bytes: int = 0,
        local: int = 0,
        const: bytes = b"",
        management: str = "static",
        managers: Any = None,
        preload: Any = None,
        **options: int,
    ) -> dict[str, Any]:
        """Run on a machine; `buffers` are NumPy arrays, whose device addresses become the first parameter words.

        An array may come with its address; the others follow each other.
        """
        address, words, views = 0x1000, [], []
        for buffer in buffers:
            array, address = buffer if isinstance(buffer, tuple) else (buffer, address)
            views.append((array.reshape(-1).view(np.uint8), address, array.nbytes, bool(array.flags.writeable)))
            words.append(address)
            address += -(-array.nbytes // 256) * 256
        machine = gpus.get(gpu)
        meta = {
            "nregs": nregs,
            "npreds": npreds,
            "shared_bytes": shared,
            "dynamic_bytes": dynamic_bytes,
            "local_bytes": local,
            "static_reserved": 16,
            "smem_size": 0,
            "launched_bytes": 0,
            "uniform_regs": 0,
        }
        settings = {"extra_blocks": 0, "max_cycles": 10_000_000, "window": 0, "threads": 1, "per_pc": 1}
        settings |= {
            "check": 0,
            "accesses": 0,
            "trace": 0,
            "max_waiting": 1,
            "management": policies.number("management", management),
        }
        found = _core.launch(
            self.code(),
            np.array(self.uniforms, UNIFORM),
            meta,
            gpus.as_tuple(machine),
            grid,
            block,
            [*words, *params],
            views,
            const,
            settings | options,
            managers=managers,
            preload=None if preload is None else np.array(preload, np.int64).reshape(-1, 9),
        )
        self.host = found.pop("host")
        return found


def variant(gpu: str, **changes: int | str) -> gpus.Gpu:
    """A named machine with some parameters changed."""
    return replace(gpus.get(gpu), **changes)
