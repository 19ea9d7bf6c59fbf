// Variables of the module: constant with values, global with and without, pointers among them.
struct Point {
    float x, y;
};
__constant__ float coefficients[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__constant__ Point points[3];
__device__ int counter = 7;
__device__ float scratch[64];
__device__ int *shortcut = &counter;

extern "C" __global__ void constants(const int *which, float *out)
{
    int i = threadIdx.x;
    out[i] = coefficients[which[i]] * points[which[i] % 3].y + coefficients[2];
    scratch[i] = out[i];
    atomicAdd(shortcut, 1);
}
