"""What a run returns: counters, findings, time lines, pages."""
