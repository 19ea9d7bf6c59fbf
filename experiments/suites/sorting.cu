// Sorting, scanning, merging, compaction.
extern "C" __global__ void bitonic(int *keys)
{
    __shared__ int k[512];
    int t = threadIdx.x, base = blockIdx.x * 512;
    k[t] = keys[base + t], k[t + 256] = keys[base + t + 256];
    for (int size = 2; size <= 512; size *= 2)
        for (int stride = size / 2; stride; stride /= 2) {
            __syncthreads();
            int at = 2 * t - (t & (stride - 1)), to = at + stride;
            bool up = !(at & size);
            if ((k[at] > k[to]) == up) {
                int key = k[at];
                k[at] = k[to], k[to] = key;
            }
        }
    __syncthreads();
    keys[base + t] = k[t], keys[base + t + 256] = k[t + 256];
}

extern "C" __global__ void bitonic_step(int stride, int size, int *keys)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, at = 2 * t - (t & (stride - 1)), to = at + stride;
    int a = keys[at], b = keys[to];
    if ((a > b) == !(at & size))
        keys[at] = b, keys[to] = a;
}

extern "C" __global__ void scan_blocks(const int *__restrict__ x, int *out, int *sums)
{
    __shared__ int v[1024];
    int t = threadIdx.x, base = blockIdx.x * 1024, offset = 1;
    v[2 * t] = x[base + 2 * t], v[2 * t + 1] = x[base + 2 * t + 1];
    for (int d = 512; d; d /= 2, offset *= 2) {
        __syncthreads();
        if (t < d)
            v[offset * (2 * t + 2) - 1] += v[offset * (2 * t + 1) - 1];
    }
    if (t == 0)
        sums[blockIdx.x] = v[1023], v[1023] = 0;
    for (int d = 1; d < 1024; d *= 2) {
        offset /= 2;
        __syncthreads();
        if (t < d) {
            int kept = v[offset * (2 * t + 1) - 1];
            v[offset * (2 * t + 1) - 1] = v[offset * (2 * t + 2) - 1];
            v[offset * (2 * t + 2) - 1] += kept;
        }
    }
    __syncthreads();
    out[base + 2 * t] = v[2 * t], out[base + 2 * t + 1] = v[2 * t + 1];
}

extern "C" __global__ void digit_counts(int shift, int per_block, const unsigned *__restrict__ keys, int *counts)
{
    __shared__ int own[16];
    if (threadIdx.x < 16)
        own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < per_block; i += blockDim.x)
        atomicAdd(&own[keys[blockIdx.x * per_block + i] >> shift & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16)
        counts[threadIdx.x * gridDim.x + blockIdx.x] = own[threadIdx.x];
}

extern "C" __global__ void rank_sort(int n, const float *__restrict__ x, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, rank = 0;
    float own = x[i];
    for (int j = 0; j < n; j++)
        rank += x[j] < own || (x[j] == own && j < i);
    out[rank] = own;
}

extern "C" __global__ void merge_paths(int na, int nb, const int *__restrict__ a, const int *__restrict__ b, int *out)
{
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * 8, low = max(0, first - nb), high = min(first, na);
    while (low < high) {
        int middle = (low + high) / 2;
        if (a[middle] <= b[first - 1 - middle])
            low = middle + 1;
        else
            high = middle;
    }
    int i = low, j = first - low;
    for (int k = first; k < min(first + 8, na + nb); k++)
        out[k] = j >= nb || (i < na && a[i] <= b[j]) ? a[i++] : b[j++];
}

extern "C" __global__ void compact(int n, const int *__restrict__ x, int *out, int *count)
{
    __shared__ int base, totals[8];
    int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    bool keep = i < n && x[i] % 3 == 0;
    unsigned kept = __ballot_sync(~0u, keep);
    if (lane == 0)
        totals[warp] = __popc(kept);
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int w = 0; w < 8; w++) {
            int own = totals[w];
            totals[w] = sum, sum += own;
        }
        base = atomicAdd(count, sum);
    }
    __syncthreads();
    if (keep)
        out[base + totals[warp] + __popc(kept & ((1u << lane) - 1))] = x[i];
}
