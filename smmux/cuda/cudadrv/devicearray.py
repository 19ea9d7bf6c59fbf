"""The class of device arrays."""

from smmux.running.host import DeviceNDArray, is_cuda_array as is_cuda_ndarray

__all__ = ["DeviceNDArray", "is_cuda_ndarray"]
