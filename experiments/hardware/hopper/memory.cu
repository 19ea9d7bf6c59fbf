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

// The latency of each line of a region from one multiprocessor: it is loaded (to L2), then loaded again and timed.
extern "C" __global__ void lines(const char *base, int count, int step, unsigned wanted, unsigned short *out) {
    unsigned here;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    if (here != wanted) return;
    for (int i = 0; i < count; i++) {
        unsigned long long address = (unsigned long long)(base + (long long)i * step), best = 65535;
        unsigned long long at = address;
        for (int round = 0; round < 4; round++) {
            long long begin = clock64();
            at = address + (load<1>(at) & 1);
            unsigned long long value = load<1>(at) & 1;
            long long end = clock64() + (long long)(value & 2);
            if (round && (unsigned long long)(end - begin) < best) best = end - begin;
        }
        out[i] = best / 2;
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

// Streams through a region by chosen multiprocessors; each thread moves 16 bytes at a time. WHAT 0: read, 1: write, 2: copy
// from the first to the second half. `first` and `last` clocks go out, so that only the kernel's own time counts.
template <int WHAT> __device__ void stream(int4 *base, unsigned long long count, int rounds, const unsigned short *rank,
                                            unsigned parts, unsigned long long *out) {
    unsigned here;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    if (rank[here] == 65535) return;
    unsigned long long begin, end, step = (unsigned long long)parts * blockDim.x, half = count / 2;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    long long clocks = clock64();
    int4 sum = {0, 0, 0, 0};
    for (int round = 0; round < rounds; round++) {
        for (unsigned long long i = rank[here] * blockDim.x + threadIdx.x; i < (WHAT == 2 ? half : count); i += 4 * step) {
            int4 value[4];
#pragma unroll
            for (int k = 0; k < 4; k++) {
                unsigned long long at = i + k * step;
                if (at >= (WHAT == 2 ? half : count)) at = i;
                if (WHAT != 1)
                    asm volatile("ld.relaxed.gpu.global.v4.b32 {%0,%1,%2,%3}, [%4];"
                                 : "=r"(value[k].x), "=r"(value[k].y), "=r"(value[k].z), "=r"(value[k].w)
                                 : "l"(base + at));
                else
                    value[k] = make_int4(round, k, 2, 3);
            }
#pragma unroll
            for (int k = 0; k < 4; k++) {
                unsigned long long at = i + k * step;
                if (at >= (WHAT == 2 ? half : count)) at = i;
                if (WHAT == 0) sum.x ^= value[k].x ^ value[k].y ^ value[k].z ^ value[k].w;
                if (WHAT == 1) base[at] = value[k];
                if (WHAT == 2) base[half + at] = value[k];
            }
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

// Accesses of `size` bytes (4 bytes a lane) in DRAM. Access i of all goes to `i * stride` (or to a random multiple of
// size), modulo the region; every `period` accesses, `writes` of them write.
extern "C" __global__ void scatter(char *base, unsigned long long region, unsigned size, unsigned long long stride, int random,
                                   int writes, int period, int each, unsigned *out) {
    unsigned lanes = size / 4, per_warp = 32 / lanes, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    unsigned long long warps = (unsigned long long)gridDim.x * blockDim.x / 32;
    unsigned sum = 0;
    for (int i = 0; i < each; i += 4) {
        unsigned value[4];
        char *at[4];
        bool write[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            unsigned long long access = ((unsigned long long)(i + k) * warps + warp) * per_warp + lane / lanes, place;
            if (random) {
                unsigned long long x = access * 0x9E3779B97F4A7C15ull;
                x ^= x >> 29;
                x *= 0xBF58476D1CE4E5B9ull;
                x ^= x >> 32;
                place = x % (region / size) * size;
            } else
                place = access * stride % region + access * stride / region * size % stride;
            at[k] = base + place + lane % lanes * 4;
            write[k] = (int)(((unsigned long long)(i + k) * warps + warp) % period) < writes;
            value[k] = 0;
            if (!write[k]) asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(value[k]) : "l"(at[k]));
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (write[k])
                asm volatile("st.relaxed.gpu.global.b32 [%0], %1;" ::"l"(at[k]), "r"(i) : "memory");
            else
                sum ^= value[k];
        }
    }
    if (sum == 12345) out[0] = sum;
}

// Touches every sector once: brings a region to L2 as far as it fits.
extern "C" __global__ void touch(const int4 *base, unsigned long long count, unsigned *out) {
    int sum = 0;
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (unsigned long long)gridDim.x * blockDim.x)
        sum ^= base[i].x;
    if (sum == 12345) out[0] = sum;
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
