#include <cstdio>
#include <cassert>

struct Pair { float scale; int shift; };

__device__ int counter;
__constant__ float weights[16];
__device__ float table[4] = {1, 2, 3, 4};
__device__ float *pointer = &table[1];

__global__ void atomics(int *g, unsigned *u, unsigned long long *l, float *f, double *d, int *out) {
    __shared__ int s[32];
    __shared__ unsigned long long wide[4];
    __shared__ float sum;
    int t = threadIdx.x;
    s[t & 31] = 0;
    if (t < 4) wide[t] = 0;
    if (t == 0) sum = 0;
    __syncthreads();
    out[t] = atomicAdd(g, t) + atomicMin(g + 1, t) + atomicMax(g + 2, -t) + atomicExch(g + 6, t) +
             atomicCAS(g + 7, t, t + 1);
    atomicAnd(g + 3, t);
    atomicOr(g + 4, t);
    atomicXor(g + 5, t);
    out[t] += atomicInc(u, 7) + atomicDec(u + 1, 9);
    atomicMin(u + 2, t);
    atomicMax(u + 3, t);
    atomicAdd(l, t);
    out[t] += atomicMax((long long *)l + 1, (long long)-t) + atomicCAS(l + 2, t, t + 2) + atomicExch(l + 3, t);
    atomicAdd(f, 1.5f);
    out[t] += atomicAdd(f + 1, 2.f);
    atomicAdd(d, 1.5);
    out[t] += atomicAdd(d + 1, 2.);
    atomicAdd(s, t);
    out[t] += atomicAdd(s + 1, t) + atomicMin(s + 3, t) + atomicCAS(s + 4, t, 2) + atomicExch(s + 5, t);
    atomicAdd(s + 2, 1);
    atomicInc((unsigned *)s + 6, 5);
    atomicXor(s + 7, t);
    atomicAdd(&sum, 1.f);
    atomicAdd(wide, t);
    out[t] += atomicCAS(wide + 1, t, 3) + atomicExch(wide + 2, t);
    atomicMax(wide + 3, (unsigned long long)t);
    __syncthreads();
    if (t < 32) out[t + 1024] = s[t];
    if (t < 4) out[1100 + t] = wide[t];
    if (t == 0) out[1023] = (int)sum;
}

__global__ void spaces(int *g, int k) {
    __shared__ int s[64];
    int l[4] = {1, 2, 3, k}, t = threadIdx.x;
    s[t] = t * 2;
    __syncthreads();
    int *p = (g[t] & 1) ? s + t : g + 64 + t;
    if ((g[t] & 6) == 4) p = &l[g[t] & 3];
    g[t] = *p;
    *p = t;
    g[128 + t] = __isShared(p) + 2 * __isGlobal(p) + 4 * __isLocal(p);
    if (!__isLocal(p)) atomicAdd(p, 3);
    else *p += 3;
    g[192 + t] = *p;
}

__global__ void locals(double *g, int k) {
    double l[16], sum = 0;
    int t = threadIdx.x;
    for (int i = 0; i < 16; i++) l[i] = g[i] * t;
    l[k] += 1;
    for (int i = 0; i < 16; i++) sum += l[(i * k + t) & 15];
    g[16 + t] = sum;
}

__global__ void widths(const char *in, char *out, int n) {
    int t = threadIdx.x;
    ((int4 *)out)[t] = ((const int4 *)in)[t];
    ((int2 *)(out + 16 * n))[t] = ((const int2 *)in)[t];
    ((short *)(out + 24 * n))[t] = ((const signed char *)in)[t] * 3;
    ((unsigned short *)(out + 26 * n))[t] = ((const unsigned short *)in)[t] / 3;
}

extern __shared__ int dynamic[];

__global__ void reversed(int *g, int n) {
    int t = threadIdx.x;
    dynamic[t] = g[t];
    __syncthreads();
    g[t] = dynamic[n - 1 - t];
}

__global__ void variables(float *out, Pair pair) {
    int t = threadIdx.x;
    atomicAdd(&counter, 1);
    out[t] = weights[t & 15] * pair.scale + table[t & 3] + pointer[t & 1] + pair.shift;
}

__global__ void __launch_bounds__(64) bounded(int *g) { g[threadIdx.x] = 1; }

__global__ void outside(int *g, int at) { g[at + threadIdx.x] = 1; }

__global__ void prints(const int *g, float x, const char *name) {
    printf("%d: %5.2f %s %lld%% %c|%-4u|%08x\n", threadIdx.x, x, name, (long long)g[0] << 33, 'q', 7u, 0xabcu);
    int *p = (int *)malloc(16);
    p[0] = threadIdx.x;
    if (p[0] == 1) printf("%p%s", (void *)0, "\n");
    free(p);
}

__global__ void prints_widths(double x, const char *name) {
    printf("%*d|%-*.*f|%.*s|%*lld|%5s|%i|%a|%.2A\n", 6, 12, 9, 2, x, 2, name, 7, -3ll, name, -1, x, x);
}

__global__ void asserts(const int *g) { assert(g[threadIdx.x] < 5); }

__global__ void traps(const int *g) {
    if (g[threadIdx.x] == 5) __trap();
}

// What a kernel says of caches without asking for a value.
__global__ void hints(const int *x, int *y) {
    int value;
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], 16;" ::"l"(x) : "memory");
#endif
    asm volatile("ld.global.L1::evict_unchanged.u32 %0, [%1];" : "=r"(value) : "l"(x + threadIdx.x) : "memory");
    y[threadIdx.x] = value;
}

__device__ __noinline__ int sum_to(int n) { return n ? n + sum_to(n - 1) : 0; }
__global__ void recursive(int *y) { y[threadIdx.x] = sum_to(threadIdx.x); }
