// Warps and the memory system: votes, shuffles, matches, matrix units, asynchronous copies, atomics, locks, clocks.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cstdint>
#include <mma.h>

extern "C" __global__ void votes(const int *x, unsigned *out)
{
    int i = threadIdx.x;
    unsigned *to = out + 8 * i;
    to[0] = __ballot_sync(~0u, x[i] > 0), to[1] = __all_sync(~0u, x[i] > -100), to[2] = __any_sync(~0u, x[i] == 77);
    to[3] = __match_any_sync(~0u, x[i]);
    int same;
    to[4] = __match_all_sync(~0u, x[i] < 100, &same), to[5] = same;
    if (i & 1)
        to[6] = __ballot_sync(0xaaaaaaaau, x[i] & 1), to[7] = __activemask();
    else
        to[6] = __ballot_sync(0x55555555u, x[i] & 2), to[7] = 0xaaaaaaaau;
}

extern "C" __global__ void shuffles(const long long *x, long long *out)
{
    int i = threadIdx.x;
    long long v = x[i], *to = out + 8 * i;
    to[0] = __shfl_sync(~0u, v, i * 7 % 32), to[1] = __shfl_up_sync(~0u, v, 3), to[2] = __shfl_down_sync(~0u, v, 5);
    to[3] = __shfl_xor_sync(~0u, v, 9), to[4] = __shfl_sync(~0u, v, 2, 8), to[5] = __shfl_up_sync(~0u, (int)v, 1, 4);
    to[6] = __shfl_down_sync(~0u, (short)v, 2, 16), to[7] = __shfl_xor_sync(~0u, v, 1, 2);
}

#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
extern "C" __global__ void warp_reductions(const int *x, int *out)
{
    int i = threadIdx.x, v = x[i], *to = out + 8 * i;
    to[0] = __reduce_add_sync(~0u, v), to[1] = __reduce_min_sync(~0u, v), to[2] = __reduce_max_sync(~0u, (unsigned)v);
    to[3] = __reduce_and_sync(~0u, (unsigned)v), to[4] = __reduce_or_sync(~0u, (unsigned)v), to[5] = __reduce_xor_sync(~0u, (unsigned)v);
    if (i < 10)
        to[6] = __reduce_add_sync(0x3ffu, v);
    else
        to[7] = __reduce_max_sync(~0x3ffu, v);
}

extern "C" __global__ void matrix_doubles(const double *a, const double *b, double *c)
{
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> sum;
    wmma::fill_fragment(sum, 0.0);
    for (int k = 0; k < 16; k += 4) {
        wmma::load_matrix_sync(left, a + k, 16);
        wmma::load_matrix_sync(right, b + k, 16);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c, sum, 8, wmma::mem_row_major);
}

extern "C" __global__ void copies_ahead(const float *x, float *y, int n)
{
    __shared__ float stage[2][64];
    int i = threadIdx.x;
    __pipeline_memcpy_async(&stage[0][i], &x[i], 4);
    __pipeline_commit();
    for (int k = 0, at = 0; at < n; k ^= 1, at += 64) {
        if (at + 64 < n)
            __pipeline_memcpy_async(&stage[k ^ 1][i], &x[at + 64 + i], 4, at + 64 + i < n ? 0 : 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        y[at + i] = stage[k][63 - i] * 2;
        __syncthreads();
    }
}
#endif

extern "C" __global__ void matrix_halves(const half *a, const half *b, float *c, int depth)
{
    using namespace nvcuda;
    __shared__ half tile[2][256];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 1.0f);
    for (int k = 0; k < depth; k += 16) {
        for (int i = threadIdx.x; i < 256; i += 32)
            tile[0][i] = a[i / 16 * depth + k + i % 16], tile[1][i] = b[(k + i / 16) * 16 + i % 16];
        __syncwarp();
        wmma::load_matrix_sync(left, tile[0], 16);
        wmma::load_matrix_sync(right, tile[1], 16);
        wmma::mma_sync(sum, left, right, sum);
        __syncwarp();
    }
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_col_major);
}

extern "C" __global__ void matrix_bytes(const signed char *a, const signed char *b, int *c)
{
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> sum;
    wmma::fill_fragment(sum, 5);
    wmma::load_matrix_sync(left, a, 16);
    wmma::load_matrix_sync(right, b, 16);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

// ldmatrix and mma.m16n8k8 by hand: c (16 x 8) = a (16 x 8) * b (8 x 8, by columns).
extern "C" __global__ void matrix_by_hand(const half *a, const half *b, float *c)
{
    __shared__ __align__(16) half left[128], right[64];
    int i = threadIdx.x;
    for (int k = i; k < 128; k += 32)
        left[k] = a[k];
    right[i] = b[i], right[i + 32] = b[i + 32];
    __syncwarp();
    unsigned ra, rb, rc;
    unsigned at = (unsigned)__cvta_generic_to_shared(left + i % 16 * 8), bt = (unsigned)__cvta_generic_to_shared(right + i % 8 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(ra), "=r"(rb) : "r"(at));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(rc) : "r"(bt));
    float d0, d1, d2, d3;
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%7,%7,%7};"
                 : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
                 : "r"(ra), "r"(rb), "r"(rc), "f"(0.0f));
    int row = i / 4, column = i % 4 * 2;
    c[row * 8 + column] = d0, c[row * 8 + column + 1] = d1, c[(row + 8) * 8 + column] = d2, c[(row + 8) * 8 + column + 1] = d3;
}

