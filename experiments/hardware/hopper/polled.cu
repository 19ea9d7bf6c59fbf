// Multiprocessors that wait for each other's words in global memory, fences behind many bytes, and atomics of all kinds on few
// words.
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ u32 acquired(const u32 *p)
{
    u32 v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ __forceinline__ void released(u32 *p, u32 v) { asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }

// Threads of two blocks answer each other, those of further blocks look on: flags lie in a line each. HOW: what tells, what asks,
// what lies between.
#define TURNS(name, tell, ask, before, behind)                                                                          \
    extern "C" __global__ void name(u64 *clocks, u32 *flags, volatile u32 *data, int rounds, int first, int second, int lookers) { \
        int b = blockIdx.x;                                                                                             \
        u32 sum = 0;                                                                                                    \
        if (b == first || b == second) {                                                                                \
            if (threadIdx.x) return;                                                                                    \
            u32 *mine = flags + (b == second) * 64, *other = flags + (b == first) * 64;                                 \
            volatile u32 *own = data + (b == second) * 64, *theirs = data + (b == first) * 64;                          \
            u64 begin = 0;                                                                                              \
            for (int r = 1; r <= rounds; r++) {                                                                         \
                if (r == 9) begin = clock64();                                                                          \
                if (b == second) { while ((ask) < r) continue; behind; }                                                \
                before;                                                                                                 \
                tell;                                                                                                   \
                if (b == first) { while ((ask) < r) continue; behind; }                                                 \
            }                                                                                                           \
            clocks[b] = clock64() - begin + (sum == 12345);                                                             \
        } else if (lookers > 0) {                                                                                       \
            u32 *other = flags + 64;                                                                                    \
            int place = (b - first + (int)gridDim.x) % (int)gridDim.x;                                                  \
            place -= place > (second - first + (int)gridDim.x) % (int)gridDim.x;                                        \
            if (place > lookers) return;                                                                                \
            while ((ask) < rounds) continue;                                                                            \
        }                                                                                                               \
    }
#define VOLATILE(p) (*(volatile u32 *)(p))
TURNS(plain, VOLATILE(mine) = r, VOLATILE(other), , )
TURNS(ordered, released(mine, r), acquired(other), , )
TURNS(acquired_only, VOLATILE(mine) = r, acquired(other), , )
TURNS(exchanged, atomicExch(mine, r), VOLATILE(other), , )
TURNS(asked, VOLATILE(mine) = r, atomicAdd(other, 0), , )
TURNS(added, atomicAdd(mine, 1), VOLATILE(other), , )
TURNS(fenced, VOLATILE(mine) = r, VOLATILE(other), own[0] = r; __threadfence(), __threadfence(); sum += theirs[0])
TURNS(passed, released(mine, r), acquired(other), own[0] = r, sum += theirs[0])
TURNS(loaded_behind, VOLATILE(mine) = r, VOLATILE(other), , sum += theirs[0])

// Barriers of the grid by one counter, with so many stores of 16 bytes a thread before each: clocks of the stores and the fence of
// each warp, and of what comes then, the slowest.
extern "C" __global__ void grid_rounds(u32 *clocks, uint4 *data, u32 *count, int rounds, int stores, int everyone) {
    int t = threadIdx.x, b = blockIdx.x, n = gridDim.x;
    u32 fence = 0, rest = 0;
    for (int r = 0; r < rounds; r++) {
        u32 begin = clock();
        for (int k = 0; k < stores; k++) data[((r & 1) * n + b) * blockDim.x * stores + k * blockDim.x + t] = make_uint4(t, r, k, b);
        if (everyone) __threadfence();
        u32 middle = clock();
        __syncthreads();
        if (t == 0) {
            if (!everyone) __threadfence();
            atomicAdd(count, 1u);
            while (*(volatile u32 *)count < n * (r + 1)) continue;
            __threadfence();
        }
        __syncthreads();
        u32 end = clock();
        if (r) fence += middle - begin, rest += end - middle;
    }
    if (t % 32 == 0) clocks[(b * blockDim.x + t) / 16] = fence, clocks[(b * blockDim.x + t) / 16 + 1] = rest;
}

// Rounds of stores of 4 or 16 bytes and a fence.
extern "C" __global__ void fenced_stores(u32 *clocks, uint4 *data, int rounds, int stores, int wide) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    __syncthreads();
    u32 begin = clock();
    for (int r = 0; r < rounds; r++) {
        if (wide) for (int k = 0; k < stores; k++) data[k * n + i] = make_uint4(i, r, k, 0);
        else for (int k = 0; k < stores; k++) ((volatile u32 *)data)[k * n + i] = r;
        __threadfence();
    }
    u32 end = clock();
    if (threadIdx.x % 32 == 0) clocks[i / 32] = end - begin;
}

