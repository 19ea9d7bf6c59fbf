"""Code that scripts and judges share: the command line, runs, machines, and what is computed from records."""
