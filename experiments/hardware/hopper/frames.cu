// Rounds of stores and loads of words that a thread has for itself, in local memory or in global memory that is laid
// out as that is: the words of the 32 lanes side by side. And calls with frames, so many deep. Clocks of each warp.
#define STORE(address, width, x)                                                                                       \
    if (width == 4 && LOCAL) asm volatile("st.local.u32 [%0], %1;" ::"l"(address), "r"(x) : "memory");                 \
    if (width == 16 && LOCAL)                                                                                          \
        asm volatile("st.local.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(address), "r"(x) : "memory");                     \
    if (width == 4 && !LOCAL) asm volatile("st.global.u32 [%0], %1;" ::"l"(address), "r"(x) : "memory");               \
    if (width == 16 && !LOCAL)                                                                                         \
        asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(address), "r"(x) : "memory");

template <bool LOCAL> __device__ unsigned loaded(unsigned long long address) {
    unsigned x;
    if (LOCAL) asm volatile("ld.local.u32 %0, [%1];" : "=r"(x) : "l"(address) : "memory");
    else asm volatile("ld.global.u32 %0, [%1];" : "=r"(x) : "l"(address) : "memory");
    return x;
}
template <bool LOCAL> __device__ unsigned loaded4(unsigned long long address) {
    unsigned x, y, z, w;
    if (LOCAL)
        asm volatile("ld.local.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                     : "l"(address)
                     : "memory");
    else
        asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                     : "l"(address)
                     : "memory");
    return x + y + z + w;
}

// All words are zero, which the compiler does not know: a load's result is added to the next address and data.
// which: by lane, the word that it stores and that which it loads. step: by how many both go on in a round. KIND: what
// a round does: S stores, L loads, W stores 16 bytes, V loads 16 bytes.
enum { S = 1, L, W, V };
template <bool LOCAL, int A, int B, int C>
__device__ void rounds(unsigned *clocks, unsigned *out, const int *which, char *base, int pitch, int step, int count) {
    alignas(16) volatile unsigned words[16];
    unsigned lane = threadIdx.x % 32, warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    unsigned long long own = LOCAL ? __cvta_generic_to_local((void *)words)
                                   : (unsigned long long)base + (unsigned long long)warp * pitch + 4 * lane;
    if (A == W || A == V || B == W || B == V) own += LOCAL ? 0 : 12 * lane;
    const int by = LOCAL ? 4 : 128;
    for (int k = 0; k < 16; k++) {
        words[k] = which[64];
        if (!LOCAL) *(volatile unsigned *)(base + (unsigned long long)warp * pitch + 4 * lane + 128 * k) = which[64];
    }
    unsigned x = which[64], store = which[lane] * by, load = which[32 + lane] * by;
    __syncthreads();
    unsigned begin = clock();
#pragma unroll 1
    for (int i = 0; i < count; i++) {
        const int kinds[] = {A, B, C};
#pragma unroll
        for (int k = 0; k < 3; k++) {
            if (kinds[k] == S) {
                STORE(own + store, 4, x)
            }
            if (kinds[k] == W) {
                STORE(own + store, 16, x)
            }
            if (kinds[k] == L) x += loaded<LOCAL>(own + load + x);
            if (kinds[k] == V) x += loaded4<LOCAL>(own + load + x);
        }
        store = (store + step * by) & (15 * by);
        load = (load + step * by) & (15 * by);
    }
    x += loaded<LOCAL>(own + x);
    unsigned end = clock() + x;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x + words[x];
    if (lane == 0) clocks[warp] = end - begin;
}
#define KIND(name, a, b, c)                                                                                            \
    extern "C" __global__ void local_##name(unsigned *clocks, unsigned *out, const int *which, char *base, int pitch,  \
                                            int step, int count) {                                                     \
        rounds<true, a, b, c>(clocks, out, which, base, pitch, step, count);                                           \
    }                                                                                                                  \
    extern "C" __global__ void global_##name(unsigned *clocks, unsigned *out, const int *which, char *base, int pitch, \
                                             int step, int count) {                                                    \
        rounds<false, a, b, c>(clocks, out, which, base, pitch, step, count);                                          \
    }
