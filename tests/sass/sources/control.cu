__global__ void specials(unsigned *out) {
    unsigned value, *to = out + (blockIdx.x * blockDim.x + threadIdx.x) * 16;
#define READ(name) asm volatile("mov.u32 %0, %%" name ";" : "=r"(value)); *to++ = value;
    READ("laneid") READ("lanemask_lt") READ("lanemask_eq") READ("lanemask_le") READ("lanemask_gt") READ("lanemask_ge")
    READ("clock") READ("dynamic_smem_size") READ("ntid.y") READ("nctaid.z") READ("nsmid") READ("smid")
    *to++ = (unsigned)clock64();
}

__global__ void cases(int *g, int k) {
    int t = threadIdx.x, v;
    switch ((g[t] + k) & 15) {
    case 0: v = t * 3; break;
    case 1: v = t / 7; break;
    case 2: v = t ^ 5; break;
    case 3: v = t - 9; break;
    case 4: v = t + k; break;
    case 5: v = __popc(t); break;
    case 6: v = t * t; break;
    case 7: v = t % 5; break;
    default: v = -1;
    }
    g[t] = v;
}

__global__ void barriers(int *g) {
    __shared__ int s[4];
    int t = threadIdx.x, w = t / 32;
    if (w < 2) asm volatile("bar.sync 1, 64;");
    else asm volatile("bar.sync 2, 64;");
    g[t] = __syncthreads_count(t & 1);
    g[t + 128] = __syncthreads_and(t < 200);
    g[t + 256] = __syncthreads_or(t == 5);
    if (w == 0) {
        s[0] = 7;
        asm volatile("bar.arrive 3, 128;");
    } else {
        asm volatile("bar.sync 3, 128;");
        g[t + 384] = s[0];
    }
    int id = 4 + (w & 1), threads = 64;
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads));
    if (t & 1) return; /* the others of the warp meet without it */
    __syncthreads();
    g[t] += 1000;
}

__device__ __noinline__ int triple(int x) { return x * 3 + 1; }
__device__ __noinline__ int less(int x) { return x - 100; }
__device__ int (*functions[2])(int) = {triple, less};
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__global__ void calls(int *g) {
    int t = threadIdx.x;
    g[t] = functions[g[t] & 1](t);
    g[t + 64] = fibonacci(t & 7);
    g[t + 128] = g[t] / (g[t + 64] + 3);
}

__global__ void exchanges(int *g, int n) {
    int t = threadIdx.x, s = 0;
    for (int i = 0; i < n; i++) {
        if (g[t] > i) s += __shfl_xor_sync(0xffffffff, g[t], 1);
        else s -= __shfl_xor_sync(0xffffffff, i, 1);
    }
    g[t + 32] = s;
}

