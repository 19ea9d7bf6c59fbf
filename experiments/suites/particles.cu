// Particles.
extern "C" __global__ void bodies(int n, const float4 *__restrict__ body, float4 *force)
{
    __shared__ float4 tile[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    float4 own = body[i];
    float fx = 0, fy = 0, fz = 0;
    for (int base = 0; base < n; base += 128) {
        tile[threadIdx.x] = body[base + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < 128; j++) {
            float x = tile[j].x - own.x, y = tile[j].y - own.y, z = tile[j].z - own.z;
            float inverse = rsqrtf(x * x + y * y + z * z + 0.01f), scale = tile[j].w * inverse * inverse * inverse;
            fx += x * scale, fy += y * scale, fz += z * scale;
        }
        __syncthreads();
    }
    force[i] = make_float4(fx, fy, fz, 0);
}

extern "C" __global__ void bodies_double(int n, const double *__restrict__ x, const double *__restrict__ y, const double *__restrict__ mass, double *fx, double *fy)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double px = x[i], py = y[i], sx = 0, sy = 0;
    for (int j = 0; j < n; j++) {
        double dx = x[j] - px, dy = y[j] - py, square = dx * dx + dy * dy + 0.01, scale = mass[j] / (square * square);
        sx += dx * scale, sy += dy * scale;
    }
    fx[i] = sx, fy[i] = sy;
}

extern "C" __global__ void lennard_jones(int n, int neighbours, const float4 *__restrict__ place, const int *__restrict__ list, float4 *force)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 own = place[i];
    float fx = 0, fy = 0, fz = 0;
    for (int k = 0; k < neighbours; k++) {
        float4 other = place[list[k * n + i]];
        float dx = own.x - other.x, dy = own.y - other.y, dz = own.z - other.z, square = dx * dx + dy * dy + dz * dz;
        if (square < 4.0f && square > 0) {
            float inverse = 1 / square, six = inverse * inverse * inverse, scale = six * (six - 0.5f) * inverse;
            fx += dx * scale, fy += dy * scale, fz += dz * scale;
        }
    }
    force[i] = make_float4(fx, fy, fz, 0);
}

extern "C" __global__ void deposit(int n, int cells, const float *__restrict__ place, const float *__restrict__ charge, float *grid)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float at = place[i] * (cells - 1);
    int cell = (int)at;
    float right = at - cell;
    atomicAdd(&grid[cell], charge[i] * (1 - right));
    atomicAdd(&grid[cell + 1], charge[i] * right);
}

extern "C" __global__ void spins(int n, int parity, const unsigned *__restrict__ random, unsigned chance4, unsigned chance8, const signed char *__restrict__ in, signed char *out)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, at = y * n + x, own = in[at];
    if ((x + y) % 2 == parity) {
        int field = in[y * n + (x + 1) % n] + in[y * n + (x + n - 1) % n] + in[(y + 1) % n * n + x] + in[(y + n - 1) % n * n + x];
        int gain = own * field;
        if (gain <= 0 || random[at] < (gain == 2 ? chance4 : chance8))
            own = -own;
    }
    out[at] = own;
}

// A tridiagonal system for each thread, elements of neighbours side by side.
extern "C" __global__ void thomas(int systems, int n, const float *__restrict__ low, const float *__restrict__ middle, float *high, float *x)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= systems)
        return;
    float c = high[s] / middle[s], d = x[s] / middle[s];
    high[s] = c, x[s] = d;
    for (int k = 1; k < n; k++) {
        int at = k * systems + s;
        float scale = 1 / (middle[at] - low[at] * c);
        c = high[at] * scale, d = (x[at] - low[at] * d) * scale;
        high[at] = c, x[at] = d;
    }
    for (int k = n - 2; k >= 0; k--) {
        int at = k * systems + s;
        d = x[at] - high[at] * d;
        x[at] = d;
    }
}
