// Which lines the L1 keeps. Addresses are chosen by the host.

// A list of loads, one after the other, each timed: offsets from `base`, or an odd number, which empties the L1. With two
// added to the offset another load of the same word follows at once. The list lies in shared memory, so that nothing but
// its loads comes into the L1.
extern "C" __global__ void steps(const char *base, const unsigned *list, int count, unsigned short *out) {
    extern __shared__ unsigned step[];
    for (int i = 0; i < count; i++)
        asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(step[i]) : "l"(list + i) : "memory");
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    unsigned sum = 0;
    for (int i = 0; i < count; i++) {
        unsigned begin, end, value = 0, second = 0;
        const char *at = base + (step[i] & ~2u) + (sum & 0x80000000u);
        asm volatile("mov.u32 %0, %%clock;" : "=r"(begin)::"memory");
        if (step[i] & 1) asm volatile("fence.acq_rel.gpu;" ::: "memory");
        else asm volatile("ld.weak.global.b32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
        if (step[i] & 2) asm volatile("ld.weak.global.b32 %0, [%1];" : "=r"(second) : "l"(at) : "memory");
        sum += (value & 0x7fffff) + (second & 0x7fffff);
        // The second clock waits for the value.
        asm volatile("{.reg .pred p; setp.eq.u32 p, %1, 0x7fffffff; @p trap; mov.u32 %0, %%clock;}"
                     : "=r"(end) : "r"(sum) : "memory");
        step[i] = end - begin;
    }
    for (int i = 0; i < count; i++) out[i] = min(step[i], 65535u);
}

// Each warp asks for 32 lines of its own, waits for the others to have asked, and asks for the same sectors again.
extern "C" __global__ void asked_again(const float *in, float *out, int rounds) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    float sum = 0;
    for (int round = 0; round < rounds; round++) {
        const float *mine = in + (size_t)(round * warps + warp) * 1024;
        float first[32], second[32];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 32; i++)
            asm volatile("ld.global.f32 %0, [%1];" : "=f"(first[i]) : "l"(mine + i * 32 + lane % 8));
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 32; i++)
            asm volatile("ld.global.f32 %0, [%1];" : "=f"(second[i]) : "l"(mine + i * 32 + (lane + 1) % 8));
#pragma unroll
        for (int i = 0; i < 32; i++) sum += first[i] + second[i];
    }
    if (sum == 123) out[0] = sum;
}
