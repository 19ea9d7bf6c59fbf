// Shared memory that a block holds only while it is used, for CUDA C++.
//
// A kernel's `extern __shared__` memory is what it holds from smmux::alloc() to smmux::release(); all its threads call
// both. On a card they are barriers of the block, and the memory is there from start to end. In smmux, under
// management="dynamic", they are the extended __syncthreads of "Shared Memory Multiplexing" (PACT 2012).
//
// Barriers 14 and 15 of a block are theirs.
#ifndef SMMUX_CUH
#define SMMUX_CUH

namespace smmux {

// Wait until the block has its dynamic shared memory, whose contents are undefined.
__device__ __forceinline__ void alloc() { asm volatile("bar.sync 14;" ::: "memory"); }

// Give the block's dynamic shared memory back once all its threads are here.
__device__ __forceinline__ void release() { asm volatile("bar.sync 15;" ::: "memory"); }

}  // namespace smmux

#endif
