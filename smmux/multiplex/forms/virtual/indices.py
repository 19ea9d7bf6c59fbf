"""Where a thread is, seen from its virtual block: threadIdx, blockIdx and their like in a kernel and its functions.

n virtual blocks lie side by side along one axis of the thread block and one of the grid. A kernel's prologue computes
from the real indices the virtual ones, which take their place everywhere; device functions that use them get them as
further arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from smmux import cuda
from smmux.base.parsing import expression, statement
from smmux.base.trees import copied, walk
from smmux.kernels.kernel import Kernel
from smmux.language.kernel_only import Attribute, Dim3
from smmux.multiplex.forms.virtual.geometry import AXES, Merge
from smmux.rewriting.build import at
from smmux.rewriting.draft import Names
from smmux.rewriting.refusals import refuse
from smmux.rewriting.vocabulary import calls, from_outside, functions, held_functions
from smmux.source.attributes import peek
from smmux.source.function_source import FunctionSource

WARP_FUNCTIONS = (
    cuda.shfl_sync, cuda.shfl_up_sync, cuda.shfl_down_sync, cuda.shfl_xor_sync, cuda.all_sync, cuda.any_sync,
    cuda.eq_sync, cuda.ballot_sync, cuda.activemask, cuda.syncwarp,
)  # fmt: skip

POSITIONS = (cuda.grid, cuda.gridsize)


def thread_axis(source: FunctionSource) -> int:
    """The last axis of the thread block that a kernel looks at."""
    axes = {0}
    for function, node in _nodes(source):
        if isinstance(node, ast.Attribute) and node.attr in AXES:
            place = function.resolve(node.value)
            if isinstance(place, Dim3) and place.name in ("threadIdx", "blockDim"):
                axes.add(AXES.index(node.attr))
        elif calls(function, node, POSITIONS):
            axes.add(_dimensions(function, node) - 1)
    return max(axes)


def uses_warps(source: FunctionSource) -> bool:
    """Whether a kernel has operations of a warp, or asks for the lane."""
    used = [function.resolve(n) for function, n in _nodes(source) if isinstance(n, ast.Name | ast.Attribute)]
    lane = any(isinstance(found, Attribute) and found.name == "laneid" for found in used)
    return lane or any(found is function for found in used for function in WARP_FUNCTIONS)


def _nodes(source: FunctionSource) -> Iterator[tuple[FunctionSource, ast.AST]]:
    """All nodes of a kernel and of the device functions that it calls."""
    return ((function, node) for function in functions(source) for node in walk(function.node))


def _dimensions(source: FunctionSource, call: ast.AST) -> int:
    assert isinstance(call, ast.Call)
    value = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    if value not in (1, 2, 3):
        raise refuse(source, call, "the number of dimensions has to be the literal 1, 2 or 3")
    assert isinstance(value, int)
    return value


class Indices:
    """Virtual indices of a kernel, and the functions that have been rewritten to take them.

    Names: virtual_block, within the thread block; virtual_thread, within the virtual block; virtual_size, the threads
    of a virtual block along the axis, if not constant; block_index, of the virtual block in the grid; turn, whose
    virtual block has its turn, which is virtual_block unless the grid lacks some. used: those that the kernel needs.
    in_grid: what is true for the virtual blocks that the grid has, if there are others too: those of the last block.
    """

    def __init__(self, merge: Merge, names: Names) -> None:
        self.merge, self.module = merge, names.module("cuda", cuda)
        self.virtual_block = names.new("v_tb_id", "virtual_block")
        self.virtual_thread = names.new("v_t_id", "virtual_thread")
        self.virtual_size = names.new("v_tb_size", "virtual_size")
        self.block_index = names.new("block_id", "v_block_id", "virtual_block_id")
        self.all = (self.virtual_block, self.virtual_thread, self.virtual_size, self.block_index)
        self.axis, self.grid_axis = AXES[merge.block_axis], AXES[merge.grid_axis]
        self.threads = merge.block[merge.block_axis] if merge.block else None
        self.turn = self.virtual_block
        self.in_grid: tuple[str, ...] = ()
        if merge.excess:
            self.turn = names.new("v_turn_id", "virtual_turn")
            self.in_grid = (f"{self.turn} < {merge.n}",)
        self.used: set[str] = set()
        self.functions: dict[FunctionSource, tuple[Kernel, list[str]] | None] = {}

    def component(self, place: Dim3, axis: str) -> str | None:
        """The text of threadIdx.x or its like, None if it is what it was."""
        if place.name == "threadIdx" and axis == self.axis:
            return self.virtual_thread
        if place.name == "blockDim" and axis == self.axis:
            return str(self.threads or self.virtual_size)
        if place.name == "blockIdx" and axis == self.grid_axis:
            return self.block_index
        if place.name == "gridDim" and axis == self.grid_axis:
            if self.merge.grid:
                return str(self.merge.grid[self.merge.grid_axis])
            return f"{self.merge.n} * {self.module}.gridDim.{axis}"
        return None

    # -- rewriting

    def rewrite(self, source: FunctionSource, tree: ast.FunctionDef, names: Names) -> set[str]:
        """Put virtual indices in the place of real ones, in a function and in what it calls; those that it uses.

        names: where changed functions become known.
        """
        return self._rewritten(source, tree, names).used

    def _rewritten(self, source: FunctionSource, tree: ast.FunctionDef, names: Names) -> _Rewriter:
        rewriter = _Rewriter(self, source, names)
        rewriter.visit(tree)
        names.added |= rewriter.redirected
        return rewriter

    def function(self, source: FunctionSource) -> tuple[Kernel, list[str]] | None:
        """A device function that sees virtual blocks, and the virtual indices that it takes; None if it can stay."""
        if source not in self.functions:
            self.functions[source] = None  # recursion is refused elsewhere
            self.functions[source] = self._function(source)
        return self.functions[source]

    def _function(self, source: FunctionSource) -> tuple[Kernel, list[str]] | None:
        tree = copied(source.node)
        names = Names(source, tree)
        rewriter = self._rewritten(source, tree, names)
        if not rewriter.changed:
            return None
        extra = [name for name in self.all if name in rewriter.used]
        for name in extra:
            if name in names.taken or name in source.locals:
                raise refuse(source, None, f"{source.name!r} has a variable {name!r} of its own")
        required = len(tree.args.args) - len(tree.args.defaults)
        tree.args.args[required:required] = [ast.arg(name) for name in extra]
        captured = {**source.captured, **names.added}
        return Kernel(replace(source, node=ast.fix_missing_locations(tree), captured=captured)), extra

    # -- definitions

    def define(self, tree: ast.FunctionDef) -> None:
        """Put the definitions of the virtual indices behind the docstring of a kernel's tree."""
        uses = [n for n in walk(tree) if isinstance(n, ast.Name) and n.id == self.virtual_thread]
        other = [s for s in tree.body if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)]
        alias = next((s for s in other if uses == [s.value]), None)  # `t = cuda.threadIdx.x` defines it
        n, real, size = self.merge.n, f"{self.module}.threadIdx.{self.axis}", self.threads or self.virtual_size
        within = f"{real} {_modulo(self.threads)}" if self.threads else f"{real} - {size} * {self.virtual_block}"
        lines = []
        if not self.threads:
            lines.append(f"{size} = {self.module}.blockDim.{self.axis} // {n}")
        few = n == 2 and not self.threads
        lines.append(f"{self.virtual_block} = " + (f"1 if {real} >= {size} else 0" if few else f"{real} // {size}"))
        if alias is not None:
            alias.value = at(expression(within), alias)
        elif self.virtual_thread in self.used:
            lines.append(f"{self.virtual_thread} = {within}")
        if self.block_index in self.used or self.merge.excess:
            lines.append(f"{self.block_index} = {n} * {self.module}.blockIdx.{self.grid_axis} + {self.virtual_block}")
        if self.merge.excess:
            assert self.merge.grid
            blocks = self.merge.grid[self.merge.grid_axis]
            lines.append(f"{self.turn} = {self.virtual_block} if {self.block_index} < {blocks} else {n}")
        tree.body[1:1] = [at(statement(line), tree.body[0]) for line in lines]


