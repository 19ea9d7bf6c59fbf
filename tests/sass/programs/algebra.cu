// Linear algebra and statistics, with phases in one block where one depends on the other.
extern "C" __global__ void gemm(const float *a, const float *b, float *c, float alpha, float beta, int m, int n, int k)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n)
        return;
    float sum = beta * c[row * n + column];
    for (int i = 0; i < k; i++)
        sum += alpha * a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

extern "C" __global__ void gemver(double *a, const double *u, const double *v, double *x, const double *y, double *w, int n)
{
    for (int at = threadIdx.x; at < n * n; at += blockDim.x)
        a[at] += u[at / n] * v[at % n];
    __syncthreads();
    int i = threadIdx.x;
    if (i < n)
        for (int j = 0; j < n; j++)
            x[i] += 2 * a[j * n + i] * y[j];
    __syncthreads();
    if (i < n)
        for (int j = 0; j < n; j++)
            w[i] += 3 * a[i * n + j] * x[j];
}

extern "C" __global__ void gesummv(const float *a, const float *b, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float first = 0, second = 0;
    for (int j = 0; j < n; j++)
        first += a[i * n + j] * x[j], second += b[i * n + j] * x[j];
    y[i] = 2 * first + 3 * second;
}

extern "C" __global__ void atax(const float *a, const float *x, float *y, float *between, int m, int n)
{
    for (int i = threadIdx.x; i < m; i += blockDim.x) {
        float sum = 0;
        for (int j = 0; j < n; j++)
            sum += a[i * n + j] * x[j];
        between[i] = sum;
    }
    __syncthreads();
    for (int j = threadIdx.x; j < n; j += blockDim.x) {
        float sum = 0;
        for (int i = 0; i < m; i++)
            sum += a[i * n + j] * between[i];
        y[j] = sum;
    }
}

extern "C" __global__ void bicg(const float *a, const float *p, const float *r, float *q, float *s, int m, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) {
        float sum = 0;
        for (int j = 0; j < n; j++)
            sum += a[i * n + j] * p[j];
        q[i] = sum;
        for (int j = 0; j < n; j++)
            atomicAdd(&s[j], a[i * n + j] * r[i]);
    }
}

extern "C" __global__ void mvt(const float *a, float *x1, float *x2, const float *y1, const float *y2, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (blockIdx.y)
        for (int j = 0; j < n; j++)
            x2[i] += a[j * n + i] * y2[j];
    else
        for (int j = 0; j < n; j++)
            x1[i] += a[i * n + j] * y1[j];
}

extern "C" __global__ void syr2k(const float *a, const float *b, float *c, int n, int m)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j > i)
        return;
    for (int k = 0; k < m; k++)
        c[i * n + j] += a[i * m + k] * b[j * m + k] + b[i * m + k] * a[j * m + k];
}

extern "C" __global__ void correlation(const double *data, double *out, int samples, int columns)
{
    __shared__ double mean[16], deviation[16];
    if (threadIdx.x < columns) {
        double sum = 0, squares = 0;
        for (int i = 0; i < samples; i++)
            sum += data[i * columns + threadIdx.x];
        sum /= samples;
        for (int i = 0; i < samples; i++) {
            double off = data[i * columns + threadIdx.x] - sum;
            squares += off * off;
        }
        mean[threadIdx.x] = sum, deviation[threadIdx.x] = sqrt(squares / samples);
    }
    __syncthreads();
    for (int at = threadIdx.x; at < columns * columns; at += blockDim.x) {
        int j = at / columns, k = at % columns;
        double sum = 0;
        for (int i = 0; i < samples; i++)
            sum += (data[i * columns + j] - mean[j]) * (data[i * columns + k] - mean[k]);
        out[at] = sum / (samples * deviation[j] * deviation[k]);
    }
}

extern "C" __global__ void doitgen(double *a, const double *c4, int np)
{
    extern __shared__ double sums[];
    double sum = 0;
    for (int s = 0; s < np; s++)
        sum += a[blockIdx.x * np + s] * c4[s * np + threadIdx.x];
    sums[threadIdx.x] = sum;
    __syncthreads();
    a[blockIdx.x * np + threadIdx.x] = sums[threadIdx.x];
}

extern "C" __global__ void gram_schmidt(double *a, double *r, int rows, int columns)
{
    __shared__ double norm;
    for (int k = 0; k < columns; k++) {
        if (!threadIdx.x) {
            double sum = 0;
            for (int i = 0; i < rows; i++)
                sum += a[i * columns + k] * a[i * columns + k];
            r[k * columns + k] = norm = sqrt(sum);
        }
        __syncthreads();
        for (int i = threadIdx.x; i < rows; i += blockDim.x)
            a[i * columns + k] /= norm;
        __syncthreads();
        for (int j = k + 1 + threadIdx.x; j < columns; j += blockDim.x) {
            double sum = 0;
            for (int i = 0; i < rows; i++)
                sum += a[i * columns + k] * a[i * columns + j];
            r[k * columns + j] = sum;
            for (int i = 0; i < rows; i++)
                a[i * columns + j] -= a[i * columns + k] * sum;
        }
        __syncthreads();
    }
}

