// FFT of Table 1: a batch of 1024-point complex transforms in place, one per block of 64 threads. Passes of radix-4
// butterflies in registers; between them an exchange through shared memory, which the block holds only for that.
#include "smmux.cuh"

constexpr float STEP = -2 * 3.14159265358979f / 1024;
extern __shared__ float planes[];

__device__ void butterflies(float *re, float *im)
{
    for (int c = 0; c < 4; c++) {
        float a_re = re[c] + re[8 + c], a_im = im[c] + im[8 + c];
        float b_re = re[c] - re[8 + c], b_im = im[c] - im[8 + c];
        float d_re = re[4 + c] + re[12 + c], d_im = im[4 + c] + im[12 + c];
        float e_re = re[4 + c] - re[12 + c], e_im = im[4 + c] - im[12 + c];
        re[c] = a_re + d_re, im[c] = a_im + d_im;
        re[4 + c] = b_re + e_im, im[4 + c] = b_im - e_re;
        re[8 + c] = a_re - d_re, im[8 + c] = a_im - d_im;
        re[12 + c] = b_re - e_im, im[12 + c] = b_im + e_re;
    }
}

__device__ void rotate(float &re, float &im, float angle)
{
    float cosine = __cosf(angle), sine = __sinf(angle), x = re, y = im;
    re = x * cosine - y * sine;
    im = x * sine + y * cosine;
}

__device__ void twiddle(float *re, float *im, int exponent, int column)
{
    for (int r = 1; r < 4; r++)
        for (int c = 0; c < 4; c++)
            rotate(re[4 * r + c], im[4 * r + c], float(r * (exponent + column * c)) * STEP);
}

// Words first + leg r + column c of each plane take the values, and other words of the planes give new ones.
__device__ void exchange(float *re, float *im, int size, int to, int to_leg, int to_column, int from, int from_leg,
                         int from_column)
{
    smmux::alloc();
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++) {
            planes[to + to_leg * r + to_column * c] = re[4 * r + c];
            planes[to + to_leg * r + to_column * c + size] = im[4 * r + c];
        }
    __syncthreads();
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++) {
            re[4 * r + c] = planes[from + from_leg * r + from_column * c];
            im[4 * r + c] = planes[from + from_leg * r + from_column * c + size];
        }
    smmux::release();
}

extern "C" __global__ void fft(float *real, float *imaginary)
{
    float re[16], im[16];
    int t = threadIdx.x;
    for (int i = 0; i < 16; i++) {
        int at = blockIdx.x * 1024 + 256 * (i / 4) + 4 * t + i % 4;
        re[i] = real[at];
        im[i] = imaginary[at];
    }
    butterflies(re, im);
    twiddle(re, im, 4 * t, 1);
    exchange(re, im, 1056, 4 * t + (t >> 3), 264, 1, t + (t >> 5), 66, 264);
    butterflies(re, im);
    twiddle(re, im, 4 * t, 0);
    exchange(re, im, 1056, 4 * t + (t >> 3), 1, 264, t + (t >> 5), 66, 264);
    butterflies(re, im);
    twiddle(re, im, 16 * (t >> 2), 0);
    exchange(re, im, 1056, t, 264, 66, (t & 3) + 264 * ((t >> 2) & 3) + 4 * (t >> 4), 16, 66);
    butterflies(re, im);
    twiddle(re, im, 64 * (t >> 4), 0);
    exchange(re, im, 1088, t, 272, 68, (t & 15) + 272 * (t >> 4), 16, 68);
    butterflies(re, im);
    for (int i = 0; i < 16; i++) {
        int at = blockIdx.x * 1024 + 256 * (i / 4) + 4 * t + i % 4;
        real[at] = re[i];
        imaginary[at] = im[i];
    }
}
