// Stores right behind each other that together write whole sectors, by warps of one block or of several.

__device__ __forceinline__ void st(float *p, float v) { asm volatile("st.global.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory"); }

// From the first warp of a multiprocessor to begin to the last one to have issued its stores.
__device__ __forceinline__ void note(unsigned long long *out, long long begin) {
    unsigned here;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    const long long end = clock64();
    if (threadIdx.x % 32) return;
    atomicMin(out + 2 * here, (unsigned long long)begin);
    atomicMax(out + 2 * here + 1, (unsigned long long)end);
}

// 32 stores of a warp without anything between them, in fours that fill sixteen sectors.
extern "C" __global__ void straight(float *base, int rounds, unsigned long long *out) {
    float *p = base + (long long)(blockIdx.x * blockDim.x + threadIdx.x) / 32 * rounds * 1024 + 4 * (threadIdx.x % 32);
    __syncthreads();
    const long long begin = clock64();
    for (int k = 0; k < rounds; k++, p += 1024)
#pragma unroll
        for (int i = 0; i < 32; i++) st(p + i / 4 * 128 + i % 4, (float)k);
    note(out, begin);
}

// A store of a warp touches N lines, each with 32 / N lanes; N stores fill them, and a loop goes round.
template <int N> __device__ void lines(float *base, int rounds, unsigned long long *out) {
    const int lane = threadIdx.x % 32, each = 32 / N;
    float *p = base + (long long)(blockIdx.x * blockDim.x + threadIdx.x) / 32 * rounds * 32 * N + lane / each * 32 + lane % each * N;
    __syncthreads();
    const long long begin = clock64();
#pragma unroll 1
    for (int k = 0; k < rounds; k++, p += 32 * N)
#pragma unroll
        for (int j = 0; j < N; j++) st(p + j, (float)k);
    note(out, begin);
}
extern "C" __global__ void lines2(float *base, int rounds, unsigned long long *out) { lines<2>(base, rounds, out); }
extern "C" __global__ void lines4(float *base, int rounds, unsigned long long *out) { lines<4>(base, rounds, out); }
extern "C" __global__ void lines8(float *base, int rounds, unsigned long long *out) { lines<8>(base, rounds, out); }
extern "C" __global__ void lines16(float *base, int rounds, unsigned long long *out) { lines<16>(base, rounds, out); }

// The card is busy for so many clocks, in which launches are queued.
extern "C" __global__ void hold(long long clocks) {
    for (const long long begin = clock64(); clock64() - begin < clocks;);
}
