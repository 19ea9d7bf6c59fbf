// Clocks of warps that name one constant after the other as an operand: 32 bytes apart, and the first two again.

struct Words {
    float word[256];
};

#define CLOCK(i) asm volatile("mov.u32 %0, %%clock;" : "=r"(t[i])::"memory");
#define NAME(i, k)                                                                               \
    asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(x) : "f"(words.word[2 + 8 * (k)]) : "memory"); \
    CLOCK(i)

extern "C" __global__ void operands(unsigned *out, const __grid_constant__ Words words) {
    unsigned t[11];
    float x = threadIdx.x;
    CLOCK(0)
    NAME(1, 0) NAME(2, 1) NAME(3, 2) NAME(4, 3) NAME(5, 4) NAME(6, 5) NAME(7, 6) NAME(8, 7) NAME(9, 0) NAME(10, 1)
    if (threadIdx.x % 32) return;
    out += 10 * (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32);
    for (int i = 0; i < 10; i++) out[i] = t[i + 1] - t[i];
    if (x == 0.5f) out[0] = 0; // never
}

// Clocks of loads of constants whose lanes go to words at random, of `span`.
struct Words8 {
    float word[2000];
};

extern "C" __global__ void scattered(unsigned *out, const __grid_constant__ Words8 zeros, const int *start, int span, int rounds) {
    unsigned at = start[(threadIdx.x + blockIdx.x * 37) & 1023] % span;
    float sum = 0;
    __syncthreads();
    for (int k = 0; k < rounds; k++) {
        unsigned begin = clock();
        float value = zeros.word[at];
        sum += value;
        at = (at * 1664525u + 1013904223u + (unsigned)value) % span;
        unsigned end = clock() + (value == 5.5f);
        if (threadIdx.x % 32 == 0) out[(blockIdx.x * blockDim.x + threadIdx.x) / 32 * rounds + k] = end - begin;
    }
    if (sum == 77.f) out[0] = 1; // never
}

// Clocks of warps whose lanes load constants at `distinct` places, `apart` words from each other, one after the other.

struct Table {
    unsigned word[1000];
};

extern "C" __global__ void lanes(unsigned *out, const __grid_constant__ Table zeros, int distinct, int apart, int rounds) {
    unsigned i = threadIdx.x % 32 % distinct * apart;
    for (int k = 0; k < 4; k++) i += zeros.word[i];
    __syncthreads();
    unsigned begin = clock();
    for (int k = 0; k < rounds; k++) i += zeros.word[i];
    unsigned end = clock();
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = end - begin + (i == 12345);
}
