// Shuffles, votes and reductions of a warp; an atomic addition of the rest.
extern "C" __global__ void warp_sum(const float *x, float *total, unsigned *votes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int offset = 16; offset; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    unsigned positive = __ballot_sync(0xffffffffu, i < n && x[i] > 0);
    unsigned same = __match_any_sync(0xffffffffu, i / 4);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(total, sum);
        votes[i / 32] = positive ^ same;
    }
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void warp_max(const unsigned *x, unsigned *out)
{
    unsigned best = __reduce_max_sync(0xffffffffu, x[threadIdx.x]);
    if (threadIdx.x == 0)
        *out = best;
}
#endif
