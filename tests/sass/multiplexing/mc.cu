// MC of Table 1: marching cubes, one active cell of the grid per thread. Positions and normals on all twelve edges of a
// cell lie in shared memory, because only a table knows which of them its triangles need.
#include "smmux.cuh"

constexpr int THREADS = 32, SLOTS = 16;
__constant__ char CORNERS[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
__constant__ char EDGES[12][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {5, 6},
                                  {6, 7}, {7, 4}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};
extern __shared__ float vertices[]; // 24 rows of THREADS points: positions, then normals, of each edge

__device__ float tangle(float x, float y, float z)
{
    x *= 3, y *= 3, z *= 3;
    float sum = x * x * x * x - 5 * x * x + y * y * y * y - 5 * y * y + z * z * z * z;
    return (sum - 5 * z * z + 11.8f) * 0.2f + 0.5f;
}

extern "C" __global__ void generate_triangles(float4 *positions, float4 *normals, const unsigned *active_cells,
                                              const unsigned *first_vertex, unsigned shift, float iso, unsigned active,
                                              unsigned max_vertices, const unsigned *counts, const unsigned *edges)
{
    unsigned t = threadIdx.x, mask = (1u << shift) - 1;
    unsigned voxel = active_cells[min(blockIdx.x * blockDim.x + t, active - 1)];
    float size = 2.0f / (1u << shift), field[8], gradients[8][3];
    float start[3] = {-1 + (voxel & mask) * size, -1 + (voxel >> shift & mask) * size,
                      -1 + (voxel >> 2 * shift & mask) * size};
    unsigned which = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        float x = start[0] + CORNERS[k][0] * size, y = start[1] + CORNERS[k][1] * size,
              z = start[2] + CORNERS[k][2] * size, value = tangle(x, y, z);
        field[k] = value;
        gradients[k][0] = tangle(x + 0.001f, y, z) - value;
        gradients[k][1] = tangle(x, y + 0.001f, z) - value;
        gradients[k][2] = tangle(x, y, z + 0.001f) - value;
        which |= value < iso ? 1u << k : 0;
    }
    smmux::alloc();
    for (int edge = 0; edge < 12; edge++) {
        int a = EDGES[edge][0], b = EDGES[edge][1];
        float u = (iso - field[a]) / (field[b] - field[a]);
        for (int axis = 0; axis < 3; axis++) {
            float from = start[axis] + CORNERS[a][axis] * size, to = start[axis] + CORNERS[b][axis] * size;
            vertices[(edge * THREADS + t) * 3 + axis] = from + u * (to - from);
            from = gradients[a][axis], to = gradients[b][axis];
            vertices[((12 + edge) * THREADS + t) * 3 + axis] = from + u * (to - from);
        }
    }
    __syncthreads();
    for (unsigned i = 0; i < counts[which]; i++) {
        unsigned row = edges[which * SLOTS + i], vertex = first_vertex[voxel] + i;
        const float *p = vertices + (row * THREADS + t) * 3, *n = p + 12 * THREADS * 3;
        if (vertex < max_vertices) {
            positions[vertex] = make_float4(p[0], p[1], p[2], 1);
            normals[vertex] = make_float4(n[0], n[1], n[2], 0);
        }
    }
    smmux::release();
}
