// Shared memory of other blocks of a cluster, and bulk copies (TMA without a tensor map) that complete on an mbarrier.
__device__ unsigned multiprocessor() {
    unsigned here;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    return here;
}

// A chain of loads from the shared memory of each other rank. out[rank][other] = clocks per load, out[256 + rank] = smid.
extern "C" __global__ void __cluster_dims__(16, 1, 1) remote(unsigned *out, int reader) {
    __shared__ unsigned memory[64];
    unsigned rank, own = (unsigned)__cvta_generic_to_shared(memory);
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    if (threadIdx.x == 0 && blockIdx.x < 16) out[256 + rank] = multiprocessor();
    for (unsigned other = 0; other < 16; other++) {
        unsigned there, at;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(other));
        if (threadIdx.x == 0) memory[0] = own; // a chain: what is loaded is masked and added to the address
        asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
        if (rank == reader && threadIdx.x == 0 && blockIdx.x < 16) {
            at = there;
            asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(at) : "r"(at) : "memory");
            at = there | (at & 0x80000000);
            long long begin = clock64();
#pragma unroll 1
            for (int i = 0; i < 64; i++) {
                asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(at) : "r"(at) : "memory");
                at = there | (at & 0x80000000);
            }
            out[16 * rank + other] = (unsigned)((clock64() - begin + (at >> 31)) / 64);
        }
        asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    }
}

// Bulk copies from global to shared memory: `count` of `bytes` each, issued by one thread, then waited for.
// out: clocks until all were issued, until the last has come.
extern "C" __global__ void bulk(const char *from, unsigned bytes, int count, int rounds, unsigned long long *out) {
    extern __shared__ __align__(128) char memory[];
    __shared__ unsigned long long barrier;
    unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier), to = (unsigned)__cvta_generic_to_shared(memory);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(bar) : "memory");
    __syncthreads();
    const char *mine = from + (unsigned long long)blockIdx.x * bytes * count;
    long long issued = 0, come = 0;
    for (int round = 0; round < rounds; round++) {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes * count) : "memory");
            long long begin = clock64();
            for (int i = 0; i < count; i++)
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to + i * bytes),
                             "l"(mine + (unsigned long long)i * bytes), "r"(bytes), "r"(bar)
                             : "memory");
            issued = clock64() - begin;
            unsigned done = 0;
            while (!done)
                asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                             : "=r"(done)
                             : "r"(bar), "r"(round & 1)
                             : "memory");
            come = clock64() - begin;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) out[2 * blockIdx.x] = issued, out[2 * blockIdx.x + 1] = come;
}

// mbarrier operations of one thread: clocks of arrive, of a successful test_wait, of arrive and wait together.
extern "C" __global__ void mbarrier(unsigned long long *out) {
    __shared__ unsigned long long barrier;
    unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x) return;
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar) : "memory");
    for (int round = 0; round < 8; round++) {
        unsigned done = 0;
        long long a = clock64();
        asm volatile("{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0];}" ::"r"(bar) : "memory");
        long long b = clock64();
        while (!done)
            asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                         : "=r"(done)
                         : "r"(bar), "r"(round & 1)
                         : "memory");
        long long c = clock64();
        out[2 * round] = b - a, out[2 * round + 1] = c - b;
    }
}
