"""The scalar types of kernels, spelled as in Numba: `float32(x)` casts, `np.zeros(4, float32)` makes an array, and
`float32[:, :]` is an array type in a signature.

>>> import numpy as np
>>> bool(float32(0.1) == np.float32(0.1))
True
>>> int32[:, :]
int32[:, :]
>>> np.zeros(2, uint8).dtype
dtype('uint8')
"""

from smmux.language.types import *  # noqa: F403
from smmux.language.types import (
    __all__ as __all__,
    b1 as b1,
    bool_ as bool_,
    c8 as c8,
    c16 as c16,
    f2 as f2,
    f4 as f4,
    f8 as f8,
    i1 as i1,
    i2 as i2,
    i4 as i4,
    i8 as i8,
    intp as intp,
    none as none,
    u1 as u1,
    u2 as u2,
    u4 as u4,
    u8 as u8,
    uintp as uintp,
)
