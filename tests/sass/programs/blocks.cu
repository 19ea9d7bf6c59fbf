// Blocks that work together in shared memory: tiles, reductions, scans, sorts, stencils, transforms.

extern "C" __global__ void transpose(const float *in, float *out, int width, int height)
{
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < width && y < height)
        tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x, y = blockIdx.x * 16 + threadIdx.y;
    if (x < height && y < width)
        out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void dynamic_matmul(const double *a, const double *b, double *c, int n)
{
    extern __shared__ double space[];
    int tile = blockDim.x, row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x;
    double *left = space, *right = space + tile * tile, sum = 0;
    for (int k = 0; k < n; k += tile) {
        left[threadIdx.y * tile + threadIdx.x] = a[row * n + k + threadIdx.x];
        right[threadIdx.y * tile + threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int j = 0; j < tile; j++)
            sum += left[threadIdx.y * tile + j] * right[j * tile + threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void register_matmul(const float *__restrict__ a, const float *__restrict__ b, float *c, int n)
{
    __shared__ float left[8][32], right[8][32];
    int tx = threadIdx.x % 8, ty = threadIdx.x / 8, row = blockIdx.y * 32, column = blockIdx.x * 32;
    float sums[4][4] = {};
    for (int k = 0; k < n; k += 8) {
        for (int i = threadIdx.x; i < 256; i += 64) {
            left[i % 8][i / 8] = a[(row + i / 8) * n + k + i % 8];
            right[i / 32][i % 32] = b[(k + i / 32) * n + column + i % 32];
        }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 8; j++)
#pragma unroll
            for (int r = 0; r < 4; r++)
#pragma unroll
                for (int s = 0; s < 4; s++)
                    sums[r][s] += left[j][ty * 4 + r] * right[j][tx * 4 + s];
        __syncthreads();
    }
    for (int r = 0; r < 4; r++)
        for (int s = 0; s < 4; s++)
            c[(row + ty * 4 + r) * n + column + tx * 4 + s] = sums[r][s];
}

extern "C" __global__ void reduce_shared(const int *x, int *out, int n)
{
    __shared__ int part[128];
    int sum = 0;
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128)
        sum += x[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 64; step; step >>= 1) {
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (!threadIdx.x)
        out[blockIdx.x] = part[0];
}

template <typename T> __device__ T larger(T a, T b) { return a > b ? a : b; }

extern "C" __global__ void reduce_shuffle(const double *x, double *out, int n)
{
    __shared__ double best[32];
    double most = -1e300;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        most = larger(most, x[i]);
    for (int step = 16; step; step >>= 1)
        most = larger(most, __shfl_xor_sync(~0u, most, step));
    if (threadIdx.x % 32 == 0)
        best[threadIdx.x / 32] = most;
    __syncthreads();
    if (threadIdx.x < 32) {
        most = threadIdx.x < blockDim.x / 32 ? best[threadIdx.x] : -1e300;
        for (int step = 16; step; step >>= 1)
            most = larger(most, __shfl_down_sync(~0u, most, step));
        if (!threadIdx.x)
            *out = most;
    }
}

__device__ unsigned finished;

extern "C" __global__ void last_block(const int *x, volatile int *parts, int *total, int n)
{
    __shared__ bool last;
    int sum = 0;
    for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += gridDim.x * 32)
        sum += x[i];
    for (int step = 16; step; step >>= 1)
        sum += __shfl_down_sync(~0u, sum, step);
    if (!threadIdx.x) {
        parts[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && !threadIdx.x) {
        *total = 0;
        for (int b = 0; b < gridDim.x; b++)
            *total += parts[b];
    }
}

extern "C" __global__ void scan_hillis_steele(const int *x, int *out, int n)
{
    __shared__ int two[2][128];
    int from = 0, i = threadIdx.x;
    two[0][i] = i < n ? x[i] : 0;
    __syncthreads();
    for (int step = 1; step < 128; step *= 2, from ^= 1) {
        two[from ^ 1][i] = two[from][i] + (i >= step ? two[from][i - step] : 0);
        __syncthreads();
    }
    if (i < n)
        out[i] = two[from][i];
}

extern "C" __global__ void scan_blelloch(const float *x, float *out, int n)
{
    extern __shared__ float values[];
    int i = threadIdx.x, offset = 1;
    values[2 * i] = x[2 * i], values[2 * i + 1] = x[2 * i + 1];
    for (int d = n >> 1; d; d >>= 1, offset *= 2) {
        __syncthreads();
        if (i < d)
            values[offset * (2 * i + 2) - 1] += values[offset * (2 * i + 1) - 1];
    }
    if (!i)
        values[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (i < d) {
            float kept = values[offset * (2 * i + 1) - 1];
            values[offset * (2 * i + 1) - 1] = values[offset * (2 * i + 2) - 1];
            values[offset * (2 * i + 2) - 1] += kept;
        }
    }
    __syncthreads();
    out[2 * i] = values[2 * i], out[2 * i + 1] = values[2 * i + 1];
}

extern "C" __global__ void scan_warps(const unsigned *x, unsigned *out)
{
    __shared__ unsigned totals[4];
    unsigned value = x[threadIdx.x], lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int step = 1; step < 32; step *= 2) {
        unsigned other = __shfl_up_sync(~0u, value, step);
        if (lane >= step)
            value += other;
    }
    if (lane == 31)
        totals[warp] = value;
    __syncthreads();
    for (int w = 0; w < warp; w++)
        value += totals[w];
    out[threadIdx.x] = value;
}

extern "C" __global__ void compact(const int *x, int *out, int *count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, base = 0;
    bool keep = i < n && x[i] % 3 == 0;
    unsigned kept = __ballot_sync(~0u, keep);
    if (lane == 0)
        base = atomicAdd(count, __popc(kept));
    base = __shfl_sync(~0u, base, 0);
    if (keep)
        out[base + __popc(kept & ((1u << lane) - 1))] = x[i];
}

extern "C" __global__ void histogram_warps(const int *x, int *bins, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned same = __match_any_sync(__activemask(), x[i]);
        if (__ffs(same) - 1 == threadIdx.x % 32)
            atomicAdd(&bins[x[i]], __popc(same));
    }
}

