// Arrays in local memory, a struct by value, recursion.
struct Settings {
    float weights[5];
    short mode;
    double bias;
};

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void local_arrays(Settings settings, const int *order, float *out, char small)
{
    float values[32];
    for (int i = 0; i < 32; i++)
        values[i] = settings.weights[i % 5] * i;
    for (int i = 0; i < 32; i++) {
        int other = order[i] & 31;
        float kept = values[i];
        values[i] = values[other];
        values[other] = kept;
    }
    out[threadIdx.x] = values[order[threadIdx.x] & 31] + (float)settings.bias + settings.mode + small
        + fibonacci(order[0]);
}
