// Double precision with divisions, square roots and functions that are called out of line.
extern "C" __global__ void doubles(const double *x, double *y, double scale, long long count)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < count)
        y[i] = sin(x[i]) / scale + sqrt(fabs(x[i])) + exp(-x[i]) + pow(x[i], 3.5) + (double)(i % 7);
}
