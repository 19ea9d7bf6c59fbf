// Matrix units.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
using namespace nvcuda;

// A warp makes 16 x 16 of c = a b^T, from global memory.
extern "C" __global__ void halves_global(int n, const half *__restrict__ a, const half *__restrict__ b, float *c)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, row = warp / (n / 16) * 16, column = warp % (n / 16) * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < n; k += 16) {
        wmma::load_matrix_sync(left, a + row * n + k, n);
        wmma::load_matrix_sync(right, b + column * n + k, n);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}

// A block of four warps makes 64 x 64 with copies ahead into shared memory.
extern "C" __global__ void halves_ahead(int n, const half *__restrict__ a, const half *__restrict__ b, float *c)
{
    __shared__ __align__(16) half left[2][64][40], right[2][64][40];
    int t = threadIdx.x, warp = t / 32, row = blockIdx.y * 64, column = blockIdx.x * 64;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][2];
    for (int r = 0; r < 2; r++)
        for (int s = 0; s < 2; s++)
            wmma::fill_fragment(sums[r][s], 0.0f);
    auto fetch = [&](int stage, int k) {
        for (int i = t; i < 256; i += 128) {
            int r = i / 4, s = i % 4 * 8;
            __pipeline_memcpy_async(&left[stage][r][s], &a[(row + r) * n + k + s], 16);
            __pipeline_memcpy_async(&right[stage][r][s], &b[(column + r) * n + k + s], 16);
        }
        __pipeline_commit();
    };
    fetch(0, 0);
    for (int k = 0, stage = 0; k < n; k += 32, stage ^= 1) {
        if (k + 32 < n)
            fetch(stage ^ 1, k + 32);
        else
            __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        for (int j = 0; j < 32; j += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> l[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> r[2];
            for (int s = 0; s < 2; s++) {
                wmma::load_matrix_sync(l[s], &left[stage][warp / 2 * 32 + s * 16][j], 40);
                wmma::load_matrix_sync(r[s], &right[stage][warp % 2 * 32 + s * 16][j], 40);
            }
            for (int r1 = 0; r1 < 2; r1++)
                for (int s = 0; s < 2; s++)
                    wmma::mma_sync(sums[r1][s], l[r1], r[s], sums[r1][s]);
        }
        __syncthreads();
    }
    for (int r = 0; r < 2; r++)
        for (int s = 0; s < 2; s++)
            wmma::store_matrix_sync(c + (row + warp / 2 * 32 + r * 16) * n + column + warp % 2 * 32 + s * 16, sums[r][s], n, wmma::mem_row_major);
}

extern "C" __global__ void doubles_global(int n, const double *__restrict__ a, const double *__restrict__ b, double *c)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, row = warp / (n / 8) * 8, column = warp % (n / 8) * 8;
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> sum;
    wmma::fill_fragment(sum, 0.0);
    for (int k = 0; k < n; k += 4) {
        wmma::load_matrix_sync(left, a + row * n + k, n);
        wmma::load_matrix_sync(right, b + column * n + k, n);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}

// Many products of 16 x 16, each chained `times` times: x <- x m, accumulated in floats.
extern "C" __global__ void small_powers(int times, const half *__restrict__ m, const half *__restrict__ x, float *out)
{
    __shared__ __align__(32) half tile[4][256];
    __shared__ __align__(32) float result[4][256];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, own = (blockIdx.x * 4 + warp) * 256;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::load_matrix_sync(right, m + own, 16);
    for (int i = lane; i < 256; i += 32)
        tile[warp][i] = x[own + i];
    for (int k = 0; k < times; k++) {
        __syncwarp();
        wmma::load_matrix_sync(left, tile[warp], 16);
        wmma::fill_fragment(sum, 0.0f);
        wmma::mma_sync(sum, left, right, sum);
        wmma::store_matrix_sync(result[warp], sum, 16, wmma::mem_row_major);
        __syncwarp();
        for (int i = lane; i < 256; i += 32)
            tile[warp][i] = __float2half(result[warp][i] * 0.25f);
    }
    for (int i = lane; i < 256; i += 32)
        out[own + i] = result[warp][i];
}

extern "C" __global__ void axpy_halves(int n, half2 a, const half2 *__restrict__ x, half2 *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __hfma2(a, x[i], y[i]);
}
