// What is not simulated: textures, surfaces, bulk copies, matrix products of a warp group, clusters.
#include <cuda_runtime.h>
#include <cstdint>

extern "C" __global__ void texture_reads(cudaTextureObject_t image, float *out)
{
    out[threadIdx.x] = tex2D<float>(image, threadIdx.x + 0.5f, 0.5f);
}

extern "C" __global__ void surface_writes(cudaSurfaceObject_t image)
{
    surf2Dwrite(1.0f, image, threadIdx.x * 4, 0);
}

#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
extern "C" __global__ void bulk_copies(const float *x, float *y)
{
    __shared__ __align__(16) float stage[32];
    __shared__ uint64_t barrier;
    unsigned at = (unsigned)__cvta_generic_to_shared(&barrier), to = (unsigned)__cvta_generic_to_shared(stage);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" ::"r"(at));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];" ::"r"(to), "l"(x), "r"(at));
    }
    __syncthreads();
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }" ::"r"(at));
    y[threadIdx.x] = stage[threadIdx.x];
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) clusters(int *out)
{
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;");
    out[blockIdx.x * 32 + threadIdx.x] = 1;
}
#endif
