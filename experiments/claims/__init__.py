"""Judges of the paper's claims: each compares one sentence of `claims.toml` with what was simulated."""
