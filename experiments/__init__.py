"""One script per figure or table: `python -m experiments.NAME [--out DIR] [--quick] [--jobs N]`.

A script does nothing at import. `run` simulates and returns records, `plot` draws them on axes, `check` compares them
with what the paper says, and `main` is the command. README.md says what lies where and how to add a figure.
"""

import smmux  # noqa: F401  before all that takes time: from here on Ctrl-C ends a command with one line
