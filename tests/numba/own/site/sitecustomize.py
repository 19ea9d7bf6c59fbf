"""Read by Python processes that Numba's tests start: they, too, get smmux for `numba.cuda`."""

from tests.numba.own.replaced import replace

replace()
