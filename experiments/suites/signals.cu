// Signals: transforms and filters.
#define PI 3.14159265358979f

extern "C" __global__ void fft_256(const float2 *__restrict__ in, float2 *out)
{
    __shared__ float2 v[256];
    int t = threadIdx.x, base = blockIdx.x * 256;
    v[__brev(t) >> 24] = in[base + t], v[__brev(t + 128) >> 24] = in[base + t + 128];
    for (int size = 2; size <= 256; size *= 2) {
        __syncthreads();
        int half = size / 2, k = t % half, at = t / half * size + k;
        float s, c;
        __sincosf(-2 * PI * k / size, &s, &c);
        float2 a = v[at], b = v[at + half], turned = make_float2(c * b.x - s * b.y, c * b.y + s * b.x);
        v[at] = make_float2(a.x + turned.x, a.y + turned.y), v[at + half] = make_float2(a.x - turned.x, a.y - turned.y);
    }
    __syncthreads();
    out[base + t] = v[t], out[base + t + 128] = v[t + 128];
}

extern "C" __global__ void dft_direct(int n, const float *__restrict__ x, float2 *out)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    float re = 0, im = 0;
    for (int j = 0; j < n; j++) {
        float s, c, angle = -2 * PI * (k * j % n) / n;
        sincosf(angle, &s, &c);
        re += x[j] * c, im += x[j] * s;
    }
    out[k] = make_float2(re, im);
}

__constant__ float taps[32] = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16, 16, -15, 14, -13, 12, -11, 10, -9, 8, -7, 6, -5, 4, -3, 2, -1};

extern "C" __global__ void fir(int n, const float *__restrict__ x, float *y)
{
    __shared__ float own[256 + 32];
    int i = blockIdx.x * 256 + threadIdx.x;
    for (int k = threadIdx.x; k < 256 + 31; k += 256) {
        int at = blockIdx.x * 256 + k - 31;
        own[k] = at >= 0 && at < n ? x[at] : 0;
    }
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 32; k++)
        sum += taps[k] * own[threadIdx.x + 31 - k];
    if (i < n)
        y[i] = sum;
}

extern "C" __global__ void biquad(int channels, int n, const float *__restrict__ x, float *y)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= channels)
        return;
    float s1 = 0, s2 = 0;
    for (int k = 0; k < n; k++) {
        float in = x[k * channels + c], out = 0.25f * in + s1;
        s1 = 0.5f * in - 0.25f * out + s2, s2 = 0.25f * in + 0.125f * out;
        y[k * channels + c] = out;
    }
}

extern "C" __global__ void haar(const float *__restrict__ x, float *y)
{
    __shared__ float v[512];
    int t = threadIdx.x, base = blockIdx.x * 512;
    float a = x[base + 2 * t], b = x[base + 2 * t + 1];
    y[base + 256 + t] = (a - b) * 0.5f;
    v[t] = (a + b) * 0.5f;
    for (int n = 128; n; n /= 2) {
        __syncthreads();
        if (t < n)
            a = v[2 * t], b = v[2 * t + 1];
        __syncthreads();
        if (t < n) {
            v[t] = (a + b) * 0.5f;
            y[base + n + t] = (a - b) * 0.5f;
        }
    }
    if (t == 0)
        y[base] = v[0];
}

extern "C" __global__ void correlation(int n, int lags, const short *__restrict__ x, int *out)
{
    __shared__ int part[4];
    int lag = blockIdx.x, sum = 0;
    for (int i = threadIdx.x; i < n; i += 128)
        sum += x[i] * x[i + lag];
    sum = __reduce_add_sync(~0u, sum);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0 && lag < lags)
        out[lag] = part[0] + part[1] + part[2] + part[3];
}
