// Accesses of a word each at a pitch, by the whole chip. What: 1 load past the L1, 2 store, 3 both.
typedef unsigned long long u64;
__device__ __forceinline__ void access_word(unsigned *at, unsigned what, unsigned value, unsigned &sum)
{
    unsigned seen = value;
    if (what & 1)
        seen += __ldcg(at);
    if (what & 2)
        *(volatile unsigned *)at = seen;
    sum ^= seen;
}

// Warps share out rows of 32 lines, which they take in turns, each so many.
__device__ void lines(char *base, unsigned n, u64 pitch, unsigned what, unsigned each, unsigned *out)
{
    unsigned warps = gridDim.x * (blockDim.x / 32), lane = threadIdx.x % 32, sum = 0;
    unsigned warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
#pragma unroll 4
    for (unsigned k = 0; k < each; k++)
        access_word((unsigned *)(base + ((k * warps + warp) * 32 + lane) % n * pitch), what, k, sum);
    if (sum == 0x12345678)
        *out = sum;
}
extern "C" __global__ void step_lines(char *base, unsigned n, u64 pitch, unsigned what, unsigned each, unsigned *out)
{
    lines(base, n, pitch, what, each, out);
}
extern "C" __global__ void warm_lines(char *base, unsigned n, u64 pitch, unsigned what, unsigned each, unsigned *out)
{
    lines(base, n, pitch, what, each, out);
}

// Each warp goes down a column of words, its lanes side by side, so many times.
__device__ void columns(char *base, unsigned rows, u64 pitch, unsigned what, unsigned times, unsigned *out)
{
    unsigned lane = threadIdx.x % 32, warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, sum = 0;
    for (unsigned t = 0; t < times; t++)
        for (unsigned r = lane; r < rows; r += 32)
            access_word((unsigned *)(base + r * pitch) + warp, what, r, sum);
    if (sum == 0x12345678)
        *out = sum;
}
extern "C" __global__ void step_columns(char *base, unsigned rows, u64 pitch, unsigned what, unsigned times, unsigned *out)
{
    columns(base, rows, pitch, what, times, out);
}
extern "C" __global__ void warm_columns(char *base, unsigned rows, u64 pitch, unsigned what, unsigned times, unsigned *out)
{
    columns(base, rows, pitch, what, times, out);
}
