"""Microbenchmarks of NVIDIA's Hopper (compute capability 9.0), and what they measured on an H100 and an H200."""
