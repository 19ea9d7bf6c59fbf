// The special function unit on given bit patterns, and digests over all 2^32 of them.
#define FUNCTIONS(X)                                                                                                    \
    X(0, "rcp.approx.ftz.f32")                                                                                          \
    X(1, "rsqrt.approx.ftz.f32")                                                                                        \
    X(2, "sqrt.approx.ftz.f32")                                                                                         \
    X(3, "sin.approx.ftz.f32")                                                                                          \
    X(4, "cos.approx.ftz.f32")                                                                                          \
    X(5, "lg2.approx.ftz.f32")                                                                                          \
    X(6, "ex2.approx.ftz.f32")                                                                                          \
    X(7, "tanh.approx.f32")

__device__ unsigned evaluate(int function, unsigned bits) {
    float x = __uint_as_float(bits), y = 0;
    switch (function) {
#define CASE(number, name)                                                                                              \
    case number: asm(name " %0, %1;" : "=f"(y) : "f"(x)); break;
        FUNCTIONS(CASE)
    }
    return __float_as_uint(y);
}

extern "C" __global__ void values(int function, unsigned first, unsigned step, unsigned count, unsigned *out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = evaluate(function, first + i * step);
}

// One digest per 2^20 patterns: the sum over i of (2 i + 1) * result(i), modulo 2^64.
extern "C" __global__ void digests(int function, unsigned long long *out) {
    unsigned long long sum = 0;
    for (unsigned i = threadIdx.x; i < 1u << 20; i += blockDim.x)
        sum += (2ull * i + 1) * evaluate(function, (blockIdx.x << 20) + i);
    atomicAdd(out + blockIdx.x, sum);
}
