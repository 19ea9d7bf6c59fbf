// Shared memory whose lanes meet at words and banks, barriers with little between them, and chases whose lanes yield.

// where: byte offsets of the lanes of a warp. Chained: each access waits for the result of the one before.
#define ACCESSES(name, type, constraint, one)                                                                           \
    extern "C" __global__ void name(unsigned *clocks, unsigned *out, const unsigned *where, int rounds, int chained) {   \
        __shared__ alignas(16) unsigned words[8192];                                                                    \
        for (int i = threadIdx.x; i < 8192; i += blockDim.x) words[i] = 0;                                              \
        unsigned at = (unsigned)__cvta_generic_to_shared(words) + where[threadIdx.x % 32];                              \
        type value = (type)(threadIdx.x + rounds), got = 0, sum = 0;                                                    \
        __syncthreads();                                                                                                \
        unsigned begin = clock();                                                                                       \
        if (chained) {                                                                                                  \
            _Pragma("unroll 1") for (int i = 0; i < rounds; i += 4) _Pragma("unroll") for (int k = 0; k < 4; k++) {     \
                one;                                                                                                    \
                at += (unsigned)got >> 31;                                                                              \
            }                                                                                                           \
        } else {                                                                                                        \
            _Pragma("unroll 1") for (int i = 0; i < rounds; i += 4) _Pragma("unroll") for (int k = 0; k < 4; k++) {     \
                one;                                                                                                    \
                sum += got;                                                                                             \
            }                                                                                                           \
        }                                                                                                               \
        __syncthreads();                                                                                                \
        unsigned end = clock();                                                                                         \
        out[threadIdx.x] = (unsigned)(sum + got);                                                                       \
        if (threadIdx.x % 32 == 0) clocks[threadIdx.x / 32] = end - begin;                                              \
    }
#define LOADS(name, type, constraint, of) \
    ACCESSES(name, type, constraint, asm volatile("ld.volatile.shared." of " %0, [%1];" : "=" constraint(got) : "r"(at)))
#define STORES(name, type, constraint, of) \
    ACCESSES(name, type, constraint, asm volatile("st.volatile.shared." of " [%1], %0;" ::constraint(value), "r"(at)))
#define ATOMICS(name, type, constraint, op) \
    ACCESSES(name, type, constraint, asm volatile("atom.shared." op " %0, [%1], %2;" : "=" constraint(got) : "r"(at), constraint(value)))
#define SWAPS(name, type, constraint, op) \
    ACCESSES(name, type, constraint, asm volatile("atom.shared." op " %0, [%1], %2, %3;" : "=" constraint(got) : "r"(at), constraint((type)0), constraint((type)0)))
LOADS(load8, unsigned short, "h", "u8")
LOADS(load16, unsigned short, "h", "u16")
LOADS(load32, unsigned, "r", "u32")
LOADS(load64, unsigned long long, "l", "u64")
STORES(store8, unsigned short, "h", "u8")
STORES(store16, unsigned short, "h", "u16")
STORES(store32, unsigned, "r", "u32")
ATOMICS(add32, unsigned, "r", "add.u32")
ATOMICS(max32, unsigned, "r", "max.u32")
ATOMICS(exch32, unsigned, "r", "exch.b32")
ATOMICS(exch64, unsigned long long, "l", "exch.b64")
SWAPS(cas32, unsigned, "r", "cas.b32")
SWAPS(cas64, unsigned long long, "l", "cas.b64")
ACCESSES(red32, unsigned, "r", asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(at), "r"(value)))
ACCESSES(red_one, unsigned, "r", asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(at)))

// Rounds of a loop with barriers of the block.
#define BARRIERS(name, ...)                                                                                           \
    extern "C" __global__ void name(unsigned *clocks, unsigned *out, int rounds) {                                      \
        __shared__ unsigned words[2048];                                                                                \
        volatile unsigned *own = words + threadIdx.x;                                                                   \
        volatile unsigned short *half = (unsigned short *)words + 2 * threadIdx.x;                                      \
        unsigned x = threadIdx.x, t = threadIdx.x;                                                                      \
        words[t] = words[t + 1024] = t;                                                                                 \
        __syncthreads();                                                                                                \
        unsigned begin = clock();                                                                                       \
        _Pragma("unroll 1") for (int i = 0; i < rounds; i++) { __VA_ARGS__; }                                                 \
        unsigned end = clock();                                                                                         \
        out[t] = x + half[0];                                                                                           \
        if (t % 32 == 0) clocks[t / 32] = end - begin;                                                                  \
    }
