"""Machines, and each of their models callable alone."""
