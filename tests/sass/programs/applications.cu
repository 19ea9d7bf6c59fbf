// Steps of applications: graphs, clustering, images, heat, particles, a layer of neurons.
extern "C" __global__ void breadth_first(const int *starts, const int *edges, int *level, int depth, int *changed, int n)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || level[v] != depth)
        return;
    for (int e = starts[v]; e < starts[v + 1]; e++)
        if (atomicCAS(&level[edges[e]], -1, depth + 1) == -1)
            *changed = 1;
}

extern "C" __global__ void shortest_paths(const int *starts, const int *edges, const int *costs, int *distance, int n)
{
    __shared__ bool again;
    do {
        __syncthreads();
        again = false;
        __syncthreads();
        for (int v = threadIdx.x; v < n; v += blockDim.x)
            for (int e = starts[v]; e < starts[v + 1] && distance[v] < 1 << 29; e++)
                if (atomicMin(&distance[edges[e]], distance[v] + costs[e]) > distance[v] + costs[e])
                    again = true;
        __syncthreads();
    } while (again);
}

extern "C" __global__ void floyd_warshall(int *d, int n)
{
    for (int k = 0; k < n; k++) {
        for (int at = threadIdx.x; at < n * n; at += blockDim.x)
            d[at] = min(d[at], d[at / n * n + k] + d[k * n + at % n]);
        __syncthreads();
    }
}

extern "C" __global__ void k_means(const float *points, const float *centres, int *member, float *sums, int *counts, int n, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, best = 0;
    if (i >= n)
        return;
    float least = 3.4e38f;
    for (int c = 0; c < k; c++) {
        float distance = 0;
        for (int j = 0; j < 3; j++) {
            float off = points[3 * i + j] - centres[3 * c + j];
            distance += off * off;
        }
        if (distance < least)
            least = distance, best = c;
    }
    member[i] = best;
    atomicAdd(&counts[best], 1);
    for (int j = 0; j < 3; j++)
        atomicAdd(&sums[3 * best + j], points[3 * i + j]);
}

extern "C" __global__ void nearest(const float2 *places, float *distance, float2 target, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        distance[i] = sqrtf((places[i].x - target.x) * (places[i].x - target.x) + (places[i].y - target.y) * (places[i].y - target.y));
}

extern "C" __global__ void hotspot(const float *power, const float *in, float *out, int n, float step)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, at = y * n + x;
    if (x >= n || y >= n)
        return;
    float here = in[at], north = in[y ? at - n : at], south = in[y < n - 1 ? at + n : at];
    float west = in[x ? at - 1 : at], east = in[x < n - 1 ? at + 1 : at];
    out[at] = here + step * (power[at] + (north + south - 2 * here) * 0.1f + (east + west - 2 * here) * 0.2f + (80 - here) * 0.05f);
}

extern "C" __global__ void diffusion(const float *image, float *coefficient, int n, float q0)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, at = y * n + x;
    if (x >= n || y >= n)
        return;
    float j = image[at], dn = image[max(y - 1, 0) * n + x] - j, ds = image[min(y + 1, n - 1) * n + x] - j;
    float dw = image[y * n + max(x - 1, 0)] - j, de = image[y * n + min(x + 1, n - 1)] - j;
    float g2 = (dn * dn + ds * ds + dw * dw + de * de) / (j * j), l = (dn + ds + dw + de) / j;
    float num = 0.5f * g2 - l * l / 16, den = 1 + 0.25f * l, q = num / (den * den);
    den = (q - q0) / (q0 * (1 + q0));
    coefficient[at] = fminf(fmaxf(1 / (1 + den), 0.0f), 1.0f);
}

extern "C" __global__ void layer(const float *input, const float *weights, float *output, int inputs)
{
    __shared__ float part[8][16];
    int neuron = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int i = threadIdx.y; i < inputs; i += 8)
        sum += input[i] * weights[i * gridDim.x * 16 + neuron];
    part[threadIdx.y][threadIdx.x] = sum;
    for (int step = 4; step; step /= 2) {
        __syncthreads();
        if (threadIdx.y < step)
            part[threadIdx.y][threadIdx.x] += part[threadIdx.y + step][threadIdx.x];
    }
    if (threadIdx.y == 0)
        output[neuron] = 1 / (1 + expf(-part[0][threadIdx.x]));
}

extern "C" __global__ void n_body(const float4 *bodies, float3 *forces, int n)
{
    __shared__ float4 tile[32];
    int i = blockIdx.x * 32 + threadIdx.x;
    float4 own = bodies[i];
    float3 sum = make_float3(0, 0, 0);
    for (int base = 0; base < n; base += 32) {
        tile[threadIdx.x] = bodies[base + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < 32; j++) {
            float x = tile[j].x - own.x, y = tile[j].y - own.y, z = tile[j].z - own.z;
            float inverse = rsqrtf(x * x + y * y + z * z + 0.01f), scale = tile[j].w * inverse * inverse * inverse;
            sum.x += x * scale, sum.y += y * scale, sum.z += z * scale;
        }
        __syncthreads();
    }
    forces[i] = sum;
}

extern "C" __global__ void softmax(const float *x, float *y, int n)
{
    __shared__ float shared;
    const float *row = x + blockIdx.x * n;
    float most = -3.4e38f, sum = 0;
    for (int i = threadIdx.x; i < n; i += 32)
        most = fmaxf(most, row[i]);
    for (int step = 16; step; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    for (int i = threadIdx.x; i < n; i += 32)
        sum += expf(row[i] - most);
    for (int step = 16; step; step /= 2)
        sum += __shfl_down_sync(~0u, sum, step);
    if (!threadIdx.x)
        shared = sum;
    __syncwarp();
    for (int i = threadIdx.x; i < n; i += 32)
        y[blockIdx.x * n + i] = expf(row[i] - most) / shared;
}
