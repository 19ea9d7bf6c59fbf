// Lines of the L2 that multiprocessors of both halves of the chip load and store to.
typedef unsigned long long u64;

// Warps go down columns of words. Row r of column c is in the piece of 4 kB list[half of the SM][r * span + c / 1024].
// what: 1 load past the L1, 2 store, 3 both. column: of each warp of each SM; 65535: it has none.
extern "C" __global__ void columns(char *base, const unsigned *list, unsigned rows, unsigned span, unsigned what,
                                   unsigned times, const unsigned char *half, const unsigned short *column, u64 *out)
{
    unsigned here, lane = threadIdx.x % 32, sum = 0;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    unsigned own = column[here * (blockDim.x / 32) + threadIdx.x / 32];
    if (own == 65535)
        return;
    const unsigned *piece = list + half[here] * rows * span + own / 1024;
    __syncthreads();
    long long begin = clock64();
    for (unsigned t = 0; t < times; t++)
        for (unsigned r = lane; r < rows; r += 32) {
            unsigned *at = (unsigned *)(base + (u64)piece[r * span] * 4096) + own % 1024, seen = r;
            if (what & 1)
                seen += __ldcg(at);
            if (what & 2)
                *(volatile unsigned *)at = seen;
            sum ^= seen;
        }
    if (sum == 0x12345678)
        out[1] = sum;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        out[here] = clock64() - begin;
}

// A thread of one SM loads a word, and stores to it if `also`, again and again; one of another SM stores to a word near
// it every `gap` clocks. out: the clocks of each round.
extern "C" __global__ void chain(unsigned *base, unsigned from, unsigned reader, unsigned writer, unsigned apart,
                                 unsigned gap, unsigned also, unsigned times, unsigned *out)
{
    unsigned here, *word = base + from;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
    if (here == writer && gap) {
        long long begin = clock64(), next = begin;
        for (unsigned i = 0; next < begin + 700 * times + 4000; i++, next += gap) {
            while (clock64() < next)
                ;
            *(volatile unsigned *)(word + apart) = 0;
        }
    }
    if (here == reader) {
        for (long long begin = clock64(); clock64() < begin + 3000;)
            ;
        unsigned at = 0;
        for (unsigned i = 0; i < times; i++) {
            long long begin = clock64();
            at = __ldcg(word + at);
            if (also)
                *(volatile unsigned *)(word + at) = at;
            asm volatile("" ::"r"(at) : "memory");
            if (at == 1)
                break;
            out[i] = clock64() - begin;
        }
    }
}
