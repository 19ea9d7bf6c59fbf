// Accesses of few bytes to sectors of their own. Lane l of access i of a warp goes to (i * 32 + l) * stride of a region,
// whose parts the warps of the chosen multiprocessors share out. WHAT 0: load, 1: store, 2: add, 3: add with its result.
template <int WHAT, class Word> __device__ void scattered(char *base, unsigned bytes, unsigned stride, int rounds,
                                                          const unsigned short *rank, unsigned long long *out) {
    unsigned here, sum = 0;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    if (rank[here] == 65535) return;
    unsigned warp = rank[here] * (blockDim.x / 32) + threadIdx.x / 32, at = (warp * rounds * 32 + threadIdx.x % 32) * stride;
    __syncthreads();
    long long begin = clock64();
#pragma unroll 4
    for (int i = 0; i < rounds; i++, at += 32 * stride) {
        Word *place = (Word *)(base + at % bytes), value = {};
        if (WHAT == 0) {
            value = *(volatile Word *)place;
            sum ^= (unsigned)value;
        }
        if (WHAT == 1) *(volatile Word *)place = i;
        if (WHAT == 2) atomicAdd((unsigned *)place, 1u);
        if (WHAT == 3) sum ^= atomicAdd((unsigned *)place, i);
    }
    if (sum == 12345) out[1] = sum;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) out[here] = clock64() - begin;
}

#define KERNEL(name, what, word)                                                                                        \
    extern "C" __global__ void name(char *base, unsigned bytes, unsigned stride, int rounds, const unsigned short *rank, \
                                    unsigned long long *out) {                                                          \
        scattered<what, word>(base, bytes, stride, rounds, rank, out);                                                  \
    }
KERNEL(load_4, 0, unsigned)
KERNEL(load_8, 0, unsigned long long)
KERNEL(store_1, 1, unsigned char)
KERNEL(store_4, 1, unsigned)
KERNEL(store_8, 1, unsigned long long)
KERNEL(add, 2, unsigned)
KERNEL(add_result, 3, unsigned)

// One lane of each warp adds to one word, all to the same, or each to one of some lines.
extern "C" __global__ void add_alone(char *base, unsigned lines, int rounds, const unsigned short *rank, unsigned long long *out) {
    unsigned here;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    if (rank[here] == 65535) return;
    unsigned warp = rank[here] * (blockDim.x / 32) + threadIdx.x / 32;
    __syncthreads();
    long long begin = clock64();
    for (int i = 0; i < rounds; i++)
        if (threadIdx.x % 32 == 0) atomicAdd((unsigned *)(base + (warp + i) % lines * 128), 1u);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) out[here] = clock64() - begin;
}

// Each sector is stored to in parts, one word of each lane at a time, by accesses of lanes `parts` words from one
// another: the next words of `apart` accesses follow the ones before of these.
extern "C" __global__ void in_parts(char *base, unsigned bytes, unsigned parts, unsigned apart, int rounds,
                                    const unsigned short *rank, unsigned long long *out) {
    unsigned here;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    if (rank[here] == 65535) return;
    unsigned warp = rank[here] * (blockDim.x / 32) + threadIdx.x / 32, row = 32 * 4 * parts;
    unsigned at = warp * rounds * row + threadIdx.x % 32 * 4 * parts;
    __syncthreads();
    long long begin = clock64();
    for (int i = 0; i < rounds; i += apart, at += apart * row)
        for (unsigned word = 0; word < parts; word++)
#pragma unroll 4
            for (unsigned j = 0; j < apart; j++) *(volatile unsigned *)(base + (at + j * row) % bytes + 4 * word) = i;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) out[here] = clock64() - begin;
}

// Four words of each sector of four lines, a word of each lane at a time: four stores right behind each other, which a
// load from the same lines may part (LOADED).
template <bool LOADED> __device__ void joined(char *base, int rounds, const unsigned short *rank, unsigned long long *out) {
    unsigned here, sum = 0;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    if (rank[here] == 65535) return;
    unsigned warp = rank[here] * (blockDim.x / 32) + threadIdx.x / 32;
    char *at = base + warp * rounds * 512 + threadIdx.x % 32 * 16;
    __syncthreads();
    long long begin = clock64();
#pragma unroll 1
    for (int i = 0; i < rounds; i += 4, at += 2048)
#pragma unroll
        for (int j = 0; j < 16; j++) {
            asm volatile("st.global.u32 [%0], %1;" ::"l"(at + j / 4 * 512 + j % 4 * 4), "r"(i) : "memory");
            if (LOADED && j % 4 == 1) {
                unsigned value;
                asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(at + j / 4 * 512 + 12) : "memory");
                sum += value;
            }
        }
    if (sum == 12345) out[1] = sum;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) out[here] = clock64() - begin;
}
extern "C" __global__ void joined_plain(char *base, int rounds, const unsigned short *rank, unsigned long long *out) {
    joined<false>(base, rounds, rank, out);
}
extern "C" __global__ void joined_loaded(char *base, int rounds, const unsigned short *rank, unsigned long long *out) {
    joined<true>(base, rounds, rank, out);
}

// Sixteen stores of each warp of a block, and the clock behind each.
extern "C" __global__ void turns(char *base, unsigned *out) {
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, clocks[16];
    char *at = base + warp * 16 * 512 + lane * 16;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; i++) {
        asm volatile("st.global.u32 [%0], %1;" ::"l"(at + i / 4 * 512 + i % 4 * 4), "r"(i) : "memory");
        asm volatile("mov.u32 %0, %%clock;" : "=r"(clocks[i])::"memory");
    }
    if (lane == 0)
        for (int i = 0; i < 16; i++) out[warp * 16 + i] = clocks[i];
}