BARRIERS(sync, __syncthreads())
BARRIERS(sync_twice, __syncthreads(); __syncthreads())
BARRIERS(any, x += __syncthreads_or(x == 99999))
BARRIERS(counted, x += __syncthreads_count(x == 99999))
BARRIERS(loaded, x += own[1]; __syncthreads())
BARRIERS(stored, *own = x; __syncthreads())
BARRIERS(exchanged, *own = x; __syncthreads(); x += own[1]; __syncthreads())
BARRIERS(halves, { unsigned short a = half[1], b = half[2]; if (a > b) half[1] = b, half[2] = a, x++; } __syncthreads())
BARRIERS(words_held, { unsigned a = own[0]; if ((a & 0xFFFF) > (a >> 16)) *own = a >> 16 | a << 16, x++; } __syncthreads())
BARRIERS(first_warp, if (t < 32) { *own = own[32] + x; } __syncthreads())
BARRIERS(computed, _Pragma("unroll") for (int k = 0; k < 32; k++) x = (x ^ x >> 3) * 5; __syncthreads())
BARRIERS(bypassed, if (x != 99999) { x += own[1]; } __syncthreads())

// A chase of each lane in shared memory, of so many steps by lane, as compilers write it with a YIELD; then the next one.
// heads: the first word of each lane's chase; lists: who is there together, by lane and chase, and when.
extern "C" __global__ void chases(unsigned *clocks, uint2 *lists, const unsigned *heads, const unsigned *table, int rounds, int step) {
    __shared__ unsigned next[2048];
    for (int i = threadIdx.x; i < 2048; i += blockDim.x) next[i] = table[i];
    unsigned head = heads[threadIdx.x];
    volatile unsigned *p = next;
    __syncthreads();
    unsigned begin = clock();
    for (int r = 0; r < rounds; r++) {
        unsigned a = (head + r * step) % 2048;
        while (a != p[a]) a = p[a];
        unsigned mask = __activemask();
        if (lists) lists[threadIdx.x * rounds + r] = make_uint2(mask, (unsigned)clock() - begin);
    }
    __syncwarp();
    unsigned end = clock();
    if (threadIdx.x % 32 == 0) clocks[threadIdx.x / 32] = end - begin;
}

// Trees are hooked by compare and swap, edge by edge, as in a search for connected components: who is there together
// behind each chase (stages 0 and 1) and each swap (2).
extern "C" __global__ void hooks(unsigned *clocks, uint2 *lists, const uint2 *edges, int rounds, int room) {
    __shared__ unsigned parent[2048];
    for (int i = threadIdx.x; i < 2048; i += blockDim.x) parent[i] = i;
    volatile unsigned *p = parent;
    uint2 *list = lists + threadIdx.x * room;
    __syncthreads();
    unsigned begin = clock();
    int n = 0;
#define NOTE(stage)                                                                                                     \
    if (lists) {                                                                                                        \
        unsigned mask = __activemask();                                                                                 \
        if (n < room) list[n++] = make_uint2(mask, ((unsigned)clock() - begin) * 4 + stage);                            \
    }
    for (int r = 0; r < rounds; r++) {
        uint2 e = edges[r * blockDim.x + threadIdx.x];
        unsigned a = e.x, b = e.y;
        while (true) {
            while (a != p[a]) a = p[a];
            NOTE(0)
            while (b != p[b]) b = p[b];
            NOTE(1)
            if (a == b) break;
            unsigned high = max(a, b), low = min(a, b), old = atomicCAS(&parent[high], high, low);
            NOTE(2)
            if (old == high) break;
        }
    }
    __syncwarp();
    unsigned end = clock();
    if (threadIdx.x % 32 == 0) clocks[threadIdx.x / 32] = end - begin;
}

// A loop with a YIELD by the first lanes while the others wait where lanes meet again (0), are done (1), or go through a loop
// of their own behind a branch (2).
extern "C" __global__ void yielders(unsigned *clocks, unsigned *out, int lanes, int rounds, int others) {
    __shared__ unsigned words[1024];
    volatile unsigned *own = words + threadIdx.x;
    *own = 0;
    __syncthreads();
    unsigned begin = clock();
    int i = 0;
    if ((int)threadIdx.x % 32 >= lanes && others == 1) return;
    if ((int)threadIdx.x % 32 < lanes) {
        while (*own == 0 && ++i < rounds) continue;
        out[threadIdx.x] = clock() - begin;
    } else if (others == 2) {
        while (*own == 0 && ++i < rounds) continue;
        out[threadIdx.x] = i;
    }
    __syncwarp();
    unsigned end = clock();
    if (threadIdx.x % 32 == 0) clocks[threadIdx.x / 32] = end - begin;
}
