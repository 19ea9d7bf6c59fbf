// Integers of 8 to 64 bits: carries, divisions, shifts, permutations of bytes, dot products.
extern "C" __global__ void integers(long long *wide, unsigned *narrow, const unsigned char *bytes, short mode)
{
    int i = threadIdx.x;
    long long a = wide[i], b = wide[i + 32];
    unsigned u = narrow[i], v = bytes[i];
    wide[i] = a * b + (a >> (mode & 63)) - a / (b | 1) + (unsigned long long)a % 1000000007ull;
    narrow[i] = __byte_perm(u, v, 0x4321) + __dp4a(u, v, u) + __umulhi(u, v) + __funnelshift_l(u, v, mode)
        + min((int)u, (int)v) + u / 7 + __vadd4(u, v) + __sad((int)u, (int)v, u) + (u << 3 | v) % (v | 1);
}
