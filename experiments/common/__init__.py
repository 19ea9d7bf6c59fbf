"""What the scripts share: the command line, the runs and the machines, and what is computed from records."""
