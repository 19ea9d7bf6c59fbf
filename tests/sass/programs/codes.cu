// Codes, hashes, random numbers and texts: integers all the way.
#include <cstdint>

__constant__ uint32_t sha_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ uint32_t right(uint32_t v, int n) { return v >> n | v << (32 - n); }

// Messages of 32 bytes each.
extern "C" __global__ void sha256(const uint8_t *messages, uint32_t *digests, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint32_t w[64], h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (int k = 0; k < 8; k++) {
        const uint8_t *at = messages + 32 * i + 4 * k;
        w[k] = at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
        w[k + 8] = k == 0 ? 0x80000000u : k == 7 ? 256 : 0;
    }
    for (int k = 16; k < 64; k++)
        w[k] = w[k - 16] + w[k - 7] + (right(w[k - 15], 7) ^ right(w[k - 15], 18) ^ w[k - 15] >> 3)
            + (right(w[k - 2], 17) ^ right(w[k - 2], 19) ^ w[k - 2] >> 10);
    uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], last = h[7];
    for (int k = 0; k < 64; k++) {
        uint32_t t = last + (right(e, 6) ^ right(e, 11) ^ right(e, 25)) + ((e & f) ^ (~e & g)) + sha_constants[k] + w[k];
        uint32_t u = (right(a, 2) ^ right(a, 13) ^ right(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        last = g, g = f, f = e, e = d + t, d = c, c = b, b = a, a = t + u;
    }
    uint32_t made[8] = {a, b, c, d, e, f, g, last};
    for (int k = 0; k < 8; k++)
        digests[8 * i + k] = __byte_perm(h[k] + made[k], 0, 0x0123);
}

__device__ uint8_t doubled(uint8_t v) { return v << 1 ^ (v & 0x80 ? 0x1b : 0); }

// One round: substitute, shift rows, mix columns, add the key. One lane per byte.
extern "C" __global__ void aes_round(const uint8_t *box, const uint8_t *in, const uint8_t *key, uint8_t *out)
{
    __shared__ uint8_t state[16];
    int i = threadIdx.x, row = i % 4, column = i / 4;
    state[row + 4 * ((column + 4 - row) % 4)] = box[in[blockIdx.x * 16 + i]];
    __syncthreads();
    uint8_t *own = state + 4 * column, a = own[row], b = own[(row + 1) % 4];
    out[blockIdx.x * 16 + i] = doubled(a) ^ doubled(b) ^ b ^ own[(row + 2) % 4] ^ own[(row + 3) % 4] ^ key[i];
}

extern "C" __global__ void crc32(const uint8_t *data, uint32_t *out, int length)
{
    uint32_t crc = ~0u;
    for (int i = 0; i < length; i++) {
        crc ^= data[threadIdx.x * length + i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    out[threadIdx.x] = ~crc;
}

extern "C" __global__ void md5_like(const uint32_t *in, uint32_t *out, const uint32_t *sines, const uint8_t *shifts)
{
    uint32_t a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
    const uint32_t *block = in + 16 * threadIdx.x;
    for (int i = 0; i < 64; i++) {
        uint32_t f;
        int g;
        switch (i / 16) {
        case 0: f = (b & c) | (~b & d), g = i; break;
        case 1: f = (d & b) | (~d & c), g = (5 * i + 1) % 16; break;
        case 2: f = b ^ c ^ d, g = (3 * i + 5) % 16; break;
        default: f = c ^ (b | ~d), g = 7 * i % 16;
        }
        f += a + sines[i] + block[g];
        a = d, d = c, c = b, b += __funnelshift_l(f, f, shifts[i]);
    }
    uint32_t *to = out + 4 * threadIdx.x;
    to[0] = a + 0x67452301, to[1] = b + 0xefcdab89, to[2] = c + 0x98badcfe, to[3] = d + 0x10325476;
}

__device__ void quarter(uint32_t &a, uint32_t &b, uint32_t &c, uint32_t &d)
{
    a += b, d = right(d ^ a, 16), c += d, b = right(b ^ c, 20);
    a += b, d = right(d ^ a, 24), c += d, b = right(b ^ c, 25);
}

extern "C" __global__ void chacha(const uint32_t *key, uint32_t *out)
{
    uint32_t s[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, start[16];
    for (int i = 0; i < 12; i++)
        s[4 + i] = i == 8 ? threadIdx.x : key[i];
    for (int i = 0; i < 16; i++)
        start[i] = s[i];
    for (int i = 0; i < 10; i++) {
        quarter(s[0], s[4], s[8], s[12]), quarter(s[1], s[5], s[9], s[13]);
        quarter(s[2], s[6], s[10], s[14]), quarter(s[3], s[7], s[11], s[15]);
        quarter(s[0], s[5], s[10], s[15]), quarter(s[1], s[6], s[11], s[12]);
        quarter(s[2], s[7], s[8], s[13]), quarter(s[3], s[4], s[9], s[14]);
    }
    for (int i = 0; i < 16; i++)
        out[threadIdx.x * 16 + i] = s[i] + start[i];
}

// Philox 4x32-10.
extern "C" __global__ void philox(uint4 *out, uint2 key)
{
    uint4 c = make_uint4(threadIdx.x, blockIdx.x, 7, 9);
    for (int i = 0; i < 10; i++, key.x += 0x9e3779b9, key.y += 0xbb67ae85) {
        uint64_t first = (uint64_t)0xd2511f53 * c.x, second = (uint64_t)0xcd9e8d57 * c.z;
        c = make_uint4((uint32_t)(second >> 32) ^ c.y ^ key.x, (uint32_t)second, (uint32_t)(first >> 32) ^ c.w ^ key.y, (uint32_t)first);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = c;
}

extern "C" __global__ void monte_carlo(unsigned *inside, int trials)
{
    uint64_t state = 88172645463325252ull + 1234567 * (blockIdx.x * blockDim.x + threadIdx.x);
    unsigned hits = 0;
    for (int i = 0; i < trials; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        float x = (uint32_t)state * 0x1p-32f, y = (uint32_t)(state >> 32) * 0x1p-32f;
        hits += __fadd_rn(__fmul_rn(x, x), __fmul_rn(y, y)) < 1;
    }
    atomicAdd(inside, hits);
}

__device__ const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

extern "C" __global__ void base64(const uint8_t *in, char *out, int triples)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= triples)
        return;
    unsigned bits = in[3 * i] << 16 | in[3 * i + 1] << 8 | in[3 * i + 2];
    for (int k = 0; k < 4; k++)
        out[4 * i + k] = alphabet[bits >> (18 - 6 * k) & 63];
}

extern "C" __global__ void levenshtein(const char *words, const char *target, int *out, int length, int n)
{
    int row[33];
    const char *word = words + threadIdx.x * length;
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 0; i < length && word[i]; i++) {
        int corner = row[0]++;
        for (int j = 1; j <= n; j++) {
            int kept = row[j], cost = corner + (word[i] != target[j - 1]);
            row[j] = min(cost, min(row[j], row[j - 1]) + 1);
            corner = kept;
        }
    }
    out[threadIdx.x] = row[n];
}

// A state machine that counts words, lines and digits.
extern "C" __global__ void count_words(const char *text, int *counts, int length)
{
    int words = 0, lines = 0, digits = 0;
    bool inside = false;
    for (int i = threadIdx.x * length; i < (threadIdx.x + 1) * length; i++) {
        switch (text[i]) {
        case '\n': lines++; [[fallthrough]];
        case ' ': case '\t': inside = false; continue;
        case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9': digits++; break;
        case '#': while (i + 1 < (threadIdx.x + 1) * length && text[i + 1] != '\n') i++; continue;
        case '$': goto end;
        default: break;
        }
        words += !inside, inside = true;
    }
end:
    counts[3 * threadIdx.x] = words, counts[3 * threadIdx.x + 1] = lines, counts[3 * threadIdx.x + 2] = digits;
}

// A hash table with open addresses: keys inserted once, values summed.
extern "C" __global__ void hash_table(const unsigned *keys, const unsigned *values, unsigned *slots, unsigned long long *sums, int n, int size)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    for (unsigned at = keys[i] * 2654435761u % size;; at = (at + 1) % size) {
        unsigned old = atomicCAS(&slots[at], 0u, keys[i]);
        if (old == 0 || old == keys[i]) {
            atomicAdd(&sums[at], (unsigned long long)values[i]);
            return;
        }
    }
}

extern "C" __global__ void primes(unsigned char *composite, int n)
{
    for (int p = 2 + threadIdx.x; p * p < n; p += blockDim.x)
        for (int k = p * p; k < n; k += p)
            composite[k] = 1;
}

extern "C" __global__ void modular_powers(const uint64_t *bases, uint64_t *out, uint64_t exponent, uint64_t modulus)
{
    unsigned __int128 base = bases[threadIdx.x] % modulus, result = 1;
    for (; exponent; exponent >>= 1, base = base * base % modulus)
        if (exponent & 1)
            result = result * base % modulus;
    out[threadIdx.x] = (uint64_t)result;
}

extern "C" __global__ void greatest_divisor(const long long *a, const long long *b, long long *out, int *steps)
{
    long long x = a[threadIdx.x], y = b[threadIdx.x];
    int count = 0;
    while (y) {
        long long rest = x % y;
        x = y, y = rest, count++;
    }
    out[threadIdx.x] = x, steps[threadIdx.x] = count;
}
