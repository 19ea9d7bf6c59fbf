// Asynchronous copies to shared memory, sm_80 and later; plain ones before.
#include <cuda_pipeline.h>

extern "C" __global__ void async_copy(const float4 *x, float4 *y, int steps)
{
    __shared__ float4 stages[2][128];
    int i = threadIdx.x;
    __pipeline_memcpy_async(&stages[0][i], &x[i], sizeof(float4));
    __pipeline_commit();
    for (int step = 0; step < steps; step++) {
        if (step + 1 < steps)
            __pipeline_memcpy_async(&stages[(step + 1) % 2][i], &x[(step + 1) * 128 + i], sizeof(float4));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 value = stages[step % 2][127 - i];
        y[step * 128 + i] = make_float4(value.w, value.z, value.y, value.x);
        __syncthreads();
    }
}