extern "C" __global__ void histogram_global(const unsigned char *x, unsigned *bins, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[x[i] >> 2], 1u);
}

extern "C" __global__ void bitonic_sort(float *keys, int *values)
{
    __shared__ float k[256];
    __shared__ int v[256];
    int i = threadIdx.x;
    k[i] = keys[i], k[i + 128] = keys[i + 128], v[i] = values[i], v[i + 128] = values[i + 128];
    for (int size = 2; size <= 256; size *= 2)
        for (int stride = size / 2; stride; stride /= 2) {
            __syncthreads();
            int at = 2 * i - (i & (stride - 1)), to = at + stride;
            bool up = !(at & size);
            if ((k[at] > k[to]) == up) {
                float key = k[at];
                k[at] = k[to], k[to] = key;
                int value = v[at];
                v[at] = v[to], v[to] = value;
            }
        }
    __syncthreads();
    keys[i] = k[i], keys[i + 128] = k[i + 128], values[i] = v[i], values[i + 128] = v[i + 128];
}

extern "C" __global__ void radix_sort(unsigned *keys)
{
    __shared__ unsigned data[128], ranks[128];
    int i = threadIdx.x;
    data[i] = keys[i];
    for (int bit = 0; bit < 32; bit++) {
        __syncthreads();
        unsigned key = data[i], zero = !(key >> bit & 1);
        ranks[i] = zero;
        for (int step = 1; step < 128; step *= 2) {
            __syncthreads();
            unsigned other = i >= step ? ranks[i - step] : 0;
            __syncthreads();
            ranks[i] += other;
        }
        __syncthreads();
        unsigned place = zero ? ranks[i] - 1 : ranks[127] + i - ranks[i];
        __syncthreads();
        data[place] = key;
    }
    __syncthreads();
    keys[i] = data[i];
}