__global__ void polite_lock(int *lock, int *count) {
    bool done = false;
    while (!done)
        if (atomicCAS(lock, 0, 1) == 0) {
            count[0] = count[0] + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
}

__global__ void plain_lock(int *lock, volatile int *count) {
    while (atomicCAS(lock, 0, 1) != 0) continue;
    count[0] = count[0] + 1;
    __threadfence();
    atomicExch(lock, 0);
}

__global__ void nested(const int *a, int *out, unsigned *together, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, x = a[t], s = 0;
    for (int i = 0; i < (x & 7) + 2; i++) {
        if ((x + i) % 3 == 0) continue;
        for (int j = 0; j < n; j++) {
            if ((x ^ j) % 5 == 0) break;
            if ((x + j) % 7 == 6) {
                out[t] = -s;
                return;
            }
            s += i * j + x;
        }
        if (s > 1000) goto done;
    }
    s += 5;
done:
    together[t] = __ballot_sync(__activemask(), 1);
    out[t] = s;
}

// Each lane votes with the four of its tile: masks that differ within the warp. Then all vote.
__global__ void tile_votes(const int *a, unsigned *out) {
    unsigned t;
    asm("mov.u32 %0, %%laneid;" : "=r"(t));
    unsigned mask = 15u << (t & ~3u);
    out[5 * t] = __ballot_sync(mask, a[t] > 0);
    out[5 * t + 1] = __any_sync(mask, a[t] > 20);
    out[5 * t + 2] = __all_sync(mask, a[t] > -20);
    out[5 * t + 3] = __shfl_up_sync(mask, a[t], 1, 4);
    out[5 * t + 4] = __ballot_sync(0xffffffff, a[t] & 1);
}

// Lanes that have parted come to a warpsync that is not that of the whole warp, for which others wait.
__global__ void parted_calls(const int *a, int *out) {
    int t = threadIdx.x, r = 0;
    if (t < 20) {
        for (int i = 0; i < 3; i++) r += __shfl_sync(0xfffff, a[t], (t + i) % 20);
    } else {
        r = __shfl_xor_sync(0xfff00000, a[t], 2);
    }
    out[2 * t] = __ballot_sync(0xffffffff, a[t] & 1);
    out[2 * t + 1] = r;
}

__device__ __noinline__ int bits(int x) {
    __syncwarp(1u << threadIdx.x % 32);
    return __popc(x);
}

__device__ __noinline__ int digits(int x) {
    int s = 0;
    while (x) s += bits(x & 15), x /= 10;
    return s;
}

// Lanes are in a function that keeps their view of where the loop ends when the others leave it.
__global__ void kept_views(const int *a, int *out, int n) {
    int t = threadIdx.x, s = 0;
    if (a[t] >= 0) {
        for (int i = t; i < n; i += 32) s += digits(a[i % 32]) * i;
    }
    __syncthreads();
    out[t] = s;
}

// Warps in turn, whose number of threads is known when they run.
__global__ void counted_barriers(int *out, int threads) {
    __shared__ int box[256];
    int t = threadIdx.x;
    if (t < threads) {
        box[t] = t * t;
        asm volatile("bar.sync 3, %0;" ::"r"(threads) : "memory");
        out[t] = box[threads - 1 - t];
    } else {
        asm volatile("bar.sync 4, %0;" ::"r"((int)blockDim.x - threads) : "memory");
        out[t] = -1;
    }
}

__device__ int ackermann(int m, int n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

// Lanes at different depths meet at the same barrier registers.
__global__ void deep_calls(int *out) { out[threadIdx.x] = ackermann(threadIdx.x % 3, threadIdx.x % 4); }

// A launch that lets the next one begin and waits for the one before.
__global__ void dependent(int *g) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    g[blockIdx.x * blockDim.x + threadIdx.x] += 1;
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Lanes of some warps end by a predicate beside the guard (EXIT P), between barriers of the block.
__global__ void leaves(const int *x, int *out) {
    int t = threadIdx.x;
    if (t >= 100) return;
    __syncthreads();
    if (t >= 64 && t % 2) return;
    __syncthreads();
    out[t] = x[t];
}

// Functions by pointers, some with branches of their own: which lanes are together behind each call.
__device__ __noinline__ float with_branches(float x) {
    float root = sqrtf(fabsf(x));
    if (root > 1.5f) {
        for (int i = 0; i < (int)x % 5; i++) root = __fdiv_rn(root, 1.25f + i);
    }
    return root;
}
__device__ __noinline__ float with_calls(float x) { return with_branches(x + 1) * with_branches(x * 0.25f); }
__device__ __noinline__ float without(float x) { return x + 3; }
__device__ __noinline__ float rounded(float x) { return rintf(x); }
typedef float (*Function)(float);
__device__ Function const float_functions[4] = {with_branches, with_calls, without, rounded};

extern "C" __global__ void behind_calls(const int *which, float *x, unsigned *together, int rounds) {
    float mine = x[threadIdx.x];
    for (int i = 0; i < rounds; i++) {
        mine = float_functions[which[i * 32 + threadIdx.x]](mine);
        together[i * 32 + threadIdx.x] = __activemask();
    }
    x[threadIdx.x] = mine;
}
