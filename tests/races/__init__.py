"""Races in global memory, planted in kernels of all kinds, and the same kernels without them."""
