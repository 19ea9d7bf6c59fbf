"""Textures: arrays that a launch reads through the texture cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Texture", "texture"]


class Texture(np.ndarray[Any, Any]):
    """A read-only array that kernels read through the texture cache."""


def texture(array: ArrayLike) -> Texture:
    """The array as a 1-D linear texture: `kernel[grid, block](texture(a), ...)`.

    A texture is a property of the argument, not of the kernel, which indexes it like any array but cannot store to it.
    Its elements are read through the texture cache of the SM and have the values of the time of launch: stores of the
    kernel to the same memory stay unseen (CUDA C Programming Guide). It is bound by reference and takes no room among
    the parameters.
    """
    view: NDArray[Any] = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view.view(Texture)
