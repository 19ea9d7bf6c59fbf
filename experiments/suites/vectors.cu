// Vectors: streams, reductions and scalings of long arrays.
extern "C" __global__ void axpy(int n, float a, const float *__restrict__ x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

extern "C" __global__ void triad(int n, double a, const double *__restrict__ x, const double *__restrict__ y, double *z)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        z[i] = x[i] + a * y[i];
}

extern "C" __global__ void copy_wide(int n, const float4 *__restrict__ x, float4 *y)
{
    int i = blockIdx.x * blockDim.x * 2 + threadIdx.x;
    if (i < n)
        y[i] = x[i];
    if (i + blockDim.x < n)
        y[i + blockDim.x] = x[i + blockDim.x];
}

extern "C" __global__ void dot(int n, const float *__restrict__ x, const float *__restrict__ y, float *out)
{
    __shared__ float part[8];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i] * y[i];
    for (int step = 16; step; step /= 2)
        sum += __shfl_down_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < blockDim.x / 32; w++)
            sum += part[w];
        atomicAdd(out, sum);
    }
}

extern "C" __global__ void strided_sum(int rows, int columns, const float *__restrict__ x, float *out)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    float sum = 0;
    for (int c = 0; c < columns; c++)
        sum += x[r * columns + c];
    out[r] = sum;
}

extern "C" __global__ void gather(int n, const int *__restrict__ from, const float *__restrict__ x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[from[i]];
}

extern "C" __global__ void largest_of_blocks(int n, const int *__restrict__ x, int *out)
{
    __shared__ int part[256];
    int i = blockIdx.x * 512 + threadIdx.x;
    part[threadIdx.x] = max(i < n ? x[i] : -2147483647, i + 256 < n ? x[i + 256] : -2147483647);
    for (int step = 128; step; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
            part[threadIdx.x] = max(part[threadIdx.x], part[threadIdx.x + step]);
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = part[0];
}
