"""The software variants on a real card: the script that measured them, and what it measured."""
