"""Functions in the kernel language that the machine has no operation for."""
