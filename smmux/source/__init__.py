"""The text of a Python kernel."""
