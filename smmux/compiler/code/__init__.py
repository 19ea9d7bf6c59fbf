"""From IR to registers and code."""
