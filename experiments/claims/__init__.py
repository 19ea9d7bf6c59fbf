"""Judges of the paper's claims: each function compares one sentence of claims.toml with what was simulated."""
