"""Stores to slices, element by element: functions of the kernel language, written out where they are needed.

Their parameters have no annotations, since kernels are compiled for what they get.
"""


def fill1(view, value):
    """Let all elements of a vector be a number."""
    for i in range(len(view)):
        view[i] = value


def fill2(view, value):
    """Let all elements of a matrix be a number."""
    for i in range(view.shape[0]):
        for j in range(view.shape[1]):
            view[i, j] = value


def fill3(view, value):
    """Let all elements of an array with three axes be a number."""
    for i in range(view.shape[0]):
        for j in range(view.shape[1]):
            for k in range(view.shape[2]):
                view[i, j, k] = value


def copy1(view, other):
    """Copy a vector."""
    for i in range(len(view)):
        view[i] = other[i]


def copy2(view, other):
    """Copy a matrix."""
    for i in range(view.shape[0]):
        for j in range(view.shape[1]):
            view[i, j] = other[i, j]


def copy3(view, other):
    """Copy an array with three axes."""
    for i in range(view.shape[0]):
        for j in range(view.shape[1]):
            for k in range(view.shape[2]):
                view[i, j, k] = other[i, j, k]
