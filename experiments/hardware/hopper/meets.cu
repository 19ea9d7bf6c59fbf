// Lanes that meet: at collectives whose masks the compiler does not know, in groups of cooperative groups, and in parts of
// a warp. Clocks of so many rounds, by warp.
#include <cooperative_groups.h>

#include "rounds.cuh"
namespace cg = cooperative_groups;

// which: of each lane, the lanes that it names, or the part that it takes.
#define KERNEL(name, first, round) ROUNDS(name, unsigned, first, round)

#define EIGHT auto tile = cg::tiled_partition<8>(cg::this_thread_block())
KERNEL(alone, , x = x * 3 + mine)
KERNEL(synced, , __syncwarp(mine); x = x * 3 + mine)
KERNEL(shuffled, , x += __shfl_sync(mine, x, threadIdx.x))
KERNEL(balloted, , x += __ballot_sync(mine, x & 1))
KERNEL(matched, , x += __match_any_sync(mine, mine))
KERNEL(active, , x += __activemask())
KERNEL(tile_shuffled, EIGHT, x += tile.shfl_down(x, 1))
KERNEL(tile_balloted, EIGHT, x += tile.ballot(x & 1))
KERNEL(parts, , if (mine) x += __shfl_sync(0xff, x, 1); else x += __shfl_sync(0xffffff00u, x, 9))
KERNEL(coalesced, , if (mine) { auto group = cg::coalesced_threads(); x += group.shfl(x, 0); })
KERNEL(labeled, , { auto group = cg::labeled_partition(cg::coalesced_threads(), mine); x += group.shfl_down(x, 1); })
