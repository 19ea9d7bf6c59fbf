"""Syntax trees: making, placing and printing them; nothing in here knows what shared memory is used for."""
