// Kernels for caches, partitions and DRAM. Addresses are chosen by the host.

// A chain of pointers, followed by one thread: clocks per link. MODE 0: ld.ca (L1), 1: ld.relaxed.gpu (L2), 2: ld.nc.
template <int MODE> __device__ unsigned long long load(unsigned long long address) {
    unsigned long long value;
    if (MODE == 0) asm volatile("ld.weak.global.b64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    if (MODE == 1) asm volatile("ld.relaxed.gpu.global.b64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    if (MODE == 2) asm volatile("ld.global.nc.b64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
}

template <int MODE> __device__ void chase(unsigned long long start, int warm, int hops, unsigned long long *out) {
    unsigned long long at = start;
    for (int i = 0; i < warm; i++) at = load<MODE>(at);
    long long begin = clock64();
#pragma unroll 8
    for (int i = 0; i < hops; i++) at = load<MODE>(at);
    if (at == 1) out[2] = at;
    out[0] = clock64() - begin;
    out[1] = at;
}

extern "C" __global__ void chase_l1(unsigned long long start, int warm, int hops, unsigned long long *out) {
    extern __shared__ char unused[];
    if (start == 1) unused[0] = 1;
    chase<0>(start, warm, hops, out);
}
extern "C" __global__ void chase_l2(unsigned long long start, int warm, int hops, unsigned long long *out) {
    chase<1>(start, warm, hops, out);
}
extern "C" __global__ void chase_nc(unsigned long long start, int warm, int hops, unsigned long long *out) {
    chase<2>(start, warm, hops, out);
}

// A list of accesses, one after the other, each timed: what lies where after what. The low three bits of an address say
// how: 0 ld, 1 ld.relaxed.gpu, 2 st, 3 atom, 4 ld of 16 bytes, 5 discard of the L1, 6 st.cg, 7 prefetch to L2.
extern "C" __global__ void script(const unsigned long long *list, int count, unsigned *out) {
    extern __shared__ unsigned times[];
    unsigned long long sum = 0;
    for (int i = 0; i < count; i++) {
        unsigned long long entry = list[i], address = entry & ~7ull;
        unsigned value = 0, other;
        __threadfence_block();
        unsigned long long dependent = address + (sum & 0x8000000000000000ull);
        unsigned begin, end;
        asm volatile("mov.u32 %0, %%clock;" : "=r"(begin)::"memory");
        switch (entry & 7) {
        case 0: asm volatile("ld.weak.global.b32 %0, [%1];" : "=r"(value) : "l"(dependent) : "memory"); break;
        case 1: asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(value) : "l"(dependent) : "memory"); break;
        case 2: asm volatile("st.weak.global.b32 [%0], %1;" ::"l"(dependent), "r"(i) : "memory"); break;
        case 3: asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(value) : "l"(dependent) : "memory"); break;
        case 4:
            asm volatile("ld.weak.global.v4.b32 {%0, %1, %1, %1}, [%2];" : "=r"(value), "=r"(other) : "l"(dependent) : "memory");
            break;
        case 5: asm volatile("fence.acq_rel.gpu;" ::: "memory"); break;
        case 6: asm volatile("st.relaxed.gpu.global.b32 [%0], %1;" ::"l"(dependent), "r"(i) : "memory"); break;
        case 7: asm volatile("prefetch.global.L2 [%0];" ::"l"(dependent) : "memory"); break;
        }
        sum += value & 0x7fffffff;
        asm volatile("{.reg .u32 t; and.b32 t, %1, 0; mov.u32 %0, %%clock; add.u32 %0, %0, t;}" : "=r"(end) : "r"((unsigned)sum) : "memory");
        times[i] = end - begin;
    }
    for (int i = 0; i < count; i++) out[i] = times[i];
    if (sum == 1) out[0] = 0;
}

// The latency of each line of a region from one multiprocessor: it is loaded twice (to L2), then thrice and timed:
// the shortest counts. With an atomic instead, which goes to the half of the L2 that the line belongs to. A trap that never comes makes the second clock wait for the load.
extern "C" __global__ void lines(const char *base, int count, int step, int atomic, unsigned wanted, unsigned short *out) {
    unsigned here;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    if (here != wanted) return;
    for (int i = 0; i < count; i++) {
        unsigned long long address = (unsigned long long)(base + (long long)i * step), best = 65535;
        unsigned long long at = address;
        for (int round = 0; round < 5; round++) {
            long long begin = clock64();
            unsigned long long value;
            if (atomic)
                asm volatile("atom.relaxed.gpu.global.or.b64 %0, [%1], 0;" : "=l"(value) : "l"(at) : "memory");
            else
                value = load<1>(at);
            asm volatile("{.reg .pred p; setp.eq.u64 p, %0, 12345; @p trap;}" ::"l"(value) : "memory"); // waits for it
            long long end = clock64();
            if (round > 1 && (unsigned long long)(end - begin) < best) best = end - begin;
        }
        out[i] = best;
    }
}

// All chosen multiprocessors load two lines again and again: longer if one slice serves both.
extern "C" __global__ void hammer(const char *a, const char *b, int rounds, const unsigned char *chosen, unsigned *out) {
    unsigned here;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    if (!chosen[here]) return;
    const char *mine = (threadIdx.x / 32 % 2 ? a : b) + threadIdx.x / 64 % 4 * 32;
    unsigned value = 0, got;
    __syncthreads();
    long long begin = clock64();
    for (int i = 0; i < rounds; i++) {
        asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(got) : "l"(mine) : "memory");
        value ^= got;
    }
    __syncthreads();
    if (threadIdx.x == 0) out[here] = clock64() - begin;
    if (value == 12345) out[0] = 0;
}

