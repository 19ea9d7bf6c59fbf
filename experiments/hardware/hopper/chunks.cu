// What DRAM gives of chunks of SIZE bytes, at random or at a pitch, of which many are on their way at a time.

// A number for each number, all different, without order.
__device__ unsigned long long shuffled(unsigned long long n, unsigned long long mask) {
    n = n * 0x9E3779B97F4A7C15ull & mask;
    n ^= n >> 11;
    n = n * 0xBF58476D1CE4E5B9ull & mask;
    n ^= n >> 13;
    n = n * 0x94D049BB133111EBull & mask;
    return (n ^ n >> 9) & mask;
}

// A block is a warp, of whose loads 16 are on their way at a time: each of a line, or of several chunks that are smaller.
// The chunks lie `pitch` bytes apart, 0: at random, in a region of 2^bits bytes. Times of begin and end of each block go
// out.
template <int SIZE>
__device__ void chunks(const char *base, int bits, int rounds, unsigned pitch, unsigned long long *out) {
    constexpr int DEEP = 16, SHARE = SIZE < 128 ? 128 / SIZE : 1, LINES = SIZE > 128 ? SIZE / 128 : 1;
    extern __shared__ char unused[];
    unsigned long long begin, end, region = 1ull << bits;
    unsigned sum = 0, lane = threadIdx.x % (32 / SHARE);
    if (rounds < 0) unused[0] = 1;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    unsigned long long first = (unsigned long long)blockIdx.x * rounds * (DEEP / LINES) * SHARE + threadIdx.x * SHARE / 32;
#pragma unroll 1
    for (int i = 0; i < rounds; i++) {
        unsigned value[DEEP];
        const char *at[DEEP];
#pragma unroll
        for (int k = 0; k < DEEP; k++) {
            unsigned long long n = first + (unsigned long long)(i * (DEEP / LINES) + k / LINES) * SHARE;
            unsigned long long place = pitch ? n * pitch & region - 1 : shuffled(n, region / SIZE - 1) * SIZE;
            at[k] = base + place + k % LINES * 128 + lane * 4;
        }
#pragma unroll
        for (int k = 0; k < DEEP; k++) asm volatile("ld.global.b32 %0, [%1];" : "=r"(value[k]) : "l"(at[k]));
#pragma unroll
        for (int k = 0; k < DEEP; k++) sum ^= value[k];
    }
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end) : "r"(sum) : "memory");
    if (sum == 12345) out[0] = 1;
    if (threadIdx.x == 0) out[2 * blockIdx.x] = begin, out[2 * blockIdx.x + 1] = end;
}
#define CHUNKS(size)                                                                                                    \
    extern "C" __global__ void chunks_##size(const char *base, int bits, int rounds, unsigned pitch,                    \
                                             unsigned long long *out) {                                                 \
        chunks<size>(base, bits, rounds, pitch, out);                                                                   \
    }
CHUNKS(32)
CHUNKS(64)
CHUNKS(128)
CHUNKS(256)
CHUNKS(512)
