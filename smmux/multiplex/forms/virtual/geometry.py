"""Kernels whose thread blocks hold several virtual ones, and how they are launched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from smmux.base.dimensions import dim3
from smmux.errors import LaunchError
from smmux.kernels.kernel import Kernel
from smmux.multiplex.analysis.uniformity import analysed
from smmux.multiplex.analysis.warps import torn_pair
from smmux.multiplex.regions.outline import outline
from smmux.rewriting.listing import listing
from smmux.source.function_source import FunctionSource

if TYPE_CHECKING:
    from smmux.gpus import Gpu
    from smmux.results.result import Result

AXES = "xyz"
WARP = 32
MOST_THREADS = 1024
Size = int | Sequence[int]


@dataclass(frozen=True, slots=True)
class Merge:
    """How virtual thread blocks are put together: n of them, side by side along an axis of the block and of the grid.

    grid, block: the baseline's, None where they are not known. warps: whether the kernel uses its warps, which then
    must not lie across two virtual blocks. kernel: the baseline, asked whether it counts on the lockstep of its warps.
    threads: of the baseline's blocks along x at most, None where the kernel does not rely on it.
    """

    n: int
    block_axis: int
    grid_axis: int = 0
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    warps: bool = False
    kernel: Kernel | None = None
    threads: int | None = None

    @property
    def excess(self) -> int:
        """How many virtual blocks the last thread blocks have beyond the baseline's grid."""
        return -self.grid[self.grid_axis] % self.n if self.grid else 0

    def apply(self, name: str, grid: Size, block: Size) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Grid and block to launch instead of the baseline's; `LaunchError` if they do not fit."""
        old_grid, old_block = dim3("grid", grid), dim3("block", block)
        if self.block and old_block != self.block or self.grid and old_grid != self.grid:
            made_for = f"grid {_short(self.grid or old_grid)} and block {_short(self.block or old_block)}"
            raise LaunchError(f"{name} was made for {made_for}, not for {_short(old_grid)} and {_short(old_block)}")
        within(name, self.threads, old_block)
        blocks = old_grid[self.grid_axis]
        if blocks % self.n and not self.grid:
            raise LaunchError(
                f"a grid of {blocks} blocks along {AXES[self.grid_axis]} is no multiple of {self.n}; {name} needs a "
                f"guard: ask for it with .fitted(grid, block), or give grid={_short(old_grid)} to the pass"
            )
        threads = old_block[0] * old_block[1] * old_block[2]
        if threads * self.n > MOST_THREADS >= threads:
            fit = f"n = {MOST_THREADS // threads} fits" if threads * 2 <= MOST_THREADS else "no two of them fit"
            raise LaunchError(
                f"{name} puts {self.n} blocks of {threads} threads into one, and no card has blocks of more than "
                f"{MOST_THREADS} threads: {fit}"
            )
        flat = all(size == 1 for size in old_block[self.block_axis + 1 :])
        if self.warps and (threads % WARP or not flat):
            why = f"the {threads} threads of a block are no multiple of {WARP}"
            if not threads % WARP:
                why = f"blocks of {_short(old_block)} are joined along {AXES[self.block_axis]}; give block= to the pass"
            what = f"{name} uses operations of a warp, and the warps of its blocks would not be those of the baseline"
            raise LaunchError(f"{what}: {why}")
        if self.kernel is not None and threads % WARP and threads == old_block[0] and not self.block_axis:
            self.keep_lockstep(name, self.kernel, threads)
        new_grid, new_block = list(old_grid), list(old_block)
        new_grid[self.grid_axis] = -(-blocks // self.n)
        new_block[self.block_axis] *= self.n
        return _short(new_grid), _short(new_block)

    def keep_lockstep(self, name: str, kernel: Kernel, threads: int) -> None:
        """Refuse blocks whose warps are torn between two accesses that nothing else orders."""
        pair = torn_pair(analysed(outline(kernel)), threads, self.n)
        if pair is not None:
            lines = " and ".join(dict.fromkeys(f"{touch.node.lineno}" for touch in pair))  # type: ignore[attr-defined]
            why = f"the {threads} threads of a block are no multiple of {WARP}"
            raise LaunchError(
                f"{name} counts on the lockstep of a warp (line {lines}: {pair[0].array.name!r} is stored and loaded "
                f"without a barrier between), and the warps of its blocks would not be those of the baseline: {why}"
            )

    def check(self, name: str, grid: Size, block: Size) -> None:
        """Refuse a launch that is not what `apply` gives for any baseline."""
        new_grid, new_block = dim3("grid", grid), dim3("block", block)
        if new_block[self.block_axis] % self.n:
            raise LaunchError(
                f"block {_short(new_block)} does not hold {self.n} virtual blocks along {AXES[self.block_axis]}; "
                f"{name}.geometry(grid, block) gives the grid and block to launch for those of the baseline"
            )
        old_grid, old_block = list(new_grid), list(new_block)
        old_grid[self.grid_axis] *= self.n
        old_block[self.block_axis] //= self.n
        fits, _ = self.apply(name, self.grid or old_grid, old_block)
        if self.grid and fits != _short(new_grid):
            raise LaunchError(f"{name} was made to be launched on a grid of {fits} blocks, not {_short(new_grid)}")


def within(name: str, threads: int | None, block: Size) -> None:
    """Refuse blocks that are longer along x than a kernel relies on, by `threads=` of the pass that made it."""
    if threads is not None and dim3("block", block)[0] > threads:
        made_for = f"{name} was made for blocks of at most {threads} threads along x (threads={threads})"
        raise LaunchError(f"{made_for}, not of {dim3('block', block)[0]}")


def _short(size: Sequence[int]) -> tuple[int, ...]:
    """A size without its trailing ones."""
    last = max((i for i, extent in enumerate(size) if extent != 1), default=0)
    return tuple(size[: last + 1])


class VirtualKernel(Kernel):
    """A kernel made by `vtb`, `vtb_pipe` or `co_vtb`: a thread block of it does the work of n blocks of the baseline.

    It is launched with the grid and block that `geometry` gives. `source` is a complete Python file that needs nothing
    of smmux and runs under Numba as it is.
    """

    def __init__(self, definition: FunctionSource, merge: Merge, again: Callable[..., VirtualKernel]) -> None:
        super().__init__(definition)
        self.merge, self._again = merge, again

    @property
    def n(self) -> int:
        """Virtual blocks in a thread block."""
        return self.merge.n

    def geometry(self, grid: Size, block: Size) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The (grid, block) to launch where the baseline is launched with these.

        Raises `LaunchError` where they do not fit: a grid that is no multiple of n, with a kernel that was not made for
        it; warps that would lie in two virtual blocks, with a kernel that uses its warps.
        """
        return self.merge.apply(self.__name__, grid, block)

    def fitted(self, grid: Size, block: Size) -> VirtualKernel:
        """The same transformation for one grid and block of the baseline.

        Sizes become constants. Blocks are put together along a dimension of the grid that is a multiple of n; if there
        is none, the virtual blocks too many take no part, but meet all barriers.
        """
        return self._again(grid=grid, block=block)

    @cached_property
    def source(self) -> str:
        """The kernel as a Python file for Numba: imports, constants, device functions, kernel."""
        return listing(self.definition)

    def simulate(
        self, grid: Size, block: Size, args: Sequence[Any], gpu: str | Gpu | None = None, **options: Any
    ) -> Result:
        """As `Kernel.simulate`; grid and block are those that `geometry` gives."""
        self.merge.check(self.__name__, grid, block)
        return super().simulate(grid, block, args, gpu, **options)
