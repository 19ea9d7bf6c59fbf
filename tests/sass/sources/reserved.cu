// What a driver tells a kernel of shared memory and of clusters, and functions whose addresses lie in constants.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

#if __CUDA_ARCH__ >= 800
#define SPECIAL(name) ({ unsigned v; asm volatile("mov.u32 %0, %%" name ";" : "=r"(v)); v; })

__device__ int of_tile(const int *x) {
    auto tile = cg::tiled_partition<64>(cg::this_thread_block()); // has its scratch where the driver says
    return cg::reduce(tile, x[threadIdx.x], cg::plus<int>());
}

extern "C" __global__ void with_array(const int *x, int *sums, int *kept) {
    __shared__ int own[256];
    own[threadIdx.x] = 1000 + threadIdx.x;
    __syncthreads();
    sums[threadIdx.x] = of_tile(x);
    __syncthreads();
    kept[threadIdx.x] = own[threadIdx.x];
}

extern "C" __global__ void with_dynamic(const int *x, int *sums, int *kept) {
    extern __shared__ int own[];
    own[threadIdx.x] = 2000 + threadIdx.x;
    __syncthreads();
    sums[threadIdx.x] = of_tile(x);
    __syncthreads();
    kept[threadIdx.x] = own[threadIdx.x];
}

extern "C" __global__ void without(const int *x, int *sums) { sums[threadIdx.x] = of_tile(x); }

extern "C" __global__ void reserved(unsigned *y) {
    __shared__ volatile unsigned own[100];
    own[threadIdx.x] = threadIdx.x;
    y[0] = SPECIAL("reserved_smem_offset_begin");
    y[1] = SPECIAL("reserved_smem_offset_end");
    y[2] = SPECIAL("reserved_smem_offset_1");
    y[3] = (unsigned)__cvta_generic_to_shared((void *)own);
}
#endif

#if __CUDA_ARCH__ >= 900
__device__ void tell(unsigned *y) {
    auto cluster = cg::this_cluster();
    int asked;
    asm("{.reg .pred p; mov.pred p, %%is_explicit_cluster; selp.s32 %0, 1, 0, p;}" : "=r"(asked));
    y += 10 * (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
    y[0] = cluster.num_blocks(), y[1] = cluster.num_threads(), y[2] = cluster.block_rank();
    y[3] = SPECIAL("nclusterid.x"), y[4] = SPECIAL("nclusterid.y"), y[5] = SPECIAL("nclusterid.z");
    y[6] = SPECIAL("clusterid.x"), y[7] = SPECIAL("clusterid.y"), y[8] = SPECIAL("clusterid.z");
    y[9] = asked + 10 * SPECIAL("cluster_ctaid.y");
}
extern "C" __global__ void alone(unsigned *y) { tell(y); }
extern "C" __global__ void __cluster_dims__(1, 1, 1) asked(unsigned *y) { tell(y); }
#endif

struct Steps {
    int by;
    __device__ __noinline__ int up(int x) { return x + by; }
    __device__ __noinline__ int down(int x) { return x - by; }
};
typedef int (Steps::*Step)(int);
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__constant__ int (*const table[2])(int) = {twice, square};

extern "C" __global__ void functions(const int *which, int *y) {
    Steps steps = {7};
    Step step = which[0] ? &Steps::down : &Steps::up;
    y[0] = (steps.*step)(100);
    y[1] = table[which[1]](9);
}
