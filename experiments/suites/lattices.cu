// Stencils and lattices.
extern "C" __global__ void heat(int n, float rate, const float *__restrict__ in, float *out)
{
    int x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 8 + threadIdx.y + 1, at = y * n + x;
    if (x < n - 1 && y < n - 1)
        out[at] = in[at] + rate * (in[at - 1] + in[at + 1] + in[at - n] + in[at + n] - 4 * in[at]);
}

extern "C" __global__ void seven_points(int nx, int ny, int nz, const float *__restrict__ in, float *out)
{
    int x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 4 + threadIdx.y + 1;
    if (x >= nx - 1 || y >= ny - 1)
        return;
    int plane = nx * ny, at = y * nx + x;
    float below = in[at], here = in[at + plane];
    for (int z = 1; z < nz - 1; z++) {
        int c = at + z * plane;
        float above = in[c + plane];
        out[c] = in[c - 1] + in[c + 1] + in[c - nx] + in[c + nx] + below + above - 6 * here;
        below = here, here = above;
    }
}

// Four steps of a one-dimensional stencil in shared memory, with a halo of four.
extern "C" __global__ void steps_in_shared(int n, const float *__restrict__ in, float *out)
{
    __shared__ float two[2][264];
    int t = threadIdx.x, from = 0;
    for (int i = t; i < 264; i += 256)
        two[0][i] = in[min(max((int)blockIdx.x * 256 - 4 + i, 0), n - 1)];
    for (int step = 0; step < 4; step++, from ^= 1) {
        __syncthreads();
        for (int i = t; i < 264; i += 256)
            two[from ^ 1][i] = 0.25f * two[from][max(i - 1, 0)] + 0.5f * two[from][i] + 0.25f * two[from][min(i + 1, 263)];
    }
    __syncthreads();
    out[blockIdx.x * 256 + t] = two[0][t + 4];
}

extern "C" __global__ void wave_double(int n, const double *__restrict__ before, const double *__restrict__ now, double *after)
{
    int x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 4 + threadIdx.y + 1, at = y * n + x;
    if (x < n - 1 && y < n - 1)
        after[at] = 2 * now[at] - before[at] + 0.1 * (now[at - 1] + now[at + 1] + now[at - n] + now[at + n] - 4 * now[at]);
}

extern "C" __global__ void life(int n, const unsigned char *__restrict__ in, unsigned char *out)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, near = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            near += in[((y + dy + n) % n) * n + (x + dx + n) % n];
    near -= in[y * n + x];
    out[y * n + x] = near == 3 || (near == 2 && in[y * n + x]);
}

__constant__ float share[9] = {4 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f};
__constant__ int ex[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, ey[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};

extern "C" __global__ void boltzmann(int n, float omega, const float *__restrict__ in, float *out)
{
    int x = blockIdx.x * 64 + threadIdx.x, y = blockIdx.y, size = n * n;
    float f[9], rho = 0, ux = 0, uy = 0;
#pragma unroll
    for (int k = 0; k < 9; k++) {
        f[k] = in[k * size + ((y - ey[k] + n) % n) * n + (x - ex[k] + n) % n];
        rho += f[k], ux += ex[k] * f[k], uy += ey[k] * f[k];
    }
    ux /= rho, uy /= rho;
    float square = 1.5f * (ux * ux + uy * uy);
#pragma unroll
    for (int k = 0; k < 9; k++) {
        float along = 3 * (ex[k] * ux + ey[k] * uy);
        out[k * size + y * n + x] = f[k] + omega * (share[k] * rho * (1 + along + 0.5f * along * along - square) - f[k]);
    }
}
