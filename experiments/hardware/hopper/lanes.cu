// Values that lanes have in common (MATCH), lanes that let others go on (YIELD), and warps that sleep (NANOSLEEP).

#define MATCHES(name, type, bits, constraint)                                                                       \
    extern "C" __global__ void name(unsigned *out, int distinct, int rounds, int chained) {                         \
        type value = (type)(threadIdx.x % 32 % distinct) * (type)0x100000001ull;                                    \
        unsigned sum = 0;                                                                                           \
        __syncthreads();                                                                                            \
        unsigned begin = clock();                                                                                   \
        if (chained) {                                                                                              \
            for (int i = 0; i < rounds; i++) value += __match_any_sync(~0u, value) == 77777u;                       \
        } else {                                                                                                    \
            for (int i = 0; i < rounds; i += 4)                                                                     \
                for (int k = 0; k < 4; k++) {                                                                       \
                    type own = value + 64 * (i + k);                                                                \
                    unsigned same;                                                                                  \
                    asm volatile("match.any.sync." bits " %0, %1, 0xffffffff;" : "=r"(same) : constraint(own));     \
                    sum += same;                                                                                    \
                }                                                                                                   \
        }                                                                                                           \
        unsigned end = clock();                                                                                     \
        if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = end - begin + (value == 99999) + (sum == 999);           \
    }
MATCHES(match_32, unsigned, "b32", "r")
MATCHES(match_64, unsigned long long, "b64", "l")

// Loops with a YIELD, as compilers write it where lanes may wait for each other: what each of the first lanes asks for
// never comes. What: 0 compare and swap, 1 a load, of a word of its own in shared memory.
extern "C" __global__ void yields(unsigned *out, int lanes, int rounds, int what) {
    __shared__ unsigned words[1024];
    volatile unsigned *own = words + threadIdx.x;
    *own = 0;
    __syncthreads();
    unsigned begin = clock();
    int i = 0;
    if (threadIdx.x % 32 < lanes) {
        if (what == 0) while (atomicCAS(words + threadIdx.x, 5, 6) == 0 && ++i < rounds) continue;
        if (what == 1) while (*own == 0 && ++i < rounds) continue;
    }
    __syncwarp();
    unsigned end = clock();
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = end - begin;
}

// Each of the first lanes of a warp adds to one word of shared memory what no instruction adds there: a float, a double,
// or, by a loop of the source, an integer. The second time counts.
extern "C" __global__ void sums(unsigned *out, int lanes, int what) {
    __shared__ double number;
    __shared__ unsigned word;
    number = 0;
    word = 0;
    for (int round = 0; round < 2; round++) {
        __syncthreads();
        unsigned begin = clock();
        if (threadIdx.x % 32 < lanes) {
            if (what == 0) atomicAdd((float *)&number, 1.0f);
            if (what == 1) atomicAdd(&number, 1.0);
            if (what == 2)
                for (unsigned old = word, seen = ~old; old != seen;) {
                    seen = old;
                    old = atomicCAS(&word, seen, seen + 1);
                }
        }
        __syncwarp();
        unsigned end = clock();
        if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = end - begin;
    }
}

// Rounds of a store, or of nothing, and a fence.
extern "C" __global__ void fence_rounds(unsigned *out, int *data, int rounds, int stores) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __syncthreads();
    unsigned begin = clock();
    for (int r = 0; r < rounds; r++) {
        if (stores) ((volatile int *)data)[i] = r;
        __threadfence();
    }
    unsigned end = clock();
    if (threadIdx.x % 32 == 0) out[i / 32] = end - begin;
}

extern "C" __global__ void naps(unsigned *out, unsigned nanoseconds, int rounds) {
    out += threadIdx.x / 32 * rounds;
    for (int i = 0; i < rounds; i++) {
        unsigned begin = clock();
        __nanosleep(nanoseconds);
        unsigned end = clock();
        if (threadIdx.x % 32 == 0) out[i] = end - begin;
    }
}

// Each lane adds 1 to state[0] by compare and swap, `rounds` times: behind how many tries of all lanes its own that succeeds
// comes. Who has left the loop goes on while the others try again.
extern "C" __global__ void yield_turns(unsigned *turns, unsigned *state, int rounds) {
    if (threadIdx.x == 0) state[0] = state[1] = 0;
    __syncwarp();
    for (int i = 0; i < rounds; i++) {
        unsigned old = *(volatile unsigned *)state, seen, tries;
        do {
            seen = old;
            __threadfence();
            old = atomicCAS(state, seen, seen + 1);
            tries = atomicAdd(state + 1, 1);
        } while (old != seen);
        turns[threadIdx.x * rounds + i] = tries;
    }
}

// Each lane adds 1 to a word by compare and swap, `rounds` times: by warp tries, groups of lanes that try together, clocks.
extern "C" __global__ void swaps(unsigned long long *out, unsigned long long *words, int place, int rounds) {
    unsigned long long *word = words + place;
    unsigned long long tries = 0, groups = 0, begin = clock64();
    for (int i = 0; i < rounds; i++) {
        unsigned long long old = *(volatile unsigned long long *)word, seen;
        do {
            unsigned together = __activemask();
            groups += (together & -together) == 1u << threadIdx.x % 32;
            tries++;
            seen = old;
            old = atomicCAS(word, seen, seen + 1);
        } while (old != seen);
    }
    unsigned long long clocks = clock64() - begin;
    out += (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 3;
    atomicAdd(out, tries), atomicAdd(out + 1, groups), atomicMax(out + 2, clocks);
}

// The first lane of each warp adds 1 to a word under a lock, `rounds` times.
extern "C" __global__ void locks(unsigned long long *out, unsigned long long *words, int place, int rounds) {
    unsigned *lock = (unsigned *)(words + place);
    unsigned long long tries = 0, begin = clock64();
    if (threadIdx.x % 32) return;
    for (int i = 0; i < rounds; i++) {
        do tries++;
        while (atomicCAS(lock, 0, 1));
        __threadfence();
        ((volatile unsigned *)lock)[1] = ((volatile unsigned *)lock)[1] + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
    unsigned long long clocks = clock64() - begin;
    out += (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 3;
    out[0] = out[1] = tries, out[2] = clocks;
}
