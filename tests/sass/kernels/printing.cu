// Calls of routines that the driver provides: printf, assert, malloc; a trap.
#include <cassert>
#include <cstdio>

extern "C" __global__ void printing(int *data, int n)
{
    int i = threadIdx.x;
    assert(n < 1000);
    if (data[i] < 0) {
        printf("data[%d] = %d of %f\n", i, data[i], 2.5);
        __trap();
    }
    int *own = (int *)malloc(n * sizeof(int));
    if (own) {
        own[n - 1] = i;
        data[i] = own[i % n];
        free(own);
    }
}
