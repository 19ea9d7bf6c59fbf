// Statistics and clustering.
__constant__ float centres[64] = {
    0, 0, 1, 0, 0, 1, 1, 1, 2, 0, 0, 2, 2, 1, 1, 2, 2, 2, 3, 0, 0, 3, 3, 1, 1, 3, 3, 2, 2, 3, 3, 3,
    4, 0, 0, 4, 4, 1, 1, 4, 4, 2, 2, 4, 4, 3, 3, 4, 4, 4, 5, 0, 0, 5, 5, 1, 1, 5, 5, 2, 2, 5, 5, 3};

extern "C" __global__ void nearest_centre(int n, const float2 *__restrict__ points, int *member)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, best = 0;
    if (i >= n)
        return;
    float2 p = points[i];
    float least = 3.4e38f;
    for (int c = 0; c < 32; c++) {
        float dx = p.x - centres[2 * c], dy = p.y - centres[2 * c + 1], distance = dx * dx + dy * dy;
        if (distance < least)
            least = distance, best = c;
    }
    member[i] = best;
}

extern "C" __global__ void cluster_sums(int n, const float2 *__restrict__ points, const int *__restrict__ member, float *sums, int *counts)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int m = member[i];
    atomicAdd(&sums[2 * m], points[i].x), atomicAdd(&sums[2 * m + 1], points[i].y), atomicAdd(&counts[m], 1);
}

extern "C" __global__ void covariance(int n, int columns, const double *__restrict__ data, const double *__restrict__ mean, double *out)
{
    __shared__ double part[4];
    int a = blockIdx.x, b = blockIdx.y;
    double sum = 0;
    for (int i = threadIdx.x; i < n; i += 128)
        sum += (data[a * n + i] - mean[a]) * (data[b * n + i] - mean[b]);
    for (int step = 16; step; step /= 2)
        sum += __shfl_down_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        out[a * columns + b] = (part[0] + part[1] + part[2] + part[3]) / (n - 1);
}

extern "C" __global__ void moments(int n, const float *__restrict__ x, double *out)
{
    __shared__ double part[4][8];
    double s[4] = {};
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        double v = x[i], w = v;
        for (int k = 0; k < 4; k++, w *= v)
            s[k] += w;
    }
    for (int k = 0; k < 4; k++) {
        for (int step = 16; step; step /= 2)
            s[k] += __shfl_down_sync(~0u, s[k], step);
        if (threadIdx.x % 32 == 0)
            part[k][threadIdx.x / 32] = s[k];
    }
    __syncthreads();
    if (threadIdx.x < 4) {
        double sum = 0;
        for (int w = 0; w < 8; w++)
            sum += part[threadIdx.x][w];
        atomicAdd(&out[threadIdx.x], sum);
    }
}

extern "C" __global__ void densities(int n, int m, float width, const float *__restrict__ samples, const float *__restrict__ at, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float own = at[i], sum = 0;
    for (int j = 0; j < m; j++) {
        float off = (samples[j] - own) * width;
        sum += exp2f(-off * off);
    }
    out[i] = sum;
}

extern "C" __global__ void resampled_means(int draws, int n, const float *__restrict__ x, float *mean)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned s = i * 747796405u + 2891336453u;
    float sum = 0;
    for (int k = 0; k < draws; k++) {
        s = s * 747796405u + 2891336453u;
        sum += x[__umulhi(s, n)];
    }
    mean[i] = sum / draws;
}
