"""Forms whose thread blocks hold several virtual ones, which take turns."""