// Streams round and round through a region by chosen multiprocessors; each thread moves 64 bytes a round. WHAT 0: read,
// 1: write, 2: copy from the first to the second half. Times of begin and end go out for each multiprocessor.
template <int WHAT> __device__ void stream(int4 *base, unsigned long long count, int rounds, const unsigned short *rank,
                                            unsigned parts, unsigned long long *out) {
    unsigned here;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    if (rank[here] == 65535) return;
    unsigned long long begin, end, step = (unsigned long long)parts * blockDim.x, half = count / 2;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    long long clocks = clock64();
    int4 sum = {0, 0, 0, 0};
    unsigned long long at[4], size = WHAT == 2 ? half : count, wrap = step % size;
    at[0] = (rank[here] * blockDim.x + threadIdx.x) % size;
#pragma unroll
    for (int k = 1; k < 4; k++) at[k] = (at[k - 1] + wrap) % size;
    wrap = 4 * step % size;
    for (unsigned long long done = 0; done < rounds; done++) {
        int4 value[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (WHAT != 1)
                asm volatile("ld.relaxed.gpu.global.v4.b32 {%0,%1,%2,%3}, [%4];"
                             : "=r"(value[k].x), "=r"(value[k].y), "=r"(value[k].z), "=r"(value[k].w)
                             : "l"(base + at[k]));
            else
                value[k] = make_int4(done, threadIdx.x * 77, here + k, clocks);
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (WHAT == 0) sum.x ^= value[k].x ^ value[k].y ^ value[k].z ^ value[k].w;
            if (WHAT == 1) base[at[k]] = value[k];
            if (WHAT == 2) base[half + at[k]] = value[k];
            at[k] += wrap;
            if (at[k] >= size) at[k] -= size;
        }
    }
    __syncthreads();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end));
    if (threadIdx.x == 0) {
        out[3 * here] = begin;
        out[3 * here + 1] = end;
        out[3 * here + 2] = clock64() - clocks;
    }
    if (sum.x == 12345) base[0] = sum;
}
extern "C" __global__ void stream_read(int4 *b, unsigned long long n, int r, const unsigned short *k, unsigned p, unsigned long long *o) {
    stream<0>(b, n, r, k, p, o);
}
extern "C" __global__ void stream_write(int4 *b, unsigned long long n, int r, const unsigned short *k, unsigned p, unsigned long long *o) {
    stream<1>(b, n, r, k, p, o);
}
extern "C" __global__ void stream_copy(int4 *b, unsigned long long n, int r, const unsigned short *k, unsigned p, unsigned long long *o) {
    stream<2>(b, n, r, k, p, o);
}

// Accesses of `size` bytes (16 bytes a lane) in DRAM. Access i of all goes to `i * stride` (or to a random multiple of
// size) in a region of 2^bits bytes; of each `period` accesses of a warp, a power of two, `writes` write.
extern "C" __global__ void scatter(char *base, int bits, unsigned size, unsigned long long stride, int random, int writes,
                                   int period, int each, unsigned *out) {
    unsigned lanes = size / 16, per_warp = 32 / lanes, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    unsigned warps = gridDim.x * blockDim.x / 32, sum = 0;
    unsigned long long mask = (1ull << bits) - 1, within = ~(unsigned long long)(size - 1) & mask;
    for (int i = 0; i < each; i += 4) {
        int4 value[4];
        char *at[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            unsigned long long access = (unsigned long long)((i + k) * warps + warp) * per_warp + lane / lanes, place = access * stride;
            if (random) {
                unsigned long long x = access * 0x9E3779B97F4A7C15ull;
                place = (x ^ x >> 29) * 0xBF58476D1CE4E5B9ull >> 20;
            } else
                place += (place >> bits) * size; // the next time round lies beside
            at[k] = base + (place & within) + lane % lanes * 16;
            value[k] = make_int4(i, warp, k, lane);
            if ((int)(((i + k) * warps + warp) & (period - 1)) >= writes)
                asm volatile("ld.relaxed.gpu.global.v4.b32 {%0,%1,%2,%3}, [%4];"
                             : "=r"(value[k].x), "=r"(value[k].y), "=r"(value[k].z), "=r"(value[k].w)
                             : "l"(at[k]));
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if ((int)(((i + k) * warps + warp) & (period - 1)) < writes)
                asm volatile("st.weak.global.v4.b32 [%0], {%1,%2,%3,%4};" ::"l"(at[k]), "r"(value[k].x), "r"(value[k].y),
                             "r"(value[k].z), "r"(value[k].w)
                             : "memory");
            else
                sum ^= value[k].x ^ value[k].y ^ value[k].z ^ value[k].w;
        }
    }
    if (sum == 12345) out[0] = sum;
}

// Words without a pattern: results do not hang on zeros.
extern "C" __global__ void fill(unsigned *base, unsigned long long count) {
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (unsigned long long)gridDim.x * blockDim.x) {
        unsigned x = (unsigned)i * 0x9E3779B9u;
        base[i] = (x ^ x >> 15) * 0x85EBCA6Bu;
    }
}

// Constants: a chain of byte offsets in bank 3, followed by one thread (LDC).
__constant__ unsigned table[16384];
extern "C" __global__ void chase_constant(unsigned start, int warm, int hops, unsigned long long *out) {
    unsigned at = start;
    for (int i = 0; i < warm; i++) at = *(const unsigned *)((const char *)table + at);
    long long begin = clock64();
#pragma unroll 8
    for (int i = 0; i < hops; i++) at = *(const unsigned *)((const char *)table + at);
    if (at == 1) out[1] = at;
    out[0] = clock64() - begin;
}