extern "C" __global__ void merge_path(const int *a, const int *b, int *out, int na, int nb)
{
    int first = threadIdx.x * 8, low = max(0, first - nb), high = min(first, na);
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

__constant__ float weights[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};

extern "C" __global__ void convolution(const float *in, float *out, int width, int height)
{
    __shared__ float tile[10][18];
    int x0 = blockIdx.x * 16 - 1, y0 = blockIdx.y * 8 - 1;
    for (int i = threadIdx.y * 16 + threadIdx.x; i < 180; i += 128) {
        int x = x0 + i % 18, y = y0 + i / 18;
        tile[i / 18][i % 18] = x >= 0 && y >= 0 && x < width && y < height ? in[y * width + x] : 0;
    }
    __syncthreads();
    int x = x0 + 1 + threadIdx.x, y = y0 + 1 + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0;
    for (int r = 0; r < 3; r++)
        for (int s = 0; s < 3; s++)
            sum += weights[r * 3 + s] * tile[threadIdx.y + r][threadIdx.x + s];
    out[y * width + x] = sum / 16;
}

extern "C" __global__ void stencil_3d(const float *in, float *out, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (x >= nx - 1 || y >= ny - 1)
        return;
    int plane = nx * ny, at = y * nx + x;
    float below = in[at], here = in[at + plane];
    for (int z = 1; z < nz - 1; z++) {
        int c = at + z * plane;
        float above = in[c + plane];
        out[c] = in[c - 1] + in[c + 1] + in[c - nx] + in[c + nx] + below + above - 6 * here;
        below = here, here = above;
    }
}

extern "C" __global__ void life(const unsigned char *in, unsigned char *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, near = 0;
    if (x >= width || y >= height)
        return;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx || dy)
                near += in[(y + dy + height) % height * width + (x + dx + width) % width];
    out[y * width + x] = near == 3 || (near == 2 && in[y * width + x]);
}

extern "C" __global__ void pathfinder(const int *wall, int *result, int rows, int width)
{
    __shared__ int costs[2][128];
    int i = threadIdx.x;
    costs[0][i] = wall[i];
    for (int row = 1; row < rows; row++) {
        __syncthreads();
        int *before = costs[(row - 1) % 2];
        int least = before[i];
        if (i > 0)
            least = min(least, before[i - 1]);
        if (i < width - 1)
            least = min(least, before[i + 1]);
        costs[row % 2][i] = least + wall[row * width + i];
    }
    result[i] = costs[(rows - 1) % 2][i];
}

extern "C" __global__ void needleman_wunsch(const char *a, const char *b, int *scores, int n, int penalty)
{
    for (int diagonal = 2; diagonal <= 2 * n; diagonal++) {
        int i = threadIdx.x + 1, j = diagonal - i, w = n + 1;
        if (i <= n && j >= 1 && j <= n) {
            int match = scores[(i - 1) * w + j - 1] + (a[i - 1] == b[j - 1] ? 2 : -1);
            scores[i * w + j] = max(match, max(scores[(i - 1) * w + j], scores[i * w + j - 1]) - penalty);
        }
        __syncthreads();
    }
}

__device__ float2 operator*(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }

extern "C" __global__ void fft_shared(float2 *data)
{
    __shared__ float2 values[64];
    int i = threadIdx.x;
    for (int half = 0; half < 2; half++)
        values[__brev(i + 32 * half) >> 26] = data[blockIdx.x * 64 + i + 32 * half];
    for (int size = 2; size <= 64; size *= 2) {
        __syncthreads();
        int k = i % (size / 2), at = i / (size / 2) * size + k;
        float2 turn;
        sincospif(-2.0f * k / size, &turn.y, &turn.x);
        float2 even = values[at], odd = turn * values[at + size / 2];
        values[at] = even + odd, values[at + size / 2] = even - odd;
    }
    __syncthreads();
    for (int half = 0; half < 2; half++)
        data[blockIdx.x * 64 + i + 32 * half] = values[i + 32 * half];
}

template <int N> __device__ void fft_own(float2 *v)
{
    if constexpr (N > 1) {
        float2 even[N / 2], odd[N / 2];
        for (int i = 0; i < N / 2; i++)
            even[i] = v[2 * i], odd[i] = v[2 * i + 1];
        fft_own<N / 2>(even), fft_own<N / 2>(odd);
        for (int i = 0; i < N / 2; i++) {
            float2 turned = make_float2(cospif(-2.0f * i / N), sinpif(-2.0f * i / N)) * odd[i];
            v[i] = even[i] + turned, v[i + N / 2] = even[i] - turned;
        }
    }
}

extern "C" __global__ void fft_registers(float2 *data)
{
    float2 own[16];
    for (int i = 0; i < 16; i++)
        own[i] = data[threadIdx.x * 16 + i];
    fft_own<16>(own);
    for (int i = 0; i < 16; i++)
        data[threadIdx.x * 16 + i] = own[i];
}
