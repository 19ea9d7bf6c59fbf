// Dense linear algebra: products, transposes, triangular solves.
extern "C" __global__ void gemm_plain(int n, const float *__restrict__ a, const float *__restrict__ b, float *c)
{
    int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

extern "C" __global__ void gemm_tiled(int n, const float *__restrict__ a, const float *__restrict__ b, float *c)
{
    __shared__ float left[16][16], right[16][16];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        left[y][x] = a[row * n + k + x];
        right[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int j = 0; j < 16; j++)
            sum += left[y][j] * right[j][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void gemm_registers(int n, const float *__restrict__ a, const float *__restrict__ b, float *c)
{
    __shared__ float left[8][64], right[8][64];
    int t = threadIdx.x, tx = t % 16, ty = t / 16, row = blockIdx.y * 64, column = blockIdx.x * 64;
    float sums[4][4] = {};
    for (int k = 0; k < n; k += 8) {
        for (int i = t; i < 512; i += 256) {
            left[i % 8][i / 8] = a[(row + i / 8) * n + k + i % 8];
            right[i / 64][i % 64] = b[(k + i / 64) * n + column + i % 64];
        }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 8; j++) {
            float u[4], v[4];
            for (int r = 0; r < 4; r++)
                u[r] = left[j][ty * 4 + r], v[r] = right[j][tx * 4 + r];
            for (int r = 0; r < 4; r++)
                for (int s = 0; s < 4; s++)
                    sums[r][s] += u[r] * v[s];
        }
        __syncthreads();
    }
    for (int r = 0; r < 4; r++)
        for (int s = 0; s < 4; s++)
            c[(row + ty * 4 + r) * n + column + tx * 4 + s] = sums[r][s];
}

extern "C" __global__ void gemv_warps(int rows, int columns, const float *__restrict__ a, const float *__restrict__ x, float *y)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float sum = 0;
    for (int c = lane; c < columns; c += 32)
        sum += a[row * columns + c] * x[c];
    for (int step = 16; step; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (lane == 0)
        y[row] = sum;
}

extern "C" __global__ void gemv_transposed(int rows, int columns, const float *__restrict__ a, const float *__restrict__ x, float *y)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns)
        return;
    float sum = 0;
    for (int r = 0; r < rows; r++)
        sum += a[r * columns + c] * x[r];
    y[c] = sum;
}

extern "C" __global__ void transpose_plain(int n, const float *__restrict__ in, float *out)
{
    int x = blockIdx.x * 32 + threadIdx.x;
    for (int y = blockIdx.y * 32 + threadIdx.y; y < blockIdx.y * 32 + 32; y += 8)
        out[x * n + y] = in[y * n + x];
}

extern "C" __global__ void transpose_tiled(int n, const float *__restrict__ in, float *out)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32;
    for (int j = threadIdx.y; j < 32; j += 8)
        tile[j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32;
    for (int j = threadIdx.y; j < 32; j += 8)
        out[(y + j) * n + x] = tile[threadIdx.x][j];
}

extern "C" __global__ void syrk_double(int n, int depth, const double *__restrict__ a, double *c)
{
    int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (column > row || row >= n)
        return;
    double sum = c[row * n + column];
    for (int k = 0; k < depth; k++)
        sum += a[row * depth + k] * a[column * depth + k];
    c[row * n + column] = sum;
}

// Each block solves L x = b of its own, 64 by 64.
extern "C" __global__ void triangular_solves(const float *__restrict__ lower, float *b)
{
    __shared__ float x[64], l[64 * 64];
    int t = threadIdx.x;
    for (int i = t; i < 64 * 64; i += 64)
        l[i] = lower[blockIdx.x * 4096 + i];
    float own = b[blockIdx.x * 64 + t];
    for (int k = 0; k < 64; k++) {
        __syncthreads();
        if (t == k)
            x[k] = own / l[k * 64 + k];
        __syncthreads();
        if (t > k)
            own -= l[t * 64 + k] * x[k];
    }
    b[blockIdx.x * 64 + t] = x[t];
}
