"""Functions of float64 that the machine has no operation for, in the kernel language itself: within one unit in the
last place, special values as in C.

Polynomials are best ones of their degree (Remez's exchange algorithm, `tests/compiler/minimax.py`), each with its
domain and largest error; where an error in the argument would be magnified, numbers have two words (`double_words`).
"""
