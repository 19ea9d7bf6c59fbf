"""Where programs for Numba find the class of device arrays, and the errors of CUDA's driver, which nothing raises."""

from smmux.cuda.cudadrv import devicearray, error

__all__ = ["devicearray", "error"]
