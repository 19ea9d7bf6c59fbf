"""Errors of CUDA's driver, as programs for Numba name them in `except`: there is none, and nothing raises them."""

__all__ = ["CudaDriverError", "CudaSupportError"]


class CudaDriverError(Exception):
    """An error of the driver."""


class CudaSupportError(ImportError):
    """CUDA is not there."""
