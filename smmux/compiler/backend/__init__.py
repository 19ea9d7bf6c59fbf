"""Passes over the IR, and from it to registers and code."""
