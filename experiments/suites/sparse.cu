// Sparse matrices.
extern "C" __global__ void csr_threads(int n, const int *__restrict__ starts, const int *__restrict__ columns, const float *__restrict__ values, const float *__restrict__ x, float *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    float sum = 0;
    for (int e = starts[row]; e < starts[row + 1]; e++)
        sum += values[e] * x[columns[e]];
    y[row] = sum;
}

extern "C" __global__ void csr_warps(int n, const int *__restrict__ starts, const int *__restrict__ columns, const float *__restrict__ values, const float *__restrict__ x, float *y)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= n)
        return;
    float sum = 0;
    for (int e = starts[row] + lane; e < starts[row + 1]; e += 32)
        sum += values[e] * x[columns[e]];
    for (int step = 16; step; step /= 2)
        sum += __shfl_down_sync(~0u, sum, step);
    if (lane == 0)
        y[row] = sum;
}

extern "C" __global__ void ell_double(int n, int width, const int *__restrict__ columns, const double *__restrict__ values, const double *__restrict__ x, double *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    double sum = 0;
    for (int k = 0; k < width; k++)
        sum += values[k * n + row] * x[columns[k * n + row]];
    y[row] = sum;
}

extern "C" __global__ void coordinates(int count, const int *__restrict__ rows, const int *__restrict__ columns, const float *__restrict__ values, const float *__restrict__ x, float *y)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e < count)
        atomicAdd(&y[rows[e]], values[e] * x[columns[e]]);
}

extern "C" __global__ void jacobi_rows(int n, const int *__restrict__ starts, const int *__restrict__ columns, const float *__restrict__ values, const float *__restrict__ b, const float *__restrict__ x, float *next)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    float sum = b[row], diagonal = 1;
    for (int e = starts[row]; e < starts[row + 1]; e++)
        if (columns[e] == row)
            diagonal = values[e];
        else
            sum -= values[e] * x[columns[e]];
    next[row] = sum / diagonal;
}

// A value of u v^T at each entry of a sparse pattern.
extern "C" __global__ void sampled_product(int count, int depth, const int *__restrict__ rows, const int *__restrict__ columns, const float *__restrict__ u, const float *__restrict__ v, float *out)
{
    int e = (blockIdx.x * blockDim.x + threadIdx.x) / 16, lane = threadIdx.x % 16;
    if (e >= count)
        return;
    float sum = 0;
    for (int k = lane; k < depth; k += 16)
        sum += u[rows[e] * depth + k] * v[columns[e] * depth + k];
    for (int step = 8; step; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step, 16);
    if (lane == 0)
        out[e] = sum;
}
