// Steps of a transformer in halves and bytes.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

// c = a b^T by ldmatrix and mma.m16n8k16: a block of four warps makes 64 x 32 from tiles of depth 32.
extern "C" __global__ void project(int n, const half *__restrict__ a, const half *__restrict__ b, half *c)
{
    __shared__ __align__(16) half left[64][40], right[32][40];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, row = blockIdx.y * 64, column = blockIdx.x * 32;
    float sums[4][4] = {};
    for (int k = 0; k < n; k += 32) {
        for (int i = t; i < 256; i += 128)
            *(uint4 *)&left[i / 4][i % 4 * 8] = *(const uint4 *)&a[(row + i / 4) * n + k + i % 4 * 8];
        *(uint4 *)&right[t / 4][t % 4 * 8] = *(const uint4 *)&b[(column + t / 4) * n + k + t % 4 * 8];
        __syncthreads();
        for (int j = 0; j < 32; j += 16) {
            unsigned l[4], r[2], at = (unsigned)__cvta_generic_to_shared(&left[warp * 16 + lane % 16][j + lane / 16 * 8]);
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(l[0]), "=r"(l[1]), "=r"(l[2]), "=r"(l[3]) : "r"(at));
            for (int s = 0; s < 4; s++) {
                at = (unsigned)__cvta_generic_to_shared(&right[s * 8 + lane % 8][j + lane / 8 % 2 * 8]);
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(at));
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+f"(sums[s][0]), "+f"(sums[s][1]), "+f"(sums[s][2]), "+f"(sums[s][3])
                             : "r"(l[0]), "r"(l[1]), "r"(l[2]), "r"(l[3]), "r"(r[0]), "r"(r[1]));
            }
        }
        __syncthreads();
    }
    for (int s = 0; s < 4; s++)
        for (int h = 0; h < 2; h++)
            *(half2 *)&c[(row + warp * 16 + lane / 4 + 8 * h) * n + column + s * 8 + lane % 4 * 2] = __floats2half2_rn(sums[s][2 * h], sums[s][2 * h + 1]);
}

extern "C" __global__ void bytes_product(int n, const signed char *__restrict__ a, const signed char *__restrict__ b, int *c)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, row = warp / (n / 16) * 16, column = warp % (n / 16) * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> sum;
    wmma::fill_fragment(sum, 0);
    for (int k = 0; k < n; k += 16) {
        wmma::load_matrix_sync(left, a + row * n + k, n);
        wmma::load_matrix_sync(right, b + column * n + k, n);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}

extern "C" __global__ void rms_norm(int n, const half2 *__restrict__ x, const half2 *__restrict__ scale, half2 *y)
{
    __shared__ float part[4];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 128) {
        float2 v = __half22float2(x[blockIdx.x * n + i]);
        sum += v.x * v.x + v.y * v.y;
    }
    for (int step = 16; step; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    float inverse = rsqrtf((part[0] + part[1] + part[2] + part[3]) / (2 * n) + 1e-5f);
    for (int i = threadIdx.x; i < n; i += 128) {
        float2 v = __half22float2(x[blockIdx.x * n + i]), s = __half22float2(scale[i]);
        y[blockIdx.x * n + i] = __floats2half2_rn(v.x * inverse * s.x, v.y * inverse * s.y);
    }
}

// Pairs of numbers are turned by the angle of their place.
extern "C" __global__ void rotate(int pairs, float2 *x)
{
    int place = blockIdx.x, i = threadIdx.x;
    float s, c, angle = place * exp2f(-13.287712f * i / pairs);
    sincosf(angle, &s, &c);
    float2 v = x[place * pairs + i];
    x[place * pairs + i] = make_float2(c * v.x - s * v.y, s * v.x + c * v.y);
}

extern "C" __global__ void gated(int n, const float4 *__restrict__ gate, const float4 *__restrict__ up, float4 *y)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 g = gate[i], u = up[i];
        y[i] = make_float4(g.x / (1 + __expf(-g.x)) * u.x, g.y / (1 + __expf(-g.y)) * u.y, g.z / (1 + __expf(-g.z)) * u.z, g.w / (1 + __expf(-g.w)) * u.w);
    }
}

// A warp rounds a row to bytes, scaled by its largest number.
extern "C" __global__ void quantize(int n, const float *__restrict__ x, signed char *y, float *scales)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float most = 0;
    for (int i = lane; i < n; i += 32)
        most = fmaxf(most, fabsf(x[row * n + i]));
    for (int step = 16; step; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    if (lane == 0)
        scales[row] = most / 127;
    for (int i = lane; i < n; i += 32)
        y[row * n + i] = (signed char)rintf(x[row * n + i] * (127 / most));
}
