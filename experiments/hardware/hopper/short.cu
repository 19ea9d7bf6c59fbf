// Blocks that do next to nothing, or load or store a word.

extern "C" __global__ void nothing(int *data) {}

extern "C" __global__ void loads(int *data) {
    if (data[blockIdx.x * blockDim.x + threadIdx.x] == 1) data[0] = 2; // none is 1
}

extern "C" __global__ void stores(int *data) {
    if (threadIdx.x == 0) data[4 * blockIdx.x] = 0;
}

extern "C" __global__ void adds(int *data) {
    if (threadIdx.x == 0) atomicAdd(&data[4 * blockIdx.x], 0);
}

extern "C" __global__ void copies(int *data) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i + (1 << 23)] = data[i];
}
