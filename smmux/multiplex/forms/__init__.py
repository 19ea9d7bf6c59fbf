"""What becomes of a kernel: each form of multiplexing is one transformation."""
