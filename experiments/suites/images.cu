// Images.
extern "C" __global__ void gray(int n, const uchar4 *__restrict__ in, unsigned char *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        uchar4 p = in[i];
        out[i] = (77 * p.x + 150 * p.y + 29 * p.z) >> 8;
    }
}

__constant__ float filter[25] = {1, 4, 6, 4, 1, 4, 16, 24, 16, 4, 6, 24, 36, 24, 6, 4, 16, 24, 16, 4, 1, 4, 6, 4, 1};

extern "C" __global__ void blur_tiled(int width, int height, const float *__restrict__ in, float *out)
{
    __shared__ float tile[20][36];
    int x0 = blockIdx.x * 32 - 2, y0 = blockIdx.y * 16 - 2;
    for (int i = threadIdx.y * 32 + threadIdx.x; i < 20 * 36; i += 512) {
        int x = min(max(x0 + i % 36, 0), width - 1), y = min(max(y0 + i / 36, 0), height - 1);
        tile[i / 36][i % 36] = in[y * width + x];
    }
    __syncthreads();
    float sum = 0;
    for (int r = 0; r < 5; r++)
        for (int s = 0; s < 5; s++)
            sum += filter[5 * r + s] * tile[threadIdx.y + r][threadIdx.x + s];
    out[(y0 + 2 + threadIdx.y) * width + x0 + 2 + threadIdx.x] = sum / 256;
}

extern "C" __global__ void sobel(int width, int height, const float *__restrict__ in, float *out)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
        return;
    const float *p = in + y * width + x;
    float gx = p[1 - width] + 2 * p[1] + p[1 + width] - p[-1 - width] - 2 * p[-1] - p[width - 1];
    float gy = p[width - 1] + 2 * p[width] + p[width + 1] - p[-width - 1] - 2 * p[-width] - p[1 - width];
    out[y * width + x] = sqrtf(gx * gx + gy * gy);
}

__device__ void order(int &a, int &b)
{
    int low = min(a, b);
    b = max(a, b), a = low;
}

extern "C" __global__ void median(int width, int height, const int *__restrict__ in, int *out)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, v[9];
    for (int i = 0; i < 9; i++)
        v[i] = in[min(max(y + i / 3 - 1, 0), height - 1) * width + min(max(x + i % 3 - 1, 0), width - 1)];
#pragma unroll
    for (int i = 0; i < 5; i++)
#pragma unroll
        for (int j = i + 1; j < 9; j++)
            order(v[i], v[j]);
    out[y * width + x] = v[4];
}

extern "C" __global__ void histogram_shared(int n, const unsigned char *__restrict__ in, unsigned *bins)
{
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(&own[in[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

extern "C" __global__ void bilateral(int width, int height, const float *__restrict__ in, float *out)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float here = in[y * width + x], sum = 0, weight = 0;
    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++) {
            float other = in[min(max(y + dy, 0), height - 1) * width + min(max(x + dx, 0), width - 1)], off = other - here;
            float w = __expf(-0.1f * (dx * dx + dy * dy) - 2 * off * off);
            sum += w * other, weight += w;
        }
    out[y * width + x] = sum / weight;
}

extern "C" __global__ void row_sums(int width, const int *__restrict__ in, int *out)
{
    __shared__ int totals[8];
    int carry = 0, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int base = 0; base < width; base += 256) {
        int value = in[blockIdx.x * width + base + threadIdx.x];
        for (int step = 1; step < 32; step *= 2) {
            int other = __shfl_up_sync(~0u, value, step);
            value += lane >= step ? other : 0;
        }
        if (lane == 31)
            totals[warp] = value;
        __syncthreads();
        int before = carry;
        for (int w = 0; w < 8; w++) {
            before += w < warp ? totals[w] : 0;
            carry += totals[w];
        }
        out[blockIdx.x * width + base + threadIdx.x] = value + before;
        __syncthreads();
    }
}
