// Threads that drop out of a barrier with a completion function in different rounds, and then meet at a latch.
#include <cuda/barrier>
#include <cuda/latch>

struct Fold {
    int *sum, *total;
    __device__ void operator()() noexcept { *total = *total * 3 + *sum, *sum = 0; }
};

extern "C" __global__ void completions(const int *x, int *out, int rounds) {
    using Barrier = cuda::barrier<cuda::thread_scope_block, Fold>;
    using Latch = cuda::latch<cuda::thread_scope_block>;
    __shared__ alignas(Barrier) unsigned char barrier_room[sizeof(Barrier)];
    __shared__ alignas(Latch) unsigned char latch_room[sizeof(Latch)];
    __shared__ int sum, total;
    Barrier *barrier = (Barrier *)barrier_room;
    Latch *latch = (Latch *)latch_room;
    int t = threadIdx.x, n = blockDim.x;
    if (t == 0) {
        sum = 0, total = 1;
        new (barrier) Barrier(n, Fold{&sum, &total});
        new (latch) Latch(n / 2);
    }
    __syncthreads();
    bool gone = false;
    for (int r = 0; r < rounds && !gone; r++) {
        atomicAdd(&sum, x[r * n + t]);
        if (r == t % 8 + 3) barrier->arrive_and_drop(), gone = true;
        else barrier->arrive_and_wait();
    }
    if (t % 2) latch->count_down();
    else latch->wait();
    __syncthreads();
    out[t] = gone ? total : -total;
}
