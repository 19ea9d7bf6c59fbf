"""Stores to slices, element by element: functions of the kernel language, written out where they are needed.

Their parameters have no annotations, since kernels are compiled for what they get.
"""

from smmux.compiler.library.machine_operations import applied, elements


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


def map1(function, out, operands):
    """Let the elements of a vector be a function of those of the operands."""
    for i in range(len(out)):
        out[i] = applied(function, elements(operands, i))


def map2(function, out, operands):
    """Let the elements of a matrix be a function of those of the operands."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = applied(function, elements(operands, i, j))


def map3(function, out, operands):
    """Let the elements of an array with three axes be a function of those of the operands."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            for k in range(out.shape[2]):
                out[i, j, k] = applied(function, elements(operands, i, j, k))
