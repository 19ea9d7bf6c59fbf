// Layers of neural networks.
#include <cuda_fp16.h>

extern "C" __global__ void softmax(int n, const float *__restrict__ x, float *y)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const float *in = x + row * n;
    float most = -3.4e38f, sum = 0;
    for (int i = lane; i < n; i += 32)
        most = fmaxf(most, in[i]);
    for (int step = 16; step; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    for (int i = lane; i < n; i += 32)
        sum += __expf(in[i] - most);
    for (int step = 16; step; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    for (int i = lane; i < n; i += 32)
        y[row * n + i] = __expf(in[i] - most) / sum;
}

extern "C" __global__ void layer_norm(int n, const float *__restrict__ x, const float *__restrict__ scale, float *y)
{
    __shared__ float sums[2][8];
    float sum = 0, squares = 0;
    const float *in = x + blockIdx.x * n;
    for (int i = threadIdx.x; i < n; i += 256)
        sum += in[i], squares += in[i] * in[i];
    for (int step = 16; step; step /= 2)
        sum += __shfl_down_sync(~0u, sum, step), squares += __shfl_down_sync(~0u, squares, step);
    if (threadIdx.x % 32 == 0)
        sums[0][threadIdx.x / 32] = sum, sums[1][threadIdx.x / 32] = squares;
    __syncthreads();
    sum = squares = 0;
    for (int w = 0; w < 8; w++)
        sum += sums[0][w], squares += sums[1][w];
    float mean = sum / n, inverse = rsqrtf(squares / n - mean * mean + 1e-5f);
    for (int i = threadIdx.x; i < n; i += 256)
        y[blockIdx.x * n + i] = (in[i] - mean) * inverse * scale[i];
}

extern "C" __global__ void gelu_halves(int n, const half2 *__restrict__ x, half2 *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float2 v = __half22float2(x[i]);
    v.x = v.x / (1 + __expf(-1.702f * v.x)), v.y = v.y / (1 + __expf(-1.702f * v.y));
    y[i] = __floats2half2_rn(v.x, v.y);
}

extern "C" __global__ void pooling(int width, const float *__restrict__ in, float *out)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const float *p = in + 2 * y * width + 2 * x;
    out[y * (width / 2) + x] = fmaxf(fmaxf(p[0], p[1]), fmaxf(p[width], p[width + 1]));
}

// Convolution of 8 channels by 3 x 3 into 8, weights from shared memory.
extern "C" __global__ void convolution(int n, const float *__restrict__ in, const float *__restrict__ weights, float *out)
{
    __shared__ float w[576];
    for (int i = threadIdx.y * 32 + threadIdx.x; i < 576; i += 128)
        w[i] = weights[i];
    __syncthreads();
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    float sums[8] = {};
    for (int c = 0; c < 8; c++)
        for (int r = 0; r < 3; r++)
            for (int s = 0; s < 3; s++) {
                float v = in[(c * (n + 2) + y + r) * (n + 2) + x + s];
#pragma unroll
                for (int k = 0; k < 8; k++)
                    sums[k] += v * w[(k * 8 + c) * 9 + r * 3 + s];
            }
    for (int k = 0; k < 8; k++)
        out[(k * n + y) * n + x] = fmaxf(sums[k], 0.0f);
}

extern "C" __global__ void embedding(int width, const int *__restrict__ words, const float4 *__restrict__ table, float4 *out)
{
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        out[blockIdx.x * width + i] = table[words[blockIdx.x] * width + i];
}

// A block attends from 32 queries to n keys, 32 numbers each, a warp for each 4 queries.
extern "C" __global__ void attention(int n, const float *__restrict__ q, const float *__restrict__ k, const float *__restrict__ v, float *out)
{
    __shared__ float keys[32][33], values[32][33];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float own[4], most[4], sum[4], result[4];
    for (int j = 0; j < 4; j++)
        own[j] = q[(blockIdx.x * 32 + warp * 4 + j) * 32 + lane], most[j] = -1e30f, sum[j] = result[j] = 0;
    for (int base = 0; base < n; base += 32) {
        __syncthreads();
        for (int r = warp; r < 32; r += 8)
            keys[r][lane] = k[(base + r) * 32 + lane], values[r][lane] = v[(base + r) * 32 + lane];
        __syncthreads();
        for (int j = 0; j < 4; j++) {
            float score = 0;
#pragma unroll
            for (int d = 0; d < 32; d++)
                score += __shfl_sync(~0u, own[j], d) * keys[lane][d];
            float top = score;
            for (int step = 16; step; step /= 2)
                top = fmaxf(top, __shfl_xor_sync(~0u, top, step));
            top = fmaxf(top, most[j]);
            float scale = __expf(most[j] - top), weight = __expf(score - top), total = weight;
            for (int step = 16; step; step /= 2)
                total += __shfl_xor_sync(~0u, total, step);
            sum[j] = sum[j] * scale + total, result[j] *= scale, most[j] = top;
#pragma unroll
            for (int d = 0; d < 32; d++)
                result[j] += __shfl_sync(~0u, weight, d) * values[d][lane];
        }
    }
    for (int j = 0; j < 4; j++)
        out[(blockIdx.x * 32 + warp * 4 + j) * 32 + lane] = result[j] / sum[j];
}
