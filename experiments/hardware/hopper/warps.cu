// Which place of its multiprocessor a warp gets, and whether warps of the same place work for each other's time.
// Each warp notes multiprocessor, %warpid, and when it began and ended. Of each block one warp works, `who`, or where
// that is negative all do; `stay` keeps the others until it has. Blocks whose index is a multiple of `step` work longer.
extern "C" __global__ void warps(int work, int who, int stay, int step, unsigned *out) {
    extern __shared__ char unused[];
    unsigned begin = clock(), here, place;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(place));
    if (work < 0) unused[0] = 1;
    const int warp = threadIdx.x / 32;
    float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5, g = a + 6, h = a + 7;
    if (who < 0 || warp == who) {
        const int rounds = work << (blockIdx.x % step == 0 && step > 1);
        for (int i = 0; i < rounds; i++)
#pragma unroll
            for (int j = 0; j < 8; j++) {
                a = a * 1.5f + 1, b = b * 1.5f + 1, c = c * 1.5f + 1, d = d * 1.5f + 1;
                e = e * 1.5f + 1, f = f * 1.5f + 1, g = g * 1.5f + 1, h = h * 1.5f + 1;
            }
    }
    if (stay) __syncthreads();
    unsigned end = clock();
    if (a + b + c + d + e + f + g + h == 0.123f) unused[0] = 1;
    if (threadIdx.x % 32 == 0) {
        unsigned *mine = out + 4 * (blockIdx.x * (blockDim.x / 32) + warp);
        mine[0] = here, mine[1] = place, mine[2] = begin, mine[3] = end;
    }
}
