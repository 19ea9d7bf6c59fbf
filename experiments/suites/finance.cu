// Prices of options, random paths.
__device__ float normal(float d)
{
    float k = 1 / (1 + 0.2316419f * fabsf(d));
    float tail = 0.39894228f * __expf(-0.5f * d * d) * k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    return d > 0 ? 1 - tail : tail;
}

extern "C" __global__ void black_scholes(int n, const float *__restrict__ spot, const float *__restrict__ strike, const float *__restrict__ years, float rate, float volatility, float *call, float *put)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float root = sqrtf(years[i]), d1 = (__logf(spot[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / (volatility * root);
    float d2 = d1 - volatility * root, discounted = strike[i] * __expf(-rate * years[i]), first = normal(d1), second = normal(d2);
    call[i] = spot[i] * first - discounted * second;
    put[i] = discounted * (1 - second) - spot[i] * (1 - first);
}

extern "C" __global__ void black_scholes_double(int n, const double *__restrict__ spot, const double *__restrict__ strike, const double *__restrict__ years, double rate, double volatility, double *call)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double root = sqrt(years[i]), d1 = (log(spot[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / (volatility * root);
    double d2 = d1 - volatility * root;
    call[i] = 0.5 * (spot[i] * erfc(-d1 * 0.7071067811865476) - strike[i] * exp(-rate * years[i]) * erfc(-d2 * 0.7071067811865476));
}

__device__ unsigned next_random(unsigned &s)
{
    s ^= s << 13, s ^= s >> 17, s ^= s << 5;
    return s;
}

extern "C" __global__ void asian_paths(int steps, const unsigned *__restrict__ seeds, float drift, float spread, float *mean)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned s = seeds[i];
    float price = 100, sum = 0;
    for (int k = 0; k < steps; k++) {
        float u = (next_random(s) >> 8) * 5.9604645e-8f, v = (next_random(s) >> 8) * 5.9604645e-8f;
        float gauss = sqrtf(-2 * __logf(u + 1e-7f)) * __cosf(6.2831853f * v);
        price *= __expf(drift + spread * gauss);
        sum += price;
    }
    mean[i] = sum / steps;
}

extern "C" __global__ void barrier_paths(int steps, const unsigned *__restrict__ seeds, int barrier, int *ended)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, place = 0, k = 0;
    unsigned s = seeds[i];
    for (; k < steps && place < barrier && place > -barrier; k++)
        place += (next_random(s) & 3) == 0 ? 2 : -1 + (int)(s >> 7 & 1);
    ended[i] = place * 1024 + k;
}

// A block prices an option on a binomial tree of 255 steps.
extern "C" __global__ void binomial(const float *__restrict__ spot, const float *__restrict__ strike, float *price, float up, float share, float discount)
{
    __shared__ float value[257];
    int t = threadIdx.x;
    value[t] = fmaxf(spot[blockIdx.x] * exp2f((2 * t - 255) * up) - strike[blockIdx.x], 0.0f);
    for (int step = 255; step > 0; step--) {
        __syncthreads();
        float next = discount * (share * value[t + 1] + (1 - share) * value[t]);
        __syncthreads();
        if (t < step)
            value[t] = next;
    }
    if (t == 0)
        price[blockIdx.x] = value[0];
}

extern "C" __global__ void dart_board(int throws, const unsigned *__restrict__ seeds, unsigned *inside)
{
    unsigned s = seeds[blockIdx.x * blockDim.x + threadIdx.x], own = 0;
    for (int k = 0; k < throws; k++) {
        unsigned x = next_random(s) >> 17, y = next_random(s) >> 17;
        own += x * x + y * y < 1u << 30;
    }
    atomicAdd(inside, own);
}
