"""Numba's own tests of `numba.cuda`, with smmux in its place."""
