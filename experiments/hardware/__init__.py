"""Software variants on a real card: the script that measured them, and its results."""