extern "C" __global__ void ticket_lock(unsigned *ticket, volatile unsigned *serving, volatile int *counter, int *order)
{
    if (threadIdx.x % 8)
        return;
    unsigned mine = atomicAdd(ticket, 1u);
    while (*serving != mine)
        __nanosleep(20);
    __threadfence();
    int seen = *counter;
    order[seen] = mine;
    *counter = seen + 1;
    __threadfence();
    *serving = mine + 1;
}

extern "C" __global__ void lane_locks(int *lock, int *data)
{
    for (bool done = false; !done;)
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            data[0] = data[0] * 3 % 1000003 + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
}

extern "C" __global__ void named_barriers(const int *x, int *out, int rounds)
{
    __shared__ int box[32];
    bool producer = threadIdx.x < 32;
    int lane = threadIdx.x % 32;
    for (int r = 0; r < rounds; r++)
        if (producer) {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            box[lane] = x[r * 32 + lane] * 2;
            asm volatile("bar.arrive 2, 64;" ::: "memory");
        } else {
            asm volatile("bar.arrive 1, 64;" ::: "memory");
            asm volatile("bar.sync 2, 64;" ::: "memory");
            out[r * 32 + lane] = box[31 - lane];
        }
}

extern "C" __global__ void barrier_votes(const int *x, int *out)
{
    int v = x[threadIdx.x];
    out[3 * threadIdx.x] = __syncthreads_count(v > 0);
    out[3 * threadIdx.x + 1] = __syncthreads_and(v > -100);
    out[3 * threadIdx.x + 2] = __syncthreads_or(v == 3);
}

extern "C" __global__ void all_atomics(int *s, unsigned *u, unsigned long long *w, float *f, double *d, __half2 *h)
{
    __shared__ int own[10];
    int i = threadIdx.x;
    if (i < 10)
        own[i] = i == 1 ? ~0 : i == 4 ? 1000 : 0;
    __syncthreads();
    atomicAdd(&s[0], i - 3), atomicMin(&s[1], 5 - i), atomicMax(&s[2], i * i), atomicSub(&s[3], i), atomicExch(&s[4], 42);
    atomicAnd(&u[0], ~(1u << i % 32)), atomicOr(&u[1], 1u << i % 31), atomicXor(&u[2], i), atomicInc(&u[3], 9), atomicDec(&u[4], 6);
    atomicAdd(&w[0], 1ull << i % 40), atomicMax(&w[1], (unsigned long long)i << 33), atomicCAS(&w[2], 0ull, 7ull), atomicXor(&w[3], 1ull << i % 64);
    atomicAdd(f, i * 0.5f), atomicAdd(d, i * 0.25), atomicAdd(h, __floats2half2_rn(1, 0.5f));
    atomicAdd(&own[0], i), atomicAnd(&own[1], ~(1 << i % 32)), atomicOr(&own[2], 1 << i % 16), atomicMax(&own[3], i), atomicMin(&own[4], i + 2);
    atomicXor(&own[5], i * 3), atomicInc((unsigned *)&own[6], 5), atomicCAS(&own[7], 0, 11), atomicExch(&own[8], 12);
    atomicAdd((float *)&own[9], 0.5f);
    __syncthreads();
    if (i < 10)
        s[5 + i] = own[i];
}

extern "C" __global__ void clocks(long long *out, const float *x, float *y)
{
    long long start = clock64();
    float v = x[threadIdx.x];
    for (int k = 0; k < 10; k++)
        v = v * 0.5f + 1;
    y[threadIdx.x] = v;
    __threadfence_block();
    out[threadIdx.x] = clock64() - start + (clock() == 0);
}

// Caches: what is only read, streams, prefetches, volatile and scoped accesses.
extern "C" __global__ void cached_reads(const int *__restrict__ x, int *y, int n)
{
    int i = threadIdx.x;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(x + i));
    int a = __ldg(x + i), b = __ldcs(x + n - 1 - i), c = __ldcg(x + i / 2), d = *(const volatile int *)(x + i % 3);
    __stwt(y + i, a + b), __stcs(y + n + i, c + d);
    __threadfence_system();
    int e;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(e) : "l"(y + i));
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(y + 2 * n + i), "r"(e * 2));
}
