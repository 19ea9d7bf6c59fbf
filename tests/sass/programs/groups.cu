// Cooperative groups: tiles of a warp, lanes that came together, the block.
#define _CG_LIMIT_INCLUDED_DEPENDENCIES // own type traits: those of libcu++ are in another package
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

extern "C" __global__ void reduce_groups(const int *x, int *sums, int *largest, int *scans, int n)
{
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto quarter = cg::tiled_partition<8>(warp);
    int i = blockIdx.x * blockDim.x + threadIdx.x, value = i < n ? x[i] : 0;
    int sum = cg::reduce(warp, value, cg::plus<int>()), most = cg::reduce(quarter, value, cg::greater<int>());
    scans[i] = cg::exclusive_scan(warp, value, cg::plus<int>());
    if (warp.thread_rank() == 0)
        atomicAdd(sums, sum);
    largest[i] = most;
    block.sync();
    if (value > 0) {
        auto active = cg::coalesced_threads();
        if (active.thread_rank() == 0)
            atomicAdd(sums + 1, active.size());
    }
}

// All blocks wait for each other: each thread takes what its neighbours of other blocks had.
extern "C" __global__ void grid_rounds(int *x, int *valid, int rounds)
{
    auto grid = cg::this_grid();
    int i = grid.thread_rank(), n = grid.size();
    for (int r = 0; r < rounds; r++) {
        int v = x[(i + 1) % n] + x[(i + n - 1) % n];
        grid.sync();
        x[i] = v & 0xffff;
        grid.sync();
    }
    valid[i] = grid.is_valid();
}

// More blocks than have room at a time cannot wait for each other.
extern "C" __global__ void grid_is_too_large(int *x)
{
    cg::this_grid().sync();
    x[0] = 1;
}
