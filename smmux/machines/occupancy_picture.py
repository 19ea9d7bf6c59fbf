"""The picture of occupancy over the size of a block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smmux.base.counted import counted
from smmux.drawing.svg import Svg, swatches

if TYPE_CHECKING:
    from smmux.machines.occupancy import Occupancy

__all__ = ["occupancy_chart"]

LIMITERS = {"shared memory": "S", "registers": "R", "warps": "W", "threads": "T", "blocks": "B", "counter": "C"}
"""Letters of the resources that limit occupancy, in the order of their looks."""


def occupancy_chart(found: Occupancy) -> str:
    """Resident warps over the block size, a letter for what limits them, and the blocks; the given size is framed."""
    sizes = found.over_block_sizes()
    step, high, left, top = (30 if len(sizes) <= 20 else 24), 120, 44, 22
    svg = Svg(max(420, left + step * len(sizes) + 8), top + high + 66, f"occupancy over block size on {found.gpu}")
    svg.text(2, 12, "resident warps")
    for share in (0, 0.5, 1):
        y = top + high * (1 - share)
        svg.line(left, y, left + step * len(sizes), y, "" if share == 0 else "2 3")
        svg.text(left - 5, y + 4, f"{share * found.max_warps:g}", "end", 10)
    looks = list(LIMITERS)
    for n, each in enumerate(sizes):
        x, y = left + step * n, top + high * (1 - each.occupancy)
        own = each.threads_per_block == found.threads_per_block
        held = f"{counted(each.blocks, 'block')}, {counted(each.warps, 'warp')}"
        tip = f"{each.threads_per_block} threads: {held}, limited by {each.limiter}"
        svg.rect(x + 2, y, step - 4, high * each.occupancy, looks.index(each.limiter), tip)
        svg.text(x + step / 2, y - 3, LIMITERS[each.limiter], "middle", 10, own)
        svg.text(x + step / 2, top + high + 12, str(each.threads_per_block), "middle", 9, own)
        svg.text(x + step / 2, top + high + 24, str(each.blocks), "middle", 9, own)
        if own:
            svg.rect(x, top - 12, step, high + 40, None)
    svg.text(left - 5, top + high + 12, "threads", "end", 9)
    svg.text(left - 5, top + high + 24, "blocks", "end", 9)
    used = [(look, f"{LIMITERS[name]} {name}") for look, name in enumerate(looks) if name in {e.limiter for e in sizes}]
    swatches(svg, left, top + high + 42, used)
    return str(svg)
