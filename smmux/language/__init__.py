"""The names and types of the kernel language."""
