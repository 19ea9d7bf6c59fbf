"""Where a kernel uses shared memory, and what may be moved out of there."""
