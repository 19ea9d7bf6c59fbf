"""IR as text: written, read back, and compiled. The second front end, beside that of Python kernels."""
