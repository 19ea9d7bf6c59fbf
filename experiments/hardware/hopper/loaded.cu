// Memory under load, by few and by many lanes. Who takes part is told by `rank`, as in scattered.cu.

// RESULT 0: ATOMG whose result is dropped, 1: one whose result is waited for, 2: RED. The lanes below `active` add to
// words, `group` of them to the same one, which lie `stride` bytes apart. Warps have words of their own, or all the same
// (`apart` 0).
template <int RESULT> __device__ void lanes(char *base, int active, int group, int stride, int apart, int rounds,
                                            const unsigned short *rank, unsigned long long *out) {
    unsigned here, lane = threadIdx.x % 32, got = 0;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    if (rank[here] == 65535) return;
    unsigned warp = rank[here] * (blockDim.x / 32) + threadIdx.x / 32;
    char *at = base + warp * apart + lane / group * stride;
    __syncthreads();
    long long begin = clock64();
    if (lane < active)
#pragma unroll 1
        for (int i = 0; i < rounds; i++) {
            if (RESULT == 2)
                asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(at), "r"(i) : "memory");
            else if (RESULT)
                got = atomicAdd((unsigned *)at, got & 1);
            else
                atomicAdd((unsigned *)at, 1u);
        }
    __syncwarp();
    if (got == 12345) out[1] = got;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) out[here] = clock64() - begin;
}
#define LANES(name, result)                                                                                             \
    extern "C" __global__ void name(char *base, int active, int group, int stride, int apart, int rounds,               \
                                    const unsigned short *rank, unsigned long long *out) {                              \
        lanes<result>(base, active, group, stride, apart, rounds, rank, out);                                           \
    }
LANES(lanes_add, 0)
LANES(lanes_add_result, 1)
LANES(lanes_red, 2)

// Each of the lanes below `active` follows a way of its own through sectors of a region of 2^bits bytes, which holds
// zeros: the next place is known when a load is answered. DEEP loads of a lane are on their way at a time.
template <int DEEP> __device__ void ways(const char *base, int active, int bits, int hops, const unsigned short *rank,
                                         unsigned long long *out) {
    unsigned here, lane = threadIdx.x % 32, mask = ((1u << (bits - 5)) - 1), x[DEEP];
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    if (rank[here] == 65535) return;
    for (int k = 0; k < DEEP; k++)
        x[k] = ((rank[here] * blockDim.x + threadIdx.x + blockIdx.x * 7919) * DEEP + k) * 2654435761u + 12345;
    __syncthreads();
    long long begin = clock64();
    if (lane < active)
#pragma unroll 1
        for (int i = 0; i < hops; i++) {
            unsigned value[DEEP];
#pragma unroll
            for (int k = 0; k < DEEP; k++)
                asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];"
                             : "=r"(value[k])
                             : "l"(base + (unsigned long long)(x[k] >> 7 & mask) * 32));
#pragma unroll
            for (int k = 0; k < DEEP; k++) x[k] = (x[k] + value[k]) * 1664525u + 1013904223u;
        }
    __syncwarp();
    unsigned sum = 0;
    for (int k = 0; k < DEEP; k++) sum ^= x[k];
    if (sum == 12345) out[1] = sum;
    __syncthreads();
    if (threadIdx.x == 0) out[here] = clock64() - begin;
}
#define WAYS(name, deep)                                                                                                \
    extern "C" __global__ void name(const char *base, int active, int bits, int hops, const unsigned short *rank,       \
                                    unsigned long long *out) {                                                          \
        ways<deep>(base, active, bits, hops, rank, out);                                                                \
    }
WAYS(ways_1, 1)
WAYS(ways_4, 4)

// A thread for each word: WHAT 0 reads one, 1 writes one, 2 copies one. Times of begin and end of each block go out, the
// end behind a fence, so that what was written has arrived.
template <int WHAT, class Word> __device__ void words(const Word *from, Word *to, unsigned long long *out) {
    unsigned long long begin, end, i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    Word value = {};
    if (WHAT != 1) value = from[i];
    if (WHAT != 0) to[i] = value;
    if (WHAT == 0 && *(int *)&value == 12345) to[i] = value;
    __threadfence();
    __syncthreads();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end));
    if (threadIdx.x == 0) {
        out[2 * blockIdx.x] = begin;
        out[2 * blockIdx.x + 1] = end;
    }
}
#define WORDS(name, what, word)                                                                                         \
    extern "C" __global__ void name(const word *from, word *to, unsigned long long *out) { words<what, word>(from, to, out); }
WORDS(read_4, 0, int)
WORDS(write_4, 1, int)
WORDS(copy_4, 2, int)
WORDS(read_16, 0, int4)
WORDS(write_16, 1, int4)
WORDS(copy_16, 2, int4)
