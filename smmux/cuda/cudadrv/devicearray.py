"""The class of device arrays."""

from smmux.host import DeviceNDArray
from smmux.host import is_cuda_array as is_cuda_ndarray

__all__ = ["DeviceNDArray", "is_cuda_ndarray"]
