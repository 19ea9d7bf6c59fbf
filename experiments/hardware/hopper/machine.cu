// A register machine. The runner overwrites BODY with chosen instructions, which load registers R8... from `data`,
// do what is measured, and store the registers back. The placeholder is a chain of FFMA, which ptxas can neither
// shorten nor reorder. The branch that is never taken makes the kernel own registers, shared memory and a barrier.
#ifndef BODY
#define BODY 1024
#endif
#define VALUES 48
#define ONE "fma.rn.f32 %0, %0, %0, %0;"
#define EIGHT(x) x x x x x x x x
template <int N> __device__ __forceinline__ void placeholder(float &value) { // a loop would not be unrolled that far
    if constexpr (N == 1)
        asm volatile(EIGHT(EIGHT(EIGHT(ONE ONE))) : "+f"(value));
    else
        placeholder<N / 2>(value), placeholder<N - N / 2>(value);
}
extern "C" __global__ void __launch_bounds__(1024) machine(float *data, int never) {
    extern __shared__ float shared[];
    unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    float *mine = data + warp * VALUES * 32 + threadIdx.x % 32;
    float value;
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(value) : "l"(mine) : "memory");
    __syncthreads();
    placeholder<BODY / 1024>(value);
    __syncthreads();
    asm volatile("st.global.f32 [%0], %1;" ::"l"(mine), "f"(value) : "memory");
    if (!never) return;
    float other[VALUES + 4];
#pragma unroll
    for (int i = 0; i < VALUES + 4; i++) asm volatile("ld.global.f32 %0, [%1];" : "=f"(other[i]) : "l"(mine + i * 32) : "memory");
    shared[threadIdx.x] = value;
    __syncthreads();
    other[0] += shared[threadIdx.x ^ 1];
#pragma unroll
    for (int i = 0; i < VALUES + 4; i++) asm volatile("st.global.f32 [%0], %1;" ::"l"(mine + i * 32), "f"(other[i]) : "memory");
}
