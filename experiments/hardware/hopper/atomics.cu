// Rates and latencies of atomics. PATTERN of a lane's address: 0 one word for all, 1 a word per lane of one line, 2 a line
// per lane, 3 a word of its own for each thread (and warp), 4 one word per warp.
#define ADDRESS(pattern, base)                                                                                          \
    ((base) + ((pattern) == 0   ? 0                                                                                     \
               : (pattern) == 1 ? threadIdx.x % 32 * 8                                                                  \
               : (pattern) == 2 ? threadIdx.x % 32 * 128                                                                \
               : (pattern) == 3 ? (blockIdx.x * blockDim.x + threadIdx.x) * 8                                           \
                                : (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 128))

#define GLOBAL(name, type, constraint, returning, statement)                                                            \
    extern "C" __global__ void name(char *base, int pattern, int rounds, unsigned long long *out) {                     \
        char *at = ADDRESS(pattern, base);                                                                              \
        type value = (type)threadIdx.x, got = 0, sum = 0;                                                               \
        __syncthreads();                                                                                                \
        long long begin = clock64();                                                                                    \
        for (int i = 0; i < rounds; i++) {                                                                              \
            asm volatile(statement : "+" constraint(got) : "l"(at), constraint(value) : "memory");                      \
            if (returning) sum += got;                                                                                  \
        }                                                                                                               \
        if (sum == (type)12345) out[0] = 1;                                                                             \
        __threadfence();                                                                                                \
        __syncthreads();                                                                                                \
        if (threadIdx.x == 0) out[blockIdx.x] = clock64() - begin;                                                      \
    }
GLOBAL(red_u32, unsigned, "r", 0, "red.relaxed.gpu.global.add.u32 [%1], %2;")
GLOBAL(red_f32, float, "f", 0, "red.relaxed.gpu.global.add.f32 [%1], %2;")
GLOBAL(red_u64, unsigned long long, "l", 0, "red.relaxed.gpu.global.add.u64 [%1], %2;")
GLOBAL(red_f64, double, "d", 0, "red.relaxed.gpu.global.add.f64 [%1], %2;")
GLOBAL(red_max, int, "r", 0, "red.relaxed.gpu.global.max.s32 [%1], %2;")
GLOBAL(atom_u32, unsigned, "r", 1, "atom.relaxed.gpu.global.add.u32 %0, [%1], %2;")
GLOBAL(atom_f32, float, "f", 1, "atom.relaxed.gpu.global.add.f32 %0, [%1], %2;")
GLOBAL(atom_u64, unsigned long long, "l", 1, "atom.relaxed.gpu.global.add.u64 %0, [%1], %2;")
GLOBAL(atom_exch, unsigned, "r", 1, "atom.relaxed.gpu.global.exch.b32 %0, [%1], %2;")
GLOBAL(atom_cas, unsigned, "r", 1, "atom.relaxed.gpu.global.cas.b32 %0, [%1], %0, %2;")

#define SHARED(name, type, constraint, returning, statement)                                                            \
    extern "C" __global__ void name(char *unused, int pattern, int rounds, unsigned long long *out) {                   \
        extern __shared__ char memory[];                                                                                \
        for (int i = threadIdx.x; i < 8192; i += blockDim.x) ((unsigned *)memory)[i] = 0;                               \
        unsigned at = (unsigned)__cvta_generic_to_shared(memory);                                                       \
        at = (unsigned)ADDRESS(pattern == 3 ? 5 : pattern, (unsigned long long)at);                                     \
        if (pattern == 3) at = (unsigned)__cvta_generic_to_shared(memory) + threadIdx.x * 8;                            \
        type value = (type)threadIdx.x, got = 0, sum = 0;                                                               \
        __syncthreads();                                                                                                \
        long long begin = clock64();                                                                                    \
        for (int i = 0; i < rounds; i++) {                                                                              \
            asm volatile(statement : "+" constraint(got) : "r"(at), constraint(value) : "memory");                      \
            if (returning) sum += got;                                                                                  \
        }                                                                                                               \
        if (sum == (type)12345) out[0] = 1;                                                                             \
        __syncthreads();                                                                                                \
        if (threadIdx.x == 0) out[blockIdx.x] = clock64() - begin;                                                      \
    }
SHARED(shared_red_u32, unsigned, "r", 0, "red.shared.add.u32 [%1], %2;")
SHARED(shared_red_one, unsigned, "r", 0, "red.shared.add.u32 [%1], 1;")
SHARED(shared_red_f32, float, "f", 0, "red.shared.add.f32 [%1], %2;")
SHARED(shared_red_u64, unsigned long long, "l", 0, "red.shared.add.u64 [%1], %2;")
SHARED(shared_atom_u32, unsigned, "r", 1, "atom.shared.add.u32 %0, [%1], %2;")
SHARED(shared_atom_max, int, "r", 1, "atom.shared.max.s32 %0, [%1], %2;")
SHARED(shared_atom_exch, unsigned, "r", 1, "atom.shared.exch.b32 %0, [%1], %2;")
SHARED(shared_atom_cas, unsigned, "r", 1, "atom.shared.cas.b32 %0, [%1], %0, %2;")
