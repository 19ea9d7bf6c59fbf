// How much shared memory a block is told that it has, and asynchronous copies to it that add zeros.
#define SPECIAL(name) ({ unsigned v; asm volatile("mov.u32 %0, %%" name ";" : "=r"(v)); v; })

__device__ void sizes(unsigned *y) {
    y[0] = SPECIAL("total_smem_size"), y[1] = SPECIAL("dynamic_smem_size");
#if __CUDA_ARCH__ >= 900
    y[2] = SPECIAL("aggr_smem_size");
#endif
}
template <int bytes> __device__ void with(unsigned *y) {
    __shared__ char own[bytes];
    own[threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[3] = own[(threadIdx.x + 1) % bytes];
    sizes(y);
}
extern "C" __global__ void sizes_0(unsigned *y) { sizes(y); }
extern "C" __global__ void sizes_100(unsigned *y) { with<100>(y); }
extern "C" __global__ void sizes_1000(unsigned *y) { with<1000>(y); }

#if __CUDA_ARCH__ >= 800
// Of so many bytes, to each of which zeros are added that make it 16.
extern "C" __global__ void copy(const unsigned char *x, unsigned char *y, int bytes, int lanes) {
    __shared__ __align__(16) unsigned char stage[32 * 16];
    unsigned to = __cvta_generic_to_shared(stage) + 16 * threadIdx.x;
    for (int i = 0; i < 16; i++) stage[16 * threadIdx.x + i] = 0xee;
    if (threadIdx.x < lanes) {
        int kept = min(max(bytes - 16 * (int)threadIdx.x, 0), 16);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :: "r"(to), "l"(kept ? x + 16 * threadIdx.x : x), "r"(kept) : "memory");
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    for (int i = 0; i < 16; i++) y[16 * threadIdx.x + i] = stage[16 * threadIdx.x + i];
}
#endif
