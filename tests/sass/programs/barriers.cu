// Asynchronous barriers in shared memory: of libcu++, of <cuda_awbarrier_primitives.h>, and as PTX.

#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_awbarrier_primitives.h>

namespace cg = cooperative_groups;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

__device__ unsigned at_shared(const void *place) { return (unsigned)__cvta_generic_to_shared(place); }

// Sums of all elements up to each one, in place: two barriers a step.
extern "C" __global__ void barrier_scan(const int *x, int *y) {
    __shared__ block_barrier barrier;
    __shared__ int sums[128];
    const int t = threadIdx.x;
    if (t == 0) init(&barrier, blockDim.x);
    __syncthreads();
    sums[t] = x[blockIdx.x * 128 + t];
    for (int far = 1; far < 128; far *= 2) {
        barrier.arrive_and_wait();
        const int more = t >= far ? sums[t - far] : 0;
        auto token = barrier.arrive();
        const int own = sums[t];
        barrier.wait(cuda::std::move(token));
        sums[t] = own + more;
    }
    y[blockIdx.x * 128 + t] = sums[t];
}

// One warp fills two buffers in turn, three empty them.
extern "C" __global__ void barrier_roles(const int *x, int *y, int rounds) {
    __shared__ block_barrier full[2], empty[2];
    __shared__ int buffer[2][96];
    const int t = threadIdx.x;
    if (t < 2) {
        init(&full[t], blockDim.x);
        init(&empty[t], blockDim.x);
    }
    __syncthreads();
    if (t < 32) {
        for (int i = 0; i < rounds; i++) {
            empty[i % 2].arrive_and_wait();
            for (int k = t; k < 96; k += 32) buffer[i % 2][k] = x[96 * i + k];
            (void)full[i % 2].arrive();
        }
    } else {
        int sum = 0;
        (void)empty[0].arrive();
        (void)empty[1].arrive();
        for (int i = 0; i < rounds; i++) {
            full[i % 2].arrive_and_wait();
            sum = 3 * sum + buffer[i % 2][95 - (t - 32)];
            if (i + 2 < rounds) (void)empty[i % 2].arrive();
        }
        y[t - 32] = sum;
    }
}

// Each round a warp leaves: who is left counts.
extern "C" __global__ void barrier_drops(int *y) {
    __shared__ block_barrier barrier;
    __shared__ int there;
    const int t = threadIdx.x, warp = t / 32;
    if (t == 0) init(&barrier, blockDim.x), there = 0;
    __syncthreads();
    for (int round = 0;; round++) {
        atomicAdd(&there, 1);
        if (warp == round) {
            barrier.arrive_and_drop();
            return;
        }
        barrier.arrive_and_wait();
        y[round * 128 + t] = there;
        barrier.arrive_and_wait();
    }
}

// A block copies with a barrier that waits for the copies.
extern "C" __global__ void barrier_copies(const int *x, int *y) {
    __shared__ block_barrier barrier;
    __shared__ int tile[256];
    auto block = cg::this_thread_block();
    const int t = threadIdx.x;
    if (t == 0) init(&barrier, blockDim.x);
    block.sync();
    for (int i = 0; i < 4; i++) {
        cuda::memcpy_async(block, tile, x + 256 * i, sizeof tile, barrier);
        barrier.arrive_and_wait();
        y[256 * i + t] = tile[255 - t];
        y[256 * i + t + 128] = tile[127 - t];
        block.sync();
    }
}

// A pipeline of two stages whose threads all copy and use.
extern "C" __global__ void pipeline_stages(const int *x, int *y, int rounds) {
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ int tile[2][128];
    auto block = cg::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    const int t = threadIdx.x;
    for (int use = 0, copy = 0; use < rounds; use++) {
        for (; copy < rounds && copy < use + 2; copy++) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, tile[copy % 2], x + 128 * copy, sizeof tile[0], pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        y[128 * use + t] = tile[use % 2][127 - t] + 1;
        pipeline.consumer_release();
    }
}

