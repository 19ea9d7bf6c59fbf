"""One script per figure or table: `python -m experiments.NAME [--out DIR] [--quick] [--jobs N]`.

Each has four parts and does nothing at import: `run` simulates and returns records, `plot` draws records on axes,
`check` compares them with what the paper says, `main` is the command.
"""
