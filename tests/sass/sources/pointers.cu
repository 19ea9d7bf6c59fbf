// What pointers may point to, and where they may lie.
struct Points {
    float *x;
    char tag;
    const float *y;
    int count;
};

extern "C" __global__ void scaled(Points p, float by) {
    int i = threadIdx.x;
    if (i < p.count) p.x[i] = by * p.y[i] + p.tag;
}

extern "C" __global__ void rows(float **table, int n) {
    if (threadIdx.x < n) table[blockIdx.x][threadIdx.x] += blockIdx.x + 1;
}

struct Table {
    int words[64];
};

extern "C" __global__ void chosen(const __grid_constant__ Table first, const __grid_constant__ Table second,
                                  const int *other, int *out, int which) {
    const int *p = which == 0 ? first.words : which == 1 ? second.words : other;
    out[threadIdx.x] = p[threadIdx.x];
}

// Atomics that the compiler does with a predicate: done, or left to the code where memory is local.
extern "C" __global__ void atomics(unsigned long long *global, unsigned long long *old, int which) {
    __shared__ unsigned long long shared;
    unsigned long long local = 0, seen, found;
    if (threadIdx.x == 0) shared = 0;
    __syncthreads();
    unsigned long long *p = which == 0 ? global : which == 1 ? &shared : &local;
    for (found = *(volatile unsigned long long *)p, seen = ~found; found != seen;) {
        seen = found;
        found = atomicCAS(p, seen, seen + 1);
    }
    __syncthreads();
    unsigned long long count = *p;
    __syncthreads();
    old[threadIdx.x] = atomicExch(p, 1000 + threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) old[blockDim.x] = count, old[blockDim.x + 1] = *p;
}

extern "C" __global__ void both_shared(int *out) {
    extern __shared__ unsigned char raw[];
    __shared__ unsigned own[64];
    own[threadIdx.x] = threadIdx.x;
    raw[threadIdx.x] = 2 * threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = raw[63 - threadIdx.x] + own[63 - threadIdx.x];
}

__device__ __noinline__ int depth(int n) {
    volatile int keep[8];
    keep[n & 7] = n;
    return n ? depth(n - 1) + keep[n & 7] : 0;
}

extern "C" __global__ void recursion(const int *n, int *out) { out[threadIdx.x] = depth(*n); }

extern "C" __global__ void arrays_on_stack(const int *length, int *out) {
    int n = length[threadIdx.x], sum = 0, *own = (int *)alloca(4 * n);
    for (int i = 0; i < n; i++) own[i] = i;
    for (int i = 0; i < n; i++) sum += own[7 * i % n];
    out[threadIdx.x] = sum;
}

// Each thread repeats the first bytes of its row, reading what it has just stored.
extern "C" __global__ void repeated(unsigned char *rows, const int *period, int bytes) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char *own = rows + (long long)row * bytes;
    for (int i = period[row]; i < bytes; i++) own[i] = own[i - period[row]];
}
