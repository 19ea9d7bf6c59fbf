// A kernel that does something so many rounds, and says how many clocks they took, by warp. which: what each lane is told,
// `mine` in a round; x: the lane's value, of a type.
#define ROUNDS(name, type, first, round)                                                                                \
    extern "C" __global__ void name(unsigned *clocks, type *out, const int *which, int rounds) {                        \
        int mine = which[threadIdx.x % 32];                                                                             \
        type x = threadIdx.x;                                                                                           \
        first;                                                                                                          \
        __syncthreads();                                                                                                \
        unsigned begin = clock();                                                                                       \
        _Pragma("unroll 1") for (int i = 0; i < rounds; i++) {                                                          \
            round;                                                                                                      \
        }                                                                                                               \
        unsigned end = clock();                                                                                         \
        out[threadIdx.x] = x;                                                                                           \
        if (threadIdx.x % 32 == 0) clocks[threadIdx.x / 32] = end - begin;                                              \
    }
