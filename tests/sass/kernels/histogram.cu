// Atomics in shared memory, static and dynamic, and in global memory.
extern "C" __global__ void __launch_bounds__(256) histogram(const unsigned char *data, unsigned *counts, int n)
{
    __shared__ unsigned bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(&bins[data[i]], 1u);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}

extern "C" __global__ void histogram_dynamic(const unsigned *data, unsigned long long *counts, int n, int bins)
{
    extern __shared__ unsigned own[];
    for (int i = threadIdx.x; i < bins; i += blockDim.x)
        own[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        unsigned old = atomicCAS(&own[data[i] % bins], 0u, 1u);
        if (old)
            atomicMax(&own[data[i] % bins], old + 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < bins; i += blockDim.x)
        atomicAdd(&counts[i], (unsigned long long)own[i]);
}