extern "C" __global__ void lu(float *a, int n)
{
    for (int k = 0; k < n; k++) {
        for (int i = k + 1 + threadIdx.x; i < n; i += blockDim.x)
            a[i * n + k] /= a[k * n + k];
        __syncthreads();
        for (int at = threadIdx.x; at < (n - k - 1) * (n - k - 1); at += blockDim.x) {
            int i = k + 1 + at / (n - k - 1), j = k + 1 + at % (n - k - 1);
            a[i * n + j] -= a[i * n + k] * a[k * n + j];
        }
        __syncthreads();
    }
}

extern "C" __global__ void gaussian(double *a, double *b, int n)
{
    __shared__ double factors[32];
    __shared__ int pivot;
    int i = threadIdx.x;
    for (int k = 0; k < n; k++) {
        if (!i) {
            pivot = k;
            for (int r = k + 1; r < n; r++)
                if (fabs(a[r * n + k]) > fabs(a[pivot * n + k]))
                    pivot = r;
        }
        __syncthreads();
        if (pivot != k && i <= n) {
            double *here = i < n ? &a[k * n + i] : &b[k], *there = i < n ? &a[pivot * n + i] : &b[pivot], kept = *here;
            *here = *there, *there = kept;
        }
        __syncthreads();
        if (i < n && i != k)
            factors[i] = a[i * n + k] / a[k * n + k];
        __syncthreads();
        if (i < n && i != k) {
            for (int j = k; j < n; j++)
                a[i * n + j] -= factors[i] * a[k * n + j];
            b[i] -= factors[i] * b[k];
        }
        __syncthreads();
    }
    if (i < n)
        b[i] /= a[i * n + i];
}

extern "C" __global__ void jacobi(float *x, float *y, int n, int steps)
{
    for (int step = 0; step < steps; step++) {
        for (int i = 1 + threadIdx.x; i < n - 1; i += blockDim.x)
            y[i] = (x[i - 1] + x[i] + x[i + 1]) * 0.5f;
        __syncthreads();
        for (int i = 1 + threadIdx.x; i < n - 1; i += blockDim.x)
            x[i] = y[i] * 0.5f;
        __syncthreads();
    }
}

extern "C" __global__ void fdtd_2d(float *ex, float *ey, float *hz, const float *source, int nx, int ny, int steps)
{
    int j = threadIdx.x, i = threadIdx.y;
    for (int t = 0; t < steps; t++) {
        ey[i * ny + j] = i ? ey[i * ny + j] - 0.5f * (hz[i * ny + j] - hz[(i - 1) * ny + j]) : source[t];
        if (j)
            ex[i * ny + j] -= 0.5f * (hz[i * ny + j] - hz[i * ny + j - 1]);
        __syncthreads();
        if (i < nx - 1 && j < ny - 1)
            hz[i * ny + j] -= 0.75f * (ex[i * ny + j + 1] - ex[i * ny + j] + ey[(i + 1) * ny + j] - ey[i * ny + j]);
        __syncthreads();
    }
}

extern "C" __global__ void csr_scalar(const int *starts, const int *columns, const double *values, const double *x, double *y, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    double sum = 0;
    for (int i = starts[row]; i < starts[row + 1]; i++)
        sum += values[i] * __ldg(&x[columns[i]]);
    y[row] = sum;
}

extern "C" __global__ void csr_vector(const int *starts, const int *columns, const float *values, const float *x, float *y, int n)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    float sum = 0;
    if (row < n)
        for (int i = starts[row] + lane; i < starts[row + 1]; i += 8)
            sum += values[i] * x[columns[i]];
    for (int step = 4; step; step /= 2)
        sum += __shfl_down_sync(~0u, sum, step, 8);
    if (row < n && lane == 0)
        y[row] = sum;
}

extern "C" __global__ void cholesky(double *a, int n)
{
    for (int k = 0; k < n; k++) {
        if (threadIdx.x == 0)
            a[k * n + k] = sqrt(a[k * n + k]);
        __syncthreads();
        for (int i = k + 1 + threadIdx.x; i < n; i += blockDim.x)
            a[i * n + k] *= 1 / a[k * n + k];
        __syncthreads();
        for (int i = k + 1 + threadIdx.x; i < n; i += blockDim.x)
            for (int j = k + 1; j <= i; j++)
                a[i * n + j] -= a[i * n + k] * a[j * n + k];
        __syncthreads();
    }
}

extern "C" __global__ void conjugate_gradient(const double *a, const double *b, double *x, int n, int steps)
{
    __shared__ double r[32], p[32], q[32], terms[32];
    int i = threadIdx.x;
    auto dot = [&](double u, double v) {
        terms[i] = u * v;
        __syncthreads();
        for (int step = 16; step; step >>= 1) {
            if (i < step)
                terms[i] += terms[i + step];
            __syncthreads();
        }
        double sum = terms[0];
        __syncthreads();
        return sum;
    };
    r[i] = p[i] = i < n ? b[i] : 0;
    __syncthreads();
    double mine = 0, rr = dot(r[i], r[i]);
    for (int step = 0; step < steps && rr > 1e-24; step++) {
        double sum = 0;
        for (int j = 0; j < n && i < n; j++)
            sum += a[i * n + j] * p[j];
        q[i] = sum;
        double alpha = rr / dot(p[i], q[i]);
        mine += alpha * p[i], r[i] -= alpha * q[i];
        double next = dot(r[i], r[i]);
        p[i] = r[i] + next / rr * p[i];
        rr = next;
        __syncthreads();
    }
    if (i < n)
        x[i] = mine;
}
