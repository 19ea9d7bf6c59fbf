"""A run of a compiled program."""
