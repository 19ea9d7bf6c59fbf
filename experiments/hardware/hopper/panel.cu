// What the kernels of Figure 11's panel do that no other probe asks: local memory, rows of a matrix that warps walk side
// by side, and a launch behind reductions that are still on their way.

// Rounds in which a thread goes through its WORDS words of local memory. WHAT 0 writes them, 1 reads them, 2 writes and
// then reads them. What a round of reads found is part of what the next one writes.
template <int WORDS, int WHAT> __device__ void local(int rounds, const unsigned short *rank, unsigned long long *out) {
    unsigned here, sum = threadIdx.x;
    volatile unsigned words[WORDS];
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    if (rank[here] == 65535) return;
    for (int k = 0; k < WORDS; k++) words[k] = k;
    __syncthreads();
    long long begin = clock64();
#pragma unroll 1
    for (int i = 0; i < rounds; i++) {
        if (WHAT != 1)
#pragma unroll 8
            for (int k = 0; k < WORDS; k++) words[k] = sum + k;
        if (WHAT != 0)
#pragma unroll 8
            for (int k = 0; k < WORDS; k++) sum += words[k];
    }
    if (sum == 12345) out[1] = words[sum % WORDS];
    __syncthreads();
    if (threadIdx.x == 0) out[here] = clock64() - begin;
}
#define LOCAL(words)                                                                                                    \
    extern "C" __global__ void local_write_##words(int n, const unsigned short *rank, unsigned long long *out) {        \
        local<words, 0>(n, rank, out);                                                                                  \
    }                                                                                                                   \
    extern "C" __global__ void local_read_##words(int n, const unsigned short *rank, unsigned long long *out) {         \
        local<words, 1>(n, rank, out);                                                                                  \
    }                                                                                                                   \
    extern "C" __global__ void local_both_##words(int n, const unsigned short *rank, unsigned long long *out) {         \
        local<words, 2>(n, rank, out);                                                                                  \
    }
LOCAL(32)
LOCAL(64)

// A block is a warp that walks along 32 rows of a matrix side by side: a line of each of DEEP rows is on its way at a
// time. Times of begin and end of each block go out.
template <int DEEP> __device__ void walk(const char *base, int pitch, int lines, unsigned long long *out) {
    extern __shared__ char unused[];
    unsigned long long begin, end;
    unsigned sum = 0;
    if (pitch < 0) unused[0] = 1;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    const char *mine = base + (unsigned long long)blockIdx.x * 32 * pitch + threadIdx.x * 4;
#pragma unroll 1
    for (int line = 0; line < lines; line++)
#pragma unroll 1
        for (int row = 0; row < 32; row += DEEP) {
            unsigned value[DEEP];
#pragma unroll
            for (int k = 0; k < DEEP; k++)
                asm volatile("ld.global.b32 %0, [%1];"
                             : "=r"(value[k])
                             : "l"(mine + (unsigned long long)(row + k) * pitch + line * 128));
#pragma unroll
            for (int k = 0; k < DEEP; k++) sum ^= value[k];
            if (sum == 12345) mine += sum; // the next ones wait for these
        }
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end));
    if (sum == 12345) end = sum;
    if (threadIdx.x == 0) out[2 * blockIdx.x] = begin, out[2 * blockIdx.x + 1] = end;
}
#define WALK(deep)                                                                                                      \
    extern "C" __global__ void walk_##deep(const char *base, int pitch, int lines, unsigned long long *out) {           \
        walk<deep>(base, pitch, lines, out);                                                                            \
    }
WALK(1)
WALK(4)
WALK(8)
WALK(16)
WALK(32)

// Each thread adds `rounds` times to words of its own, or all lanes of all warps to the same ones (`apart` 0), and waits
// for nothing. Times of begin and end of each block go out.
extern "C" __global__ void reduce(char *base, int apart, int rounds, unsigned long long *out) {
    unsigned long long begin, end;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    char *mine = base + (unsigned long long)(blockIdx.x * blockDim.x + threadIdx.x) * apart + threadIdx.x % 32 * 4;
#pragma unroll 1
    for (int i = 0; i < rounds; i++)
        asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(mine + i % 8 * 128), "r"(i) : "memory");
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end));
    if (threadIdx.x == 0) out[2 * blockIdx.x] = begin, out[2 * blockIdx.x + 1] = end;
}
