// Matrix units through wmma.
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void tensor_cores(const half *a, const half *b, float *c, int depth)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < depth; k += 16) {
        wmma::load_matrix_sync(left, a + k, depth);
        wmma::load_matrix_sync(right, b + k, depth);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}
