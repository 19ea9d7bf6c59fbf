// Calls of functions, by name and by pointers that differ from lane to lane, jumps by a table, and lanes that take both
// sides of a branch: clocks of so many rounds, by warp.
#include "rounds.cuh"

typedef float (*Function)(float);

template <int N> __device__ __noinline__ float plain(float x) { return x * (N + 1.5f); }

// With calls of its own, over which it keeps registers, and the barrier at which its callers meet.
template <int N> __device__ __noinline__ float nested(float x) { return plain<N>(x) + plain<N + 1>(x + N); }

#define EIGHT(of, n) of<n>, of<n + 1>, of<n + 2>, of<n + 3>, of<n + 4>, of<n + 5>, of<n + 6>, of<n + 7>
__device__ Function const pointers[64] = {EIGHT(plain, 0),   EIGHT(plain, 8),   EIGHT(plain, 16),  EIGHT(plain, 24),
                                          EIGHT(nested, 32), EIGHT(nested, 40), EIGHT(nested, 48), EIGHT(nested, 56)};

// which: of each lane, in what it differs from others.
#define KERNEL(name, first, round) ROUNDS(name, float, first, round)

#define SCALED(n) asm volatile("mul.f32 %0, %0, %1;" : "+f"(x) : "f"(n + 1.25f))
#define TARGET(n) "to" #n ": mul.f32 %0, %0, 0f3F80000" #n "; bra behind;\n"
#define JUMP                                                                                                            \
    asm volatile("{ table: .branchtargets to0, to1, to2, to3, to4, to5, to6, to7;\n"                                    \
                 "brx.idx %1, table;\n" TARGET(0) TARGET(1) TARGET(2) TARGET(3) TARGET(4) TARGET(5) TARGET(6) TARGET(7) \
                 "behind: }"                                                                                            \
                 : "+f"(x)                                                                                              \
                 : "r"(mine))

KERNEL(nothing, , SCALED(0))
KERNEL(by_name, , x = plain<0>(x))
KERNEL(by_name_nested, , x = nested<40>(x))
KERNEL(by_pointer, Function function = pointers[mine], x = function(x))
KERNEL(by_table, , JUMP)
#define LONG(n) SCALED(n); SCALED(n); SCALED(n); SCALED(n); SCALED(n); SCALED(n); SCALED(n); SCALED(n)
KERNEL(sides, , if (mine) { LONG(1); LONG(2); LONG(3); } else { LONG(4); LONG(5); LONG(6); })
