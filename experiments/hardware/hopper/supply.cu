// Warps that walk through constants, or through code, each from a place of its own on, on chosen multiprocessors: what
// serves the misses of the first levels, and how many multiprocessors share it.
//
// roles: by multiprocessor, 0: none, 1: constants, 2: code; places: by multiprocessor and warp, where it begins.
// out: by multiprocessor and warp the clocks of the warm-up and of what follows it.
typedef unsigned u32;

__constant__ u32 table[16384];

__device__ __forceinline__ u32 where() {
    u32 sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

// Loads of constants, each `stride` bytes behind the one before in `span` bytes, by groups of lanes that begin `apart`
// bytes behind each other. ahead: loads that do not wait for each other.
template <int AHEAD>
__device__ __forceinline__ void constants(u32 *out, u32 at, u32 span, u32 stride, u32 warm, u32 rounds) {
    u32 begin = clock(), middle = begin;
    for (u32 i = 0; i < warm + rounds; i++) {
        if (i == warm) middle = clock();
        u32 more = 0;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            more |= table[at / 4 & 16383];
            at += stride;
            if (at >= span) at -= span;
        }
        at += more;
    }
    u32 end = clock() + (at == 1u << 31);
    if (threadIdx.x % 32 == 0) out[0] = middle - begin, out[1] = end - middle;
}

#define WALK(name, ahead)                                                                                                \
    extern "C" __global__ void name(u32 *out, const unsigned char *roles, const u32 *places, u32 span, u32 stride,       \
                                    u32 lanes, u32 apart, u32 warm, u32 rounds) {                                        \
        u32 sm = where(), own = sm * 32 + threadIdx.x / 32;                                                              \
        u32 at = places[own] + threadIdx.x % 32 % lanes * apart;                                                         \
        if (at >= span) at -= span;                                                                                      \
        if (!roles[sm]) return;                                                                                          \
        __syncthreads();                                                                                                 \
        constants<ahead>(out + 2 * own, at, span, stride, warm, rounds);                                                 \
    }
WALK(one, 1)
WALK(four, 4)

// Pieces of 256 additions, 4 kB each, of which all differ.
template <int PIECE, int N> __device__ __forceinline__ void additions(float *v) {
    if constexpr (N == 8) {
        float a = PIECE * 8 + 1, b = a + 1000;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(v[i]) : "f"(a + i));
            asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(v[i + 4]) : "f"(b + i));
        }
    } else {
        additions<PIECE, N / 2>(v);
        additions<PIECE, N / 2>(v);
    }
}
#define CASE(k)                                                                                                          \
    case (k): additions<k, 256>(v); break;
#define FOUR(k) CASE(k) CASE(k + 1) CASE(k + 2) CASE(k + 3)
#define SIXTEEN(k) FOUR(k) FOUR(k + 4) FOUR(k + 8) FOUR(k + 12)

// A warp goes through `count` pieces from its place on, `step` further each time: `warm` pieces, then `rounds`. Constants
// as above, beside it.
extern "C" __global__ void code(u32 *out, const unsigned char *roles, const u32 *places, float *sums, u32 count, u32 step,
                                u32 warm, u32 rounds) {
    u32 sm = where(), own = sm * 32 + threadIdx.x / 32, at = places[own];
    if (!roles[sm]) return;
    __syncthreads();
    if (roles[sm] == 1) {
        constants<1>(out + 2 * own, at, 65536, 64, 0, 64 * rounds);
        return;
    }
    float v[8];
    for (int i = 0; i < 8; i++) v[i] = threadIdx.x;
    u32 begin = clock(), middle = begin;
#pragma unroll 1
    for (u32 i = 0; i < warm + rounds; i++) {
        if (i == warm) middle = clock();
        switch (at) {
            SIXTEEN(0) SIXTEEN(16) SIXTEEN(32)
        }
        at += step;
        if (at >= count) at -= count;
    }
    u32 end = clock();
    float sum = 0;
    for (int i = 0; i < 8; i++) sum += v[i];
    if (threadIdx.x % 32 == 0) out[2 * own] = middle - begin, out[2 * own + 1] = end - middle, sums[own] = sum;
}
