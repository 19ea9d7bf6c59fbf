// What the language has: recursion, virtual calls, lambdas, structures, local arrays, variables, jumps, printf, assert.
#include <cassert>
#include <cstdint>
#include <cstdio>

__device__ __noinline__ int ackermann(int m, int n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void recursion(const int *m, int *out)
{
    int i = threadIdx.x;
    out[i] = ackermann(m[i], i % 3);
}

__device__ void quicksort(int *values, int low, int high)
{
    if (low >= high)
        return;
    int pivot = values[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (values[i] < pivot)
            i++;
        while (values[j] > pivot)
            j--;
        if (i <= j) {
            int kept = values[i];
            values[i++] = values[j], values[j--] = kept;
        }
    }
    quicksort(values, low, j);
    quicksort(values, i, high);
}

extern "C" __global__ void recursive_sort(int *values, int n) { quicksort(values + threadIdx.x * n, 0, n - 1); }

struct Matrix {
    double m[3][3];
    short tag;
    float shift[3];
    __device__ double operator()(int r, int c) const { return m[r][c]; }
};

extern "C" __global__ void structures(Matrix a, const Matrix *others, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const Matrix b = others[i];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            double sum = a.tag * b.tag + a.shift[r] - b.shift[c];
            for (int k = 0; k < 3; k++)
                sum += a(r, k) * b(k, c);
            out[9 * i + 3 * r + c] = sum;
        }
}

template <typename T> struct Base {
    T value;
    __device__ virtual T apply(T x) const = 0;
    __device__ virtual ~Base() {}
};
template <typename T> struct Plus : Base<T> {
    __device__ T apply(T x) const override { return x + this->value; }
};
template <typename T> struct Times : Base<T> {
    __device__ T apply(T x) const override { return x * this->value; }
};

extern "C" __global__ void virtual_calls(const int *kinds, const float *x, float *out)
{
    int i = threadIdx.x;
    Plus<float> plus;
    Times<float> times;
    plus.value = 2, times.value = 3;
    float value = x[i];
    for (int k = 0; k < 4; k++) {
        const Base<float> *one = kinds[4 * i + k] ? static_cast<const Base<float> *>(&plus) : &times;
        value = one->apply(value);
    }
    out[i] = value;
}

typedef int (*Operation)(int, int);
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int subtract(int a, int b) { return a - b; }
__device__ __noinline__ int multiply(int a, int b) { return a * b; }
__device__ __noinline__ int divide(int a, int b) { return b ? a / b : 0; }
__device__ Operation operations[4] = {add, subtract, multiply, divide};

extern "C" __global__ void pointers_to_functions(const int *which, const int *a, const int *b, int *out)
{
    int i = threadIdx.x;
    out[i] = operations[which[i]](a[i], b[i]);
}

template <typename F> __device__ float integrate(F f, float low, float high, int steps)
{
    float sum = 0, width = (high - low) / steps;
    for (int k = 0; k < steps; k++)
        sum += f(low + (k + 0.5f) * width);
    return sum * width;
}

extern "C" __global__ void lambdas(const float *scale, float *out)
{
    float s = scale[threadIdx.x];
    out[threadIdx.x] = integrate([=](float x) { return s * x * x; }, 0, 1, 64) + integrate([&](float x) { return x - s; }, 0, 2, 16);
}

template <int N> struct Factorial { static constexpr long long value = N * Factorial<N - 1>::value; };
template <> struct Factorial<0> { static constexpr long long value = 1; };
template <typename... T> __device__ long long total(T... values) { return (0ll + ... + values); }

extern "C" __global__ void templates(long long *out)
{
    int i = threadIdx.x;
    out[i] = total(Factorial<15>::value, i, (short)i, (char)(i * 7), 1.5f) + Factorial<5>::value * i;
}

__device__ int tickets = 100;
__device__ double table[32];
__constant__ int steps[4] = {3, 1, 4, 1};
__managed__ int unused;

extern "C" __global__ void variables(int *out)
{
    __shared__ int order;
    table[threadIdx.x] = threadIdx.x * 0.5;
    if (threadIdx.x == 0)
        order = atomicAdd(&tickets, 32);
    __syncthreads();
    out[threadIdx.x] = order + steps[threadIdx.x % 4] + (int)(2 * table[31 - threadIdx.x]);
}

extern "C" __global__ void jump_table(const int *codes, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = i;
    if (i >= n)
        return;
    switch (codes[i]) {
    case 0: v += 5; break;
    case 1: v *= 3; break;
    case 2: v -= 100; [[fallthrough]];
    case 3: v ^= 0x5a; break;
    case 4: v = v / 3; break;
    case 5: v = v % 5; break;
    case 6: v = -v; break;
    case 7: v <<= 3; break;
    case 8: v = __popc(v); break;
    case 9: v = v > 30 ? 1 : 2; break;
    default: v = -1;
    }
    out[i] = v;
}