// Atomics of all kinds. PATTERN of a lane's address: 0 one word for all; 1 words side by side, the same for all warps; 2 a word of
// its own for each thread; 3 words at random among 1,024; 4 a line per lane. Waits: each needs the result of the one before.
#define AT(pattern, size, i)                                                                                            \
    ((pattern) == 0   ? 0                                                                                               \
     : (pattern) == 1 ? threadIdx.x % 32 * (size)                                                                       \
     : (pattern) == 2 ? (blockIdx.x * blockDim.x + threadIdx.x) * (size)                                                \
     : (pattern) == 3 ? (((blockIdx.x * blockDim.x + threadIdx.x) * 64 + i) * 2654435761u >> 22) * (size)               \
                      : threadIdx.x % 32 * 128)
#define KINDS(name, size, type, constraint, statement)                                                                  \
    extern "C" __global__ void name(u64 *clocks, char *base, int pattern, int rounds) {                                 \
        type value = (type)threadIdx.x, got = 0;                                                                        \
        __syncthreads();                                                                                                \
        u64 begin = clock64();                                                                                          \
        _Pragma("unroll 1") for (int i = 0; i < rounds; i++) {                                                          \
            char *at = base + AT(pattern, size, i);                                                                     \
            asm volatile(statement : "+" constraint(got) : "l"(at), constraint(value) : "memory");                      \
        }                                                                                                               \
        if (got == (type)12345) clocks[1000] = 1;                                                                       \
        __threadfence();                                                                                                \
        __syncthreads();                                                                                                \
        if (threadIdx.x == 0) clocks[blockIdx.x] = clock64() - begin;                                                   \
    }
#define BOTH(kind, size, type, constraint, op)                                                                          \
    KINDS(red_##kind, size, type, constraint, "red.relaxed.gpu.global." op " [%1], %2;")                                \
    KINDS(atom_##kind, size, type, constraint, "atom.relaxed.gpu.global." op " %0, [%1], %2;")
BOTH(add32, 4, u32, "r", "add.u32")
BOTH(add64, 8, u64, "l", "add.u64")
BOTH(max32, 4, u32, "r", "max.u32")
BOTH(max64, 8, u64, "l", "max.u64")
BOTH(or32, 4, u32, "r", "or.b32")
BOTH(or64, 8, u64, "l", "or.b64")
BOTH(inc32, 4, u32, "r", "inc.u32")
BOTH(f32, 4, float, "f", "add.f32")
BOTH(f64, 8, double, "d", "add.f64")
BOTH(half2, 4, u32, "r", "add.noftz.f16x2")
BOTH(bf2, 4, u32, "r", "add.noftz.bf16x2")
KINDS(atom_exch32, 4, u32, "r", "atom.relaxed.gpu.global.exch.b32 %0, [%1], %2;")
KINDS(atom_exch64, 8, u64, "l", "atom.relaxed.gpu.global.exch.b64 %0, [%1], %2;")
KINDS(atom_cas32, 4, u32, "r", "atom.relaxed.gpu.global.cas.b32 %0, [%1], %2, %2;")
KINDS(atom_cas64, 8, u64, "l", "atom.relaxed.gpu.global.cas.b64 %0, [%1], %2, %2;")
// By a generic address, as compilers add pairs of halves.
KINDS(generic_bf2, 4, u32, "r", "{ .reg .b32 unused; atom.relaxed.gpu.add.noftz.bf16x2 unused, [%1], %2; }")
KINDS(generic_add32, 4, u32, "r", "{ .reg .b32 unused; atom.relaxed.gpu.add.u32 unused, [%1], %2; }")