def _modulo(size: int) -> str:
    """The remainder by a size; as a mask where that is one, which tells a card's compiler that it is not negative."""
    return f"& {size - 1}" if size & (size - 1) == 0 else f"% {size}"


class _Rewriter(ast.NodeTransformer):
    """Rewrites the indices of one direct function; names: where changed functions become known.

    changed: whether there was anything to rewrite, if only the size of a grid. used: virtual indices that it needs.
    redirected: changed functions by the names that this one calls them by.
    """

    def __init__(self, indices: Indices, source: FunctionSource, names: Names) -> None:
        self.indices, self.source, self.names = indices, source, names
        self.changed = False
        self.used: set[str] = set()
        self.redirected: dict[str, Kernel] = {}

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not from_outside(self.source, node):
            node.value = self.visit(node.value)
            return node
        place = self.source.resolve(node.value)
        if isinstance(place, Dim3) and node.attr in AXES:
            text = self.virtual(place, node.attr)
            return node if text is None else at(expression(text), node)
        return self.mentioned(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.mentioned(node) if from_outside(self.source, node) else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if not from_outside(self.source, node.func):
            self.generic_visit(node)
            return node
        node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        function = self.source.resolve(node.func)
        if any(function is each for each in POSITIONS):
            return at(expression(self.position(node, function is cuda.grid)), node)
        definition = peek(function, "definition")
        if isinstance(definition, FunctionSource) and (changed := self.indices.function(definition)):
            self.redirect(node, definition, *changed)
        return node

    def mentioned(self, node: ast.Name | ast.Attribute) -> ast.expr:
        """An object from outside that is not called here; refused if virtual blocks must have another one."""
        found, text = self.source.resolve(node), ast.unparse(node)
        if isinstance(found, Dim3):
            raise refuse(self.source, node, f"write {text} with its component: .x, .y or .z")
        if found is cuda or any(found is each for each in POSITIONS):
            raise refuse(
                self.source, node, f"virtual blocks have indices of their own: use {text} only by its own name"
            )
        changed = [(function, self.indices.function(function)) for function in held_functions(found)]
        for function, kernel in changed:
            if kernel is None:
                continue
            if kernel[1] or peek(found, "definition") is not function:
                why = "reads the place of a thread or the size of the grid, which virtual blocks have of their own"
                raise refuse(self.source, node, f"{function.name!r} {why}: call it by its own name")
            return at(ast.Name(self.known_as(function, kernel[0], node), ast.Load()), node)
        return node

    def position(self, node: ast.Call, grid: bool) -> str:
        """cuda.grid(k) or cuda.gridsize(k), written out."""
        parts = []
        for axis in AXES[: _dimensions(self.source, node)]:
            size = self.part(cuda.blockDim, axis)
            if grid:
                parts.append(f"{self.part(cuda.blockIdx, axis)} * {size} + {self.part(cuda.threadIdx, axis)}")
            else:
                parts.append(f"{self.part(cuda.gridDim, axis)} * {size}")
        return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"

    def part(self, place: Dim3, axis: str) -> str:
        """One component, virtual or real."""
        return self.virtual(place, axis) or f"{self.names.module('cuda', cuda)}.{place.name}.{axis}"

    def virtual(self, place: Dim3, axis: str) -> str | None:
        """The text of a virtual component, None for a real one."""
        text = self.indices.component(place, axis)
        self.changed |= text is not None
        if text in self.indices.all:
            self.used.add(text)
        return text

    def redirect(self, node: ast.Call, before: FunctionSource, function: Kernel, extra: list[str]) -> None:
        """Call the changed function, with the indices it takes."""
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            raise refuse(self.source, node, f"{before.name!r} uses thread or block indices: call it without * or **")
        name = self.known_as(before, function, node.func)
        self.used |= set(extra)
        node.func = at(ast.Name(name, ast.Load()), node.func)
        required = len(before.node.args.args) - len(before.node.args.defaults)
        if len(node.args) >= required:
            node.args[required:required] = [at(ast.Name(name, ast.Load()), node) for name in extra]
        else:
            node.keywords += [at(ast.keyword(name, ast.Name(name, ast.Load())), node) for name in extra]

    def known_as(self, before: FunctionSource, function: Kernel, node: ast.expr) -> str:
        """What this function calls a changed one: by the name that it had here, if it had a simple one."""
        self.changed = True
        name = next((name for name, value in self.redirected.items() if value is function), "")
        if not name and isinstance(node, ast.Name) and node.id not in self.redirected:
            name = node.id
        name = name or self.names.new(before.name, f"virtual_{before.name}")
        self.redirected[name] = function
        return name