extern "C" __global__ void divergent_loops(const int *limits, int *out)
{
    int i = threadIdx.x, count = 0;
    for (int a = 0; a < limits[i]; a++) {
        if (a % 7 == 3)
            continue;
        for (int b = 0;; b++) {
            if (b * a > limits[i])
                break;
            if ((b ^ a) % 5 == 4) {
                count += 2;
                continue;
            }
            if (count > 150)
                goto out;
            count++;
        }
        if (a > 20)
            break;
    }
out:
    do
        count--;
    while (count % 4);
    out[i] = count;
}

extern "C" __global__ void collatz(int *out)
{
    unsigned long long v = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int count = 0;
    while (v != 1)
        v = v & 1 ? 3 * v + 1 : v >> 1, count++;
    out[blockIdx.x * blockDim.x + threadIdx.x] = count;
}

extern "C" __global__ void early_exits(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (i % 3 == 0) {
        out[i] = 3;
        return;
    }
    for (int k = 0; k < i; k++)
        if (k * k == i) {
            out[i] = k;
            return;
        }
    out[i] = __popc(__activemask()) > 0 ? -1 : 0;
}

// Positions of queens that do not threaten each other: backtracking with a stack of its own.
extern "C" __global__ void queens(int *solutions, int n)
{
    int stack[10], depth = 1, found = 0;
    stack[0] = threadIdx.x, stack[1] = 0;
    while (depth) {
        int column = stack[depth];
        if (column >= n) {
            if (--depth)
                stack[depth]++;
            continue;
        }
        bool safe = true;
        for (int r = 0; r < depth; r++)
            safe &= stack[r] != column && abs(stack[r] - column) != depth - r;
        if (!safe) {
            stack[depth]++;
        } else if (depth == n - 1) {
            found++, stack[depth]++;
        } else {
            stack[++depth] = 0;
        }
    }
    atomicAdd(solutions, found);
}

extern "C" __global__ void bit_fields(const uint32_t *x, uint32_t *out)
{
    struct Fields {
        unsigned a : 3, b : 11;
        int c : 7;
        unsigned d : 11;
    };
    union {
        Fields f;
        uint32_t word;
        unsigned char bytes[4];
    } u;
    u.word = x[threadIdx.x];
    u.f.a += 5, u.f.b ^= u.f.d, u.f.c = -u.f.c;
    u.bytes[threadIdx.x & 3] ^= 0xf0;
    out[threadIdx.x] = u.word;
}

extern "C" __global__ void prints(const float *x)
{
    if (threadIdx.x % 16 == 0)
        printf("thread %d: %s %5.2f %llu %c%%\n", threadIdx.x, "value", x[threadIdx.x], 1234567890123ull * threadIdx.x, 'z');
}

extern "C" __global__ void assertion_holds(int *x)
{
    assert(x[threadIdx.x] >= 0);
    x[threadIdx.x]++;
}

extern "C" __global__ void assertion_fails(int *x)
{
    assert(x[threadIdx.x] != 7 && "no sevens");
    x[threadIdx.x]++;
}

extern "C" __global__ void trapped(const int *x)
{
    if (x[threadIdx.x] == 7)
        __trap();
}

extern "C" __global__ void heap(int *out)
{
    int *own = (int *)malloc(16 * sizeof(int));
    for (int k = 0; k < 16; k++)
        own[k] = k * threadIdx.x;
    int sum = 0;
    for (int k = 0; k < 16; k++)
        sum += own[15 - k] ^ k;
    out[threadIdx.x] = sum;
    free(own);
    int *more = new int[2];
    more[0] = sum;
    out[threadIdx.x] += more[0] - sum;
    delete[] more;
}

extern "C" __global__ void generic_pointers(int *global, int *out, int which)
{
    __shared__ int shared[64];
    int local[4] = {7, 8, 9, (int)threadIdx.x};
    shared[threadIdx.x] = 2 * threadIdx.x;
    __syncthreads();
    int *places[3] = {global + threadIdx.x, shared + (threadIdx.x ^ 1), local + which};
    int *place = places[(threadIdx.x + which) % 3];
    atomicAdd(place == local + which ? &shared[threadIdx.x] : place, 0);
    out[threadIdx.x] = *place + __isShared(place) * 1000 + __isGlobal(place) * 2000 + __isLocal(place) * 3000;
}
