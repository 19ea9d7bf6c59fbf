// Accesses to a part of each of many sectors. Element j of n is sector j % per of line j / per, of lines `pitch` bytes
// apart; thread i has element i * step % n.
typedef unsigned long long u64;
__device__ __forceinline__ char *sector(char *base, unsigned n, unsigned step, unsigned per, u64 pitch)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, j = step == 1 ? i : (unsigned)((u64)i * step % n);
    return base + j / per * pitch + j % per * 32;
}

// So many bytes from the beginning of a part of each sector on: 1, 2, 4, 8, 16, 24, 28 or 32.
extern "C" __global__ void step_store(char *base, unsigned n, unsigned step, unsigned per, u64 pitch, unsigned bytes,
                                      unsigned begin)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    char *at = sector(base, n, step, per, pitch) + begin;
    if (bytes == 1)
        *(volatile char *)at = i;
    if (bytes == 2)
        *(volatile short *)at = i;
    if (bytes & 16 || bytes == 32)
        *(uint4 *)at = make_uint4(i, i, i, i), at += 16;
    if (bytes == 32)
        *(uint4 *)at = make_uint4(i, i, i, i);
    if (bytes & 8)
        *(uint2 *)at = make_uint2(i, i), at += 8;
    if (bytes & 4)
        *(unsigned *)at = i;
}

// The first half of a sector, and the second half of that `apart` elements before, if there is one.
extern "C" __global__ void step_halves(char *base, unsigned n, unsigned step, unsigned apart)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        *(uint4 *)(base + (u64)i * step % n * 32) = make_uint4(i, i, i, i);
    if (i >= apart && i < n + apart)
        *(uint4 *)(base + (u64)(i - apart) * step % n * 32 + 16) = make_uint4(i, i, i, i);
}

// A word of each sector is loaded.
extern "C" __global__ void step_load(char *base, unsigned n, unsigned step, unsigned per, u64 pitch, unsigned begin,
                                     unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (*(volatile unsigned *)(sector(base, n, step, per, pitch) + begin) == 0x12345678)
        *out = i;
}

// A word of each sector is added to.
extern "C" __global__ void step_add(char *base, unsigned n, unsigned step, unsigned per, u64 pitch, unsigned begin)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd((unsigned *)(sector(base, n, step, per, pitch) + begin), 1u);
}

// All that the L2 may have is replaced.
extern "C" __global__ void flush(const uint4 *base, unsigned n, unsigned *out)
{
    unsigned sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum ^= __ldcg(&base[i]).x;
    if (sum == 0x12345678)
        *out = sum;
}
