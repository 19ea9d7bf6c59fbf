// One thread per element: arithmetic of all types, conversions, functions, structures, copies of bytes.
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define AXPY(NAME, T)                                                                                                  \
    extern "C" __global__ void NAME(T a, const T *x, T *y, int n)                                                      \
    {                                                                                                                  \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                                                 \
        if (i < n)                                                                                                     \
            y[i] = a * x[i] + y[i];                                                                                    \
    }
AXPY(axpy_float, float)
AXPY(axpy_double, double)
AXPY(axpy_int, int)
AXPY(axpy_long, long long)
AXPY(axpy_short, short)
AXPY(axpy_half, __half)
AXPY(axpy_bfloat, __nv_bfloat16)

extern "C" __global__ void axpy_half2(__half2 a, const __half2 *x, __half2 *y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = __hfma2(a, x[i], y[i]);
}

#define INTEGERS(NAME, T)                                                                                              \
    extern "C" __global__ void NAME(const T *x, const T *y, T *out, int n)                                             \
    {                                                                                                                  \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                                                 \
        if (i >= n)                                                                                                    \
            return;                                                                                                    \
        T a = x[i], b = y[i], *to = out + 8 * i;                                                                       \
        to[0] = a / b, to[1] = a % b, to[2] = a * b, to[3] = a - b;                                                    \
        to[4] = a >> (b & 7), to[5] = a << (b & 7), to[6] = a < b ? a : b, to[7] = (a ^ b) | ~(a & b);                 \
    }
INTEGERS(integers_s8, int8_t)
INTEGERS(integers_u8, uint8_t)
INTEGERS(integers_s16, int16_t)
INTEGERS(integers_u16, uint16_t)
INTEGERS(integers_s32, int32_t)
INTEGERS(integers_u32, uint32_t)
INTEGERS(integers_s64, int64_t)
INTEGERS(integers_u64, uint64_t)

extern "C" __global__ void wide_integers(const uint64_t *x, const uint64_t *y, uint64_t *out, int n)
{
    typedef unsigned __int128 wide;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    wide a = (wide)x[2 * i + 1] << 64 | x[2 * i], b = (wide)y[2 * i + 1] << 64 | y[2 * i];
    wide made[4] = {a * b, a + b, a / b, a % b};
    for (int k = 0; k < 4; k++) {
        out[8 * i + 2 * k] = (uint64_t)made[k];
        out[8 * i + 2 * k + 1] = (uint64_t)(made[k] >> 64);
    }
}

extern "C" __global__ void bit_tricks(const unsigned *x, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned v = x[i], w = x[(i + 1) % n];
    unsigned long long wide = (unsigned long long)v << 32 | w;
    unsigned *to = out + 10 * i;
    to[0] = __popc(v), to[1] = __clz(v), to[2] = __brev(v), to[3] = __ffs(v), to[4] = __popcll(wide);
    to[5] = __clzll(wide), to[6] = __umulhi(v, w), to[7] = __byte_perm(v, w, 0x6153);
    to[8] = __funnelshift_r(v, w, v), to[9] = __usad(v, w, 7u) + __umul24(v, w);
}

extern "C" __global__ void convert_float(const float *x, int *s32, unsigned *u32, long long *s64, double *f64,
    __half *f16, float *back, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = x[i];
    s32[i] = (int)v, u32[i] = (unsigned)(v < 0 ? -v : v), s64[i] = (long long)(v * 1e6), f64[i] = v, f16[i] = __float2half(v);
    back[i] = (float)s32[i] + (float)u32[i] + (float)(signed char)s32[i] + (float)(unsigned short)u32[i] + rintf(v)
        + floorf(v) + ceilf(v) + truncf(v);
}

extern "C" __global__ void convert_double(const double *x, int *s32, unsigned long long *u64, float *f32, double *back, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double v = x[i];
    s32[i] = (int)v, u64[i] = (unsigned long long)fabs(v * 1e9), f32[i] = (float)v;
    back[i] = (double)s32[i] + (double)u64[i] + rint(v) + floor(v) + ceil(v);
}

