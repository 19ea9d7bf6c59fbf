"""`cuda.libdevice`: functions of fixed types, each under the name that NVIDIA's library of device functions has for it.

Arguments are converted to the types of the parameters. Functions that round otherwise than to the nearest number, and
those of which there is no more than a name in most kernels (Bessel functions, inverses of the error function), are not
there.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from smmux.errors import did_you_mean, no_attribute
from smmux.language.kernel_only import kernel_only

__all__ = ["SIGNATURES"]

TYPES = {"f": "float32", "d": "float64", "i": "int32", "u": "uint32", "q": "int64", "w": "uint64"}

TABLE = """
d(d) acos acosh asin asinh atan atanh cbrt ceil cos cosh cospi drcp_rn dsqrt_rn erf erfc exp exp10 exp2 expm1 fabs
d(d) floor lgamma log log10 log1p log2 nearbyint normcdf rcbrt rint round rsqrt sin sinh sinpi sqrt tan tanh tgamma
d(d) trunc
f(f) acosf acoshf asinf asinhf atanf atanhf cbrtf ceilf cosf coshf cospif erff erfcf expf exp10f exp2f expm1f fabsf
f(f) floorf frcp_rn frsqrt_rn fsqrt_rn lgammaf logf log10f log1pf log2f nearbyintf normcdff rcbrtf rintf roundf
f(f) rsqrtf saturatef sinf sinhf sinpif sqrtf tanf tanhf tgammaf truncf
f(f) fast_cosf fast_exp10f fast_expf fast_log10f fast_log2f fast_logf fast_sinf fast_tanf
d(dd) atan2 copysign dadd_rn ddiv_rn dmul_rn fdim fmax fmin fmod hypot nextafter pow remainder
f(ff) atan2f copysignf fadd_rn fast_fdividef fast_powf fdimf fdiv_rn fmaxf fminf fmodf fmul_rn fsub_rn hypotf
f(ff) nextafterf powf remainderf
d(ddd) fma fma_rn
f(fff) fmaf fmaf_rn
d(di) ldexp powi scalbn
f(fi) ldexpf powif scalbnf
dd(d) modf sincos sincospi
ff(f) fast_sincosf modff sincosf sincospif
di(d) frexp
fi(f) frexpf
i(d) isfinited isinfd isnand signbitd
i(f) finitef isinff isnanf signbitf
q(d) llrint llround
q(f) llrintf llroundf
i(i) abs clz ffs popc
q(q) llabs
i(q) clzll ffsll popcll
u(u) brev
w(w) brevll
i(ii) hadd max min mul24 mulhi rhadd
u(uu) uhadd umax umin umul24 umulhi urhadd
q(qq) llmax llmin
w(ww) ullmax ullmin
u(iiu) sad
u(uuu) usad
i(d) double2int_rd double2int_rn double2int_ru double2int_rz double2hiint double2loint
u(d) double2uint_rd double2uint_rn double2uint_ru double2uint_rz
q(d) double2ll_rd double2ll_rn double2ll_ru double2ll_rz double_as_longlong
w(d) double2ull_rd double2ull_rn double2ull_ru double2ull_rz
i(f) float2int_rd float2int_rn float2int_ru float2int_rz float_as_int
u(f) float2uint_rd float2uint_rn float2uint_ru float2uint_rz
q(f) float2ll_rd float2ll_rn float2ll_ru float2ll_rz
w(f) float2ull_rd float2ull_rn float2ull_ru float2ull_rz
f(d) double2float_rn
d(i) int2double_rn
d(u) uint2double_rn
d(q) ll2double_rn longlong_as_double
d(w) ull2double_rn
d(ii) hiloint2double
f(i) int2float_rn int_as_float
f(u) uint2float_rn
f(q) ll2float_rn
f(w) ull2float_rn
"""
"""Results, parameters and names; a letter of `TYPES` each."""


def _rows() -> dict[str, tuple[str, str]]:
    """Letters of the results and of the parameters by name."""
    rows = {}
    for line in TABLE.split("\n"):
        signature, *names = line.split() or [""]
        results, _, parameters = signature.rstrip(")").partition("(")
        rows.update(dict.fromkeys(names, (results, parameters)))
    return rows


SIGNATURES = _rows()


def _declared(name: str, results: str, parameters: str) -> Callable[..., Any]:
    """A function that has a meaning only inside kernels."""

    def function(*arguments: Any) -> Any:
        kernel_only(f"cuda.libdevice.{name}")

    assert isinstance(function, FunctionType)
    function.__name__ = function.__qualname__ = name
    taken, given = (", ".join(TYPES[letter] for letter in letters) for letters in (parameters, results))
    function.__doc__ = f"{name}({taken}) -> {given}"
    return function


globals().update({name: _declared(name, *signature) for name, signature in SIGNATURES.items()})


def __getattr__(name: str) -> Any:
    """Say which names there are."""
    raise no_attribute(lambda: f"smmux.language.libdevice has no attribute {name!r}{did_you_mean(name, SIGNATURES)}")


def __dir__() -> list[str]:
    return sorted(SIGNATURES)
