// A lock among the lanes of a warp, fences, named barriers, clocks, generic pointers.
extern "C" __global__ void spin_lock(int *lock, volatile int *data, long long *clocks, int *generic_out)
{
    __shared__ int own[32];
    long long start = clock64();
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *data = *data + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
    int *place = *data & 1 ? own : generic_out;
    place[threadIdx.x] = __activemask();
    asm volatile("bar.sync 3, 64;");
    __nanosleep(100);
    clocks[threadIdx.x] = clock64() - start + own[threadIdx.x];
}
