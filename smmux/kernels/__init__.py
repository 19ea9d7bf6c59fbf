"""Kernels: declared, compiled and launched."""
