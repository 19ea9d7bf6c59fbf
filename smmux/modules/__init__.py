"""Compiled GPU code as people hold it: modules of kernels, from CUDA C++, PTX, files, Numba or Triton."""