// A pipeline of which one warp copies and the others use.
extern "C" __global__ void pipeline_roles(const int *x, int *y, int rounds) {
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ int tile[2][96];
    auto block = cg::this_thread_block();
    const int t = threadIdx.x;
    auto pipeline =
        cuda::make_pipeline(block, &state, t < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    if (t < 32) {
        for (int i = 0; i < rounds; i++) {
            pipeline.producer_acquire();
            for (int k = t; k < 96; k += 32)
                cuda::memcpy_async(&tile[i % 2][k], x + 96 * i + k, sizeof(int), pipeline);
            pipeline.producer_commit();
        }
    } else {
        for (int i = 0; i < rounds; i++) {
            pipeline.consumer_wait();
            y[96 * i + t - 32] = 2 * tile[i % 2][127 - t];
            pipeline.consumer_release();
        }
    }
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
// The primitives of C, and what they say of who is awaited.
extern "C" __global__ void primitive_barriers(const int *x, int *y) {
    __shared__ __mbarrier_t barrier;
    __shared__ int values[64];
    const int t = threadIdx.x;
    if (t == 0) __mbarrier_init(&barrier, 64);
    __syncthreads();
    values[t] = x[t];
    __mbarrier_token_t token = __mbarrier_arrive(&barrier);
    while (!__mbarrier_test_wait(&barrier, token)) {}
    const int other = values[63 - t];
    token = t < 32 ? __mbarrier_arrive(&barrier) : __mbarrier_arrive_and_drop(&barrier);
    y[t] = other;
    if (t >= 32) return;
    while (!__mbarrier_test_wait(&barrier, token)) {}
    values[t] = other;
    token = __mbarrier_arrive(&barrier);
    while (!__mbarrier_test_wait(&barrier, token)) {}
    y[64 + t] = values[31 - t] + (int)__mbarrier_maximum_count();
    if (t == 0) __mbarrier_inval(&barrier);
}

// Lanes of one warp wait for each other; what a lane that arrives is told.
extern "C" __global__ void lanes_wait(int *y) {
    __shared__ unsigned long long barrier[2];
    __shared__ int said[32];
    const unsigned at = at_shared(barrier);
    const int t = threadIdx.x;
    unsigned long long state;
    unsigned pending, holds;
    if (t < 2) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at + 8 * t), "r"(t ? 60 : 16) : "memory");
    __syncwarp();
    if (t & 1) {
        do {
            asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                         : "=r"(holds) : "r"(at) : "memory");
        } while (!holds);
        y[t] = said[t - 1];
    } else {
        said[t] = 10 * t;
        asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
        y[t] = -t;
    }
    __syncwarp();
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at + 8) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
    y[32 + t] = pending;
    if (t < 9) asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 3;" : "=l"(state) : "r"(at + 8) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
    asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(holds) : "r"(at + 8), "l"(state) : "memory");
    y[64 + t] = pending + 1000 * holds;
    __syncwarp();
    if (t == 5) asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(state) : "r"(at + 8) : "memory");
    __syncwarp();
    asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(holds) : "r"(at + 8), "l"(state) : "memory");
    y[96 + t] = holds;
}
#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
// Bytes that are awaited beside threads, without copies: other threads say that they have come.
extern "C" __global__ void awaited_bytes(const int *x, int *y) {
    __shared__ unsigned long long barrier;
    __shared__ int values[64];
    const unsigned at = at_shared(&barrier);
    const int t = threadIdx.x;
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory");
    __syncthreads();
    for (int round = 0; round < 3; round++) {
        if (t == 0) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(at) : "memory");
        __syncthreads();
        values[t] = x[64 * round + t];
        __threadfence_block();
        asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 4;" ::"r"(at) : "memory");
        asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra W;}" ::"r"(at),
                     "r"(round & 1)
                     : "memory");
        y[64 * round + t] = values[63 - t];
        __syncthreads();
    }
}

// A cluster of one block.
extern "C" __global__ void __cluster_dims__(1, 1, 1) lone_cluster(int *y) {
    __shared__ int values[64];
    values[threadIdx.x] = blockIdx.x * 64 + threadIdx.x;
    cg::this_cluster().sync();
    y[blockIdx.x * 64 + threadIdx.x] = values[63 - threadIdx.x];
}

// The same where the launch decides how large clusters are.
extern "C" __global__ void cluster_barrier(int *y) {
    __shared__ int values[64];
    values[threadIdx.x] = blockIdx.x * 64 + threadIdx.x;
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    y[blockIdx.x * 64 + threadIdx.x] = values[63 - threadIdx.x];
}
#endif
