// Integers: hashes, ciphers, number theory.
__constant__ unsigned round_keys[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74,
    0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d,
    0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e,
    0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5,
    0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ unsigned turned(unsigned x, int by) { return x >> by | x << (32 - by); }

// SHA-256 of one block of 64 bytes a thread, words of neighbours side by side.
extern "C" __global__ void sha256(int n, const unsigned *__restrict__ blocks, unsigned *digest)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned w[16], s[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
    for (int k = 0; k < 16; k++)
        w[k] = blocks[k * n + i];
#pragma unroll
    for (int k = 0; k < 64; k++) {
        if (k >= 16) {
            unsigned p = w[(k + 1) & 15], q = w[(k + 14) & 15];
            w[k & 15] += (turned(p, 7) ^ turned(p, 18) ^ p >> 3) + w[(k + 9) & 15] + (turned(q, 17) ^ turned(q, 19) ^ q >> 10);
        }
        unsigned t = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + round_keys[k] + w[k & 15];
        unsigned u = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t, d = c, c = b, b = a, a = t + u;
    }
    unsigned r[8] = {a, b, c, d, e, f, g, h};
    for (int k = 0; k < 8; k++)
        digest[k * n + i] = s[k] + r[k];
}

extern "C" __global__ void crc_tables(int n, int words, const unsigned *__restrict__ data, const unsigned *__restrict__ table, unsigned *crc)
{
    __shared__ unsigned own[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        own[i] = table[i];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned c = ~0u;
    for (int k = 0; k < words; k++) {
        unsigned word = data[k * n + i];
        for (int b = 0; b < 4; b++, word >>= 8)
            c = own[(c ^ word) & 255] ^ c >> 8;
    }
    crc[i] = ~c;
}

extern "C" __global__ void xtea(int n, unsigned k0, unsigned k1, unsigned k2, unsigned k3, uint2 *text)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned key[4] = {k0, k1, k2, k3}, sum = 0;
    uint2 v = text[i];
#pragma unroll
    for (int r = 0; r < 32; r++) {
        v.x += ((v.y << 4 ^ v.y >> 5) + v.y) ^ (sum + key[sum & 3]);
        sum += 0x9e3779b9;
        v.y += ((v.x << 4 ^ v.x >> 5) + v.x) ^ (sum + key[sum >> 11 & 3]);
    }
    text[i] = v;
}

extern "C" __global__ void collatz(int n, int *steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned long long v = i + 1;
    int count = 0;
    for (; v != 1; count++)
        v = v & 1 ? 3 * v + 1 : v / 2;
    steps[i] = count;
}

extern "C" __global__ void mandelbrot(int width, int most, float x0, float y0, float step, int *out)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, k = 0;
    float cx = x0 + step * x, cy = y0 + step * y, zx = 0, zy = 0;
    while (k < most && zx * zx + zy * zy < 4) {
        float t = __fadd_rn(__fsub_rn(__fmul_rn(zx, zx), __fmul_rn(zy, zy)), cx);
        zy = __fadd_rn(__fmul_rn(__fmul_rn(2, zx), zy), cy);
        zx = t, k++;
    }
    out[y * width + x] = k;
}

extern "C" __global__ void powers_modulo(int n, unsigned modulus, const unsigned *__restrict__ base, const unsigned *__restrict__ exponent, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned long long b = base[i] % modulus, r = 1;
    for (unsigned e = exponent[i]; e; e >>= 1) {
        if (e & 1)
            r = r * b % modulus;
        b = b * b % modulus;
    }
    out[i] = (unsigned)r;
}

extern "C" __global__ void sieve(int per_block, int primes, const int *__restrict__ prime, int *counts)
{
    extern __shared__ unsigned char crossed[];
    __shared__ int total;
    int base = blockIdx.x * per_block;
    for (int i = threadIdx.x; i < per_block; i += blockDim.x)
        crossed[i] = base + i < 2;
    if (threadIdx.x == 0)
        total = 0;
    __syncthreads();
    for (int p = threadIdx.x / 32; p < primes; p += blockDim.x / 32) {
        int q = prime[p], first = max(q * q, (base + q - 1) / q * q) - base;
        for (int i = first + threadIdx.x % 32 * q; i < per_block; i += 32 * q)
            crossed[i] = 1;
    }
    __syncthreads();
    int own = 0;
    for (int i = threadIdx.x; i < per_block; i += blockDim.x)
        own += !crossed[i];
    atomicAdd(&total, own);
    __syncthreads();
    if (threadIdx.x == 0)
        counts[blockIdx.x] = total;
}
