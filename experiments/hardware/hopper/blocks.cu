// Where and when blocks run; what a launch costs; barriers of the whole grid.
__device__ unsigned multiprocessor() {
    unsigned here;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    return here;
}
__device__ unsigned long long timer() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

// Each block notes its multiprocessor and when it began and ended (clocks of that multiprocessor, nanoseconds).
// It waits for `base` clocks, and `extra` more if its index is a multiple of `step`.
extern "C" __global__ void blocks(int base, int extra, int step, unsigned long long *out) {
    extern __shared__ char unused[];
    long long begin = clock64();
    unsigned long long at = timer();
    if (base < 0) unused[0] = 1;
    long long length = base + (blockIdx.x % step == 0 ? extra : 0);
    while (clock64() - begin < length) {
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned long long *mine = out + 4 * blockIdx.x;
        mine[0] = multiprocessor(), mine[1] = begin, mine[2] = clock64(), mine[3] = at;
    }
}

// Blocks of one cluster lie in one GPC.
#define CLUSTER(size)                                                                                                   \
    extern "C" __global__ void __cluster_dims__(size, 1, 1) cluster##size(unsigned *out) {                              \
        extern __shared__ char unused[];                                                                                \
        if (out == nullptr) unused[0] = 1;                                                                              \
        long long begin = clock64();                                                                                    \
        while (clock64() - begin < 20000) {                                                                             \
        }                                                                                                               \
        if (threadIdx.x == 0) out[blockIdx.x] = multiprocessor();                                                       \
    }
CLUSTER(16)
CLUSTER(12)
CLUSTER(8)
CLUSTER(6)
CLUSTER(4)
CLUSTER(2)

extern "C" __global__ void empty() {}

// When the first block of a kernel began: clock and multiprocessor, and timer. Of kernels in a row: what lies between them.
extern "C" __global__ void mark(unsigned long long *out) {
    if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = clock64(), out[1] = timer(), out[2] = multiprocessor();
}

// Barriers of the whole grid by one counter, as cooperative groups do them.
extern "C" __global__ void grid_barrier(unsigned *counter, int rounds, unsigned long long *out) {
    long long begin = clock64();
    for (int i = 1; i <= rounds; i++) {
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(counter, 1);
            unsigned seen;
            do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
            while (seen < i * gridDim.x);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = clock64() - begin;
}

// The clock of the multiprocessor against the timer of the card.
extern "C" __global__ void clocks(unsigned long long *out) {
    unsigned long long begin = timer();
    long long first = clock64();
    while (timer() - begin < 2000000) {
    }
    out[0] = clock64() - first, out[1] = timer() - begin;
}
