// Arithmetic in pairs of half-precision numbers, and conversions of them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void half_pairs(const __half2 *x, __half2 *y, __half2 a, float *sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    __half2 value = __hfma2(a, x[i], y[i]);
    y[i] = __hmul2(value, __float2half2_rn(0.5f));
    sums[i] = __low2float(value) + __half2float(__hmax(__high2half(value), __low2half(x[i])));
}

extern "C" __global__ void bfloats(const __nv_bfloat16 *x, float *y, int n)
{
    int i = threadIdx.x;
    if (i < n)
        y[i] = __bfloat162float(x[i]) * 2.0f + __bfloat162float(__float2bfloat16(y[i]));
}