KIND(S, S, 0, 0)
KIND(L, L, 0, 0)
KIND(SL, S, L, 0)
KIND(SLL, S, L, L)
KIND(W, W, 0, 0)
KIND(V, V, 0, 0)
KIND(WV, W, V, 0)
KIND(WL, W, L, 0)
KIND(SV, S, V, 0)

// A word of local memory chosen by what another one had, as in arrays that lanes index.
extern "C" __global__ void ring(unsigned *clocks, unsigned *out, const unsigned *x, int count) {
    unsigned ring[16], v = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int k = 0; k < 16; k++) ring[k] = v * (k + 1);
    unsigned begin = clock();
#pragma unroll 4
    for (int k = 0; k < count; k++) {
        unsigned a = ring[(v >> 4) & 15], b = ring[k & 15];
        v = a * 5 + (b ^ v);
        ring[(a >> 7) & 15] = v;
    }
    unsigned end = clock();
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
    if (threadIdx.x % 32 == 0) clocks[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = end - begin;
}

// Calls so many deep, each of which keeps KEPT values over the call of the next one.
template <int KEPT> __device__ __noinline__ unsigned deep(int depth, unsigned x) {
    unsigned kept[KEPT + 1];
    if (depth <= 0) return x;
#pragma unroll
    for (int k = 0; k < KEPT; k++) asm volatile("add.u32 %0, %1, %2;" : "=r"(kept[k]) : "r"(x), "r"(k + 1));
    unsigned y = deep<KEPT>(depth - 1, x + 1);
#pragma unroll
    for (int k = 0; k < KEPT; k++) y ^= kept[k];
    return y + depth;
}
#define DEEP(kept)                                                                                                     \
    extern "C" __global__ void deep_##kept(unsigned *clocks, unsigned *out, const int *which, int count) {             \
        unsigned x = threadIdx.x;                                                                                      \
        int depth = which[threadIdx.x % 32];                                                                           \
        __syncthreads();                                                                                               \
        unsigned begin = clock();                                                                                      \
        _Pragma("unroll 1") for (int i = 0; i < count; i++) x = deep<kept>(depth, x);                                  \
        unsigned end = clock();                                                                                        \
        out[blockIdx.x * blockDim.x + threadIdx.x] = x;                                                                \
        if (threadIdx.x % 32 == 0) clocks[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = end - begin;                 \
    }
DEEP(0)
DEEP(2)
DEEP(4)
DEEP(8)

// Words that some lanes store to a line that nobody has asked for (which[0 to 31]: 1), and then load, at once (wait =
// 0) or later, twice; then other lanes load theirs, and all once more. Clocks of each of these.
template <bool LOCAL> __device__ void fresh(unsigned *clocks, unsigned *out, const int *which, char *base, int wait) {
    alignas(16) volatile unsigned words[256];
    unsigned x = 0, lane = threadIdx.x;
    int mine = which[lane], seen[6];
    if (wait < 0)
        for (int k = 0; k < 256; k++) words[(k + mine) % 256] = which[k];
    unsigned long long own = LOCAL ? __cvta_generic_to_local((void *)words) : (unsigned long long)base + 4 * lane;
#pragma unroll
    for (int step = 0; step < 6; step++) {
        __syncwarp();
        int begin = clock();
        if (step == 0) {
            if (mine) STORE(own, 4, lane)
        } else if (step == 1 || step == 2) {
            if (mine) x += loaded<LOCAL>(own);
        } else if (step == 3) {
            if (!mine) x += loaded<LOCAL>(own);
        } else {
            x += loaded<LOCAL>(own);
        }
        if (x == 12345) __nanosleep(1); // waits for the load
        __syncwarp();
        seen[step] = clock() - begin;
#pragma unroll 1
        for (int z = 0; z < wait; z++) __nanosleep(1000);
    }
    out[lane] = x + words[x % 256];
    if (lane == 0)
        for (int step = 0; step < 6; step++) clocks[step] = seen[step];
}
extern "C" __global__ void local_fresh(unsigned *clocks, unsigned *out, const int *which, char *base, int wait) {
    fresh<true>(clocks, out, which, base, wait);
}
extern "C" __global__ void global_fresh(unsigned *clocks, unsigned *out, const int *which, char *base, int wait) {
    fresh<false>(clocks, out, which, base, wait);
}