extern "C" __global__ void float_functions(const float *x, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = x[i], *to = out + 16 * i;
    to[0] = sinf(v), to[1] = cosf(v), to[2] = expf(v), to[3] = logf(v), to[4] = sqrtf(v), to[5] = rsqrtf(v);
    to[6] = tanhf(v), to[7] = powf(v, 2.5f), to[8] = atanf(v), to[9] = erff(v), to[10] = cbrtf(v), to[11] = 1 / v;
    to[12] = fmodf(v, 0.3f), to[13] = exp2f(v), to[14] = log2f(v), to[15] = hypotf(v, 2.0f);
}

extern "C" __global__ void double_functions(const double *x, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double v = x[i], *to = out + 16 * i;
    to[0] = sin(v), to[1] = cos(v), to[2] = exp(v), to[3] = log(v), to[4] = sqrt(v), to[5] = rsqrt(v);
    to[6] = tanh(v), to[7] = pow(v, 2.5), to[8] = atan(v), to[9] = erf(v), to[10] = cbrt(v), to[11] = 1 / v;
    to[12] = fmod(v, 0.3), to[13] = tgamma(v), to[14] = log1p(v), to[15] = hypot(v, 2.0);
}

extern "C" __global__ void large_angles(const float *x, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = sinf(x[i]);
}

extern "C" __global__ void black_scholes(
    const float *price, const float *strike, const float *years, float *call, float *put, float rate, float volatility, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float root = sqrtf(years[i]);
    float d1 = (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / (volatility * root);
    float d2 = d1 - volatility * root, discounted = strike[i] * expf(-rate * years[i]);
    call[i] = price[i] * normcdff(d1) - discounted * normcdff(d2);
    put[i] = discounted * normcdff(-d2) - price[i] * normcdff(-d1);
}

extern "C" __global__ void mandelbrot(int *counts, int width, int height, int limit)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height)
        return;
    double cx = -2.0 + 3.0 * column / width, cy = -1.5 + 3.0 * row / height, zx = 0, zy = 0;
    int count = 0;
    for (; count < limit; count++) {
        double xx = __dmul_rn(zx, zx), yy = __dmul_rn(zy, zy);
        if (__dadd_rn(xx, yy) > 4)
            break;
        zy = __dadd_rn(__dmul_rn(__dmul_rn(2, zx), zy), cy);
        zx = __dadd_rn(__dadd_rn(xx, -yy), cx);
    }
    counts[row * width + column] = count;
}

extern "C" __global__ void gray(const uchar4 *pixels, unsigned char *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = (pixels[i].x * 77 + pixels[i].y * 150 + pixels[i].z * 29) >> 8;
}

extern "C" __global__ void unaligned_copy(const unsigned char *from, unsigned char *to, int shift, int n)
{
    struct __attribute__((packed)) Odd {
        unsigned char head;
        unsigned word;
        unsigned long long wide;
    };
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Odd one;
    memcpy(&one, from + shift + sizeof(Odd) * i, sizeof(Odd));
    one.head ^= 0x55, one.word += i, one.wide *= 3;
    memcpy(to + shift + sizeof(Odd) * i, &one, sizeof(Odd));
}

extern "C" __global__ void vectors(const float4 *x, const double2 *y, const short4 *s, char3 *c, float4 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 v = x[i];
    double2 d = y[i];
    short4 k = s[i];
    c[i] = make_char3((char)k.x, (char)(k.y + k.z), (char)k.w);
    out[i] = make_float4(v.w + k.x, v.z * k.y, v.y - k.z, (float)(v.x + d.x * d.y));
}

extern "C" __global__ void complex_powers(const float2 *z, float2 *out, int exponent, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float2 base = z[i], result = make_float2(1, 0);
    for (int e = exponent; e; e >>= 1) {
        if (e & 1)
            result = make_float2(result.x * base.x - result.y * base.y, result.x * base.y + result.y * base.x);
        base = make_float2(base.x * base.x - base.y * base.y, 2 * base.x * base.y);
    }
    out[i] = result;
}

extern "C" __global__ void directed_rounding(const float *x, const float *y, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float *to = out + 8 * i;
    to[0] = __fadd_ru(x[i], y[i]), to[1] = __fadd_rd(x[i], y[i]), to[2] = __fmul_rz(x[i], y[i]);
    to[3] = __fmaf_ru(x[i], y[i], 1.0f), to[4] = __fdiv_rd(x[i], y[i]), to[5] = __fsqrt_ru(fabsf(x[i]));
    to[6] = __saturatef(x[i]), to[7] = __frcp_rz(y[i]);
}
