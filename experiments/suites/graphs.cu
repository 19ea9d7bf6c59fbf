// Graphs in compressed rows.
extern "C" __global__ void breadth_first(int n, int depth, const int *__restrict__ starts, const int *__restrict__ edges, int *level)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || level[v] != depth)
        return;
    for (int e = starts[v]; e < starts[v + 1]; e++)
        if (level[edges[e]] == -1)
            level[edges[e]] = depth + 1;
}

extern "C" __global__ void rank_push(int n, const int *__restrict__ starts, const int *__restrict__ edges, const float *__restrict__ rank, float *next)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n)
        return;
    int degree = starts[v + 1] - starts[v];
    for (int e = starts[v]; e < starts[v + 1]; e++)
        atomicAdd(&next[edges[e]], rank[v] / degree);
}

extern "C" __global__ void rank_pull(int n, const int *__restrict__ starts, const int *__restrict__ edges, const float *__restrict__ share, float *next)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n)
        return;
    float sum = 0;
    for (int e = starts[v]; e < starts[v + 1]; e++)
        sum += share[edges[e]];
    next[v] = 0.15f + 0.85f * sum;
}

extern "C" __global__ void relax(int n, const int *__restrict__ starts, const int *__restrict__ edges, const int *__restrict__ costs, const int *__restrict__ distance, int *next)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n)
        return;
    int own = distance[v];
    for (int e = starts[v]; e < starts[v + 1]; e++)
        atomicMin(&next[edges[e]], own + costs[e]);
}

// Sorted lists of neighbours: common ones of both ends of each edge.
extern "C" __global__ void triangles(int count, const int *__restrict__ from, const int *__restrict__ starts, const int *__restrict__ edges, unsigned *total)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned found = 0;
    if (e < count) {
        int i = starts[from[e]], j = starts[edges[e]], iend = starts[from[e] + 1], jend = starts[edges[e] + 1];
        while (i < iend && j < jend) {
            int a = edges[i], b = edges[j];
            found += a == b;
            i += a <= b;
            j += b <= a;
        }
    }
    found = __reduce_add_sync(~0u, found);
    if (threadIdx.x % 32 == 0 && found)
        atomicAdd(total, found);
}

// Everyone points at a parent: halve the paths.
extern "C" __global__ void shortcuts(int n, int steps, const int *__restrict__ parent, int *root)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n)
        return;
    int at = v;
    for (int s = 0; s < steps && parent[at] != at; s++)
        at = parent[at];
    root[v] = at;
}
