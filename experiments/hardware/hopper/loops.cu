// Progress of warps through a loop: clocks at every fifth of the rounds, by warp.
#define KERNEL(name, first, round)                                                                                      \
    extern "C" __global__ void name(unsigned *clocks, float *out, const int *which, int rounds) {                       \
        __shared__ float s[1024];                                                                                       \
        int mine = which[threadIdx.x % 32];                                                                             \
        float x = threadIdx.x, y = x + 1, z = x + 2, u = x + 3; s[threadIdx.x] = x;                                     \
        first;                                                                                                          \
        __syncthreads();                                                                                                \
        unsigned t[6]; t[0] = clock();                                                                                  \
        _Pragma("unroll") for (int part = 1; part < 6; part++) {                                                        \
            _Pragma("unroll 1") for (int i = 0; i < rounds; i++) { round; }                                             \
            t[part] = clock();                                                                                          \
        }                                                                                                               \
        out[threadIdx.x] = x + y + z + u;                                                                               \
        if (threadIdx.x % 32 == 0) for (int k = 0; k < 6; k++) clocks[threadIdx.x / 32 * 6 + k] = t[k];                 \
    }
#define A(n) asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(x) : "f"(n + 1.25f))
#define B(n) asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(y) : "f"(n + 1.25f))
#define C(n) asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(z) : "f"(n + 1.25f))
#define D(n) asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(u) : "f"(n + 1.25f))
#define A8 A(1); A(2); A(3); A(4); A(5); A(6); A(7); A(8)
#define W4(n) A(n); B(n); C(n); D(n)
KERNEL(chain8, , A8)
KERNEL(chain24, , A8; A8; A8)
KERNEL(chain96, , A8; A8; A8; A8; A8; A8; A8; A8; A8; A8; A8; A8)
KERNEL(wide8, , W4(1); W4(2))
KERNEL(wide24, , W4(1); W4(2); W4(3); W4(4); W4(5); W4(6))
KERNEL(wide96, , W4(1); W4(2); W4(3); W4(4); W4(5); W4(6); W4(1); W4(2); W4(3); W4(4); W4(5); W4(6); W4(1); W4(2); W4(3); W4(4); W4(5); W4(6); W4(1); W4(2); W4(3); W4(4); W4(5); W4(6))
KERNEL(loads, , x += s[(threadIdx.x + i) & 1023]; A8)
KERNEL(roots, , x = rsqrtf(x) ; W4(1); W4(2))
