// Primitives of CUB for blocks and warps, and what libcu++ has for single threads.

#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cuda/atomic>
#include <cuda/std/algorithm>
#include <cuda/std/complex>
#include <cuda/std/mdspan>

namespace cs = cuda::std;

struct Record {
    unsigned char group;
    float value;
    int number;
};
struct ByGroupAndValue {
    __host__ __device__ cs::tuple<unsigned char &, float &> operator()(Record &r) const { return {r.group, r.value}; }
};

// Records by two of their fields, in a block of no whole number of warps.
extern "C" __global__ void sort_records(int *out, const unsigned char *groups, const float *values) {
    using Sort = cub::BlockRadixSort<Record, 50, 3>;
    __shared__ typename Sort::TempStorage room;
    Record r[3];
    for (int i = 0; i < 3; i++) {
        const int at = threadIdx.x * 3 + i;
        r[i] = {groups[at], values[at], at};
    }
    Sort(room).Sort(r, ByGroupAndValue{});
    for (int i = 0; i < 3; i++) out[threadIdx.x * 3 + i] = r[i].number;
}

struct Running {
    int sum;
    __device__ int operator()(int added) {
        const int before = sum;
        sum += added;
        return before;
    }
};

// Tile after tile, with what came before as a prefix.
extern "C" __global__ void running_sums(int *out, const int *x, int n) {
    using Load = cub::BlockLoad<int, 64, 5, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using Scan = cub::BlockScan<int, 64, cub::BLOCK_SCAN_WARP_SCANS>;
    using Store = cub::BlockStore<int, 64, 5, cub::BLOCK_STORE_TRANSPOSE>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Scan::TempStorage scan;
        typename Store::TempStorage store;
    } room;
    Running before{0};
    for (int begin = 0; begin < n; begin += 320) {
        int v[5];
        Load(room.load).Load(x + begin, v, n - begin, 0);
        __syncthreads();
        Scan(room.scan).InclusiveSum(v, v, before);
        __syncthreads();
        Store(room.store).Store(out + begin, v, n - begin);
        __syncthreads();
    }
}

// Sums of a block of three dimensions, and of segments of its warps.
extern "C" __global__ void sums(long long *out, const long long *x, const int *heads) {
    using Block = cub::BlockReduce<long long, 8, cub::BLOCK_REDUCE_RAKING, 4, 3>;
    using Warp = cub::WarpReduce<long long>;
    __shared__ typename Block::TempStorage room;
    __shared__ typename Warp::TempStorage rooms[3];
    const int t = threadIdx.x + 8 * (threadIdx.y + 4 * threadIdx.z);
    const long long all = Block(room).Sum(x[t]), part = Warp(rooms[t / 32]).HeadSegmentedSum(x[t], heads[t]);
    out[t] = heads[t] || t % 32 == 0 ? part : 0;
    if (t == 0) out[96] = all;
}

// Runs, from their lengths.
extern "C" __global__ void runs(int *out, const int *values, const unsigned *lengths) {
    using Decode = cub::BlockRunLengthDecode<int, 32, 2, 4>;
    __shared__ typename Decode::TempStorage room;
    int v[2];
    unsigned n[2], all;
    for (int i = 0; i < 2; i++) v[i] = values[2 * threadIdx.x + i], n[i] = lengths[2 * threadIdx.x + i];
    Decode decode(room, v, n, all);
    for (unsigned begin = 0; begin < all; begin += 128) {
        int w[4];
        decode.RunLengthDecode(w, begin);
        for (int i = 0; i < 4; i++)
            if (begin + 4 * threadIdx.x + i < all) out[begin + 4 * threadIdx.x + i] = w[i];
        __syncthreads();
    }
}

// Complex functions of a view's diagonal, and a median by heaps.
extern "C" __global__ void diagonal(cs::complex<double> *out, const cs::complex<double> *x, int n) {
    cs::mdspan<const cs::complex<double>, cs::dextents<int, 2>> view(x, n, n);
    const int i = threadIdx.x;
    double parts[9];
    for (int k = 0; k < 9; k++) parts[k] = view(i, k).real();
    cs::make_heap(parts, parts + 9);
    cs::sort_heap(parts, parts + 9);
    out[i] = cs::exp(view(i, i)) * cs::sqrt(view(i, i)) + parts[4];
}

// Numbers of 8 and 16 bits in one word, which all threads of six warps compare and swap until they succeed.
extern "C" __global__ void narrow_swaps(unsigned char *bytes, unsigned short *pair) {
    cuda::atomic_ref<unsigned char, cuda::thread_scope_device> byte(bytes[threadIdx.x % 2]);
    unsigned char old = byte.load();
    while (!byte.compare_exchange_weak(old, old + 3)) {}
    unsigned short *half = pair + threadIdx.x % 2;
    for (unsigned short seen = *(volatile unsigned short *)half, now = ~seen; now != seen;) {
        now = seen;
        seen = atomicCAS(half, now, (unsigned short)(now * 5 + 1));
    }
}
