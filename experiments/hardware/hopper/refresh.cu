// What refresh of DRAM does to loads of lines that no cache has, one after the other, by one thread.

#define LOAD(line)                                                                                                  \
    unsigned begin = clock();                                                                                       \
    int value;                                                                                                      \
    asm volatile("ld.global.cg.b32 %0, [%1];" : "=r"(value) : "l"(base + ((unsigned long long)(line) << 5) + (sum & 1)) : "memory"); \
    sum += value;                                                                                                   \
    unsigned end = clock() + (sum & 1);

// Lines at random of 2^bits: the clocks of each.
extern "C" __global__ void random_lines(const int *base, unsigned *out, unsigned seed, int bits, int count) {
    extern __shared__ unsigned clocks[];
    unsigned long long x = seed;
    int sum = 0;
    for (int i = 0; i < count; i++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        LOAD(x >> 33 & ((1u << bits) - 1))
        clocks[i] = end - begin;
    }
    for (int i = 0; i < count; i++) out[i] = clocks[i];
}

// The same lines in every round, before which all other blocks read so much that the L2 has lost them: when the
// loads began, and their clocks. The first block waits for other times before each round.
extern "C" __global__ void same_lines(const int *base, const int4 *other, long long words, const unsigned *lines, int count,
                                      const unsigned *pause, int rounds, unsigned *began, unsigned *took, int *turn) {
    for (int r = 0; r < rounds; r++) {
        if (blockIdx.x) {
            long long share = words / (gridDim.x - 1), first = share * (blockIdx.x - 1);
            int sum = 0;
            if (threadIdx.x == 0)
                while (*(volatile int *)turn <= r) continue;
            __syncthreads();
            for (long long i = threadIdx.x; i < share; i += blockDim.x) sum ^= __ldcg(other + first + i).x;
            __syncthreads();
            if (threadIdx.x == 0) atomicAdd(turn + 64, 1 + (sum & 1));
        } else if (threadIdx.x == 0) {
            int sum = 0;
            long long before = clock64();
            while (clock64() - before < pause[r]) asm volatile("" ::: "memory"); // compilers drop a loop of nothing
            for (int i = 0; i < count; i++) {
                LOAD(lines[i])
                began[r * count + i] = begin;
                took[r * count + i] = end - begin;
            }
            *(volatile int *)turn = r + 1;
            while (atomicAdd(turn + 64, 0) < (r + 1) * (int)(gridDim.x - 1)) continue;
        }
    }
}
