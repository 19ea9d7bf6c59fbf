// Strings and sequences.
extern "C" __global__ void search(int n, int length, const unsigned char *__restrict__ text, const unsigned char *__restrict__ pattern, int *found)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > n - length)
        return;
    int k = 0;
    while (k < length && text[i + k] == pattern[k])
        k++;
    if (k == length)
        atomicAdd(found, 1);
}

// A block aligns its own pair of sequences of 128, one diagonal after the other.
extern "C" __global__ void smith_waterman(const unsigned char *__restrict__ a, const unsigned char *__restrict__ b, int *best)
{
    __shared__ int rows[3][130];
    __shared__ unsigned char s[128];
    int t = threadIdx.x, top = 0;
    unsigned char own = a[blockIdx.x * 128 + t];
    s[t] = b[blockIdx.x * 128 + t];
    for (int i = t; i < 390; i += 128)
        rows[i / 130][i % 130] = 0;
    for (int d = 0; d < 255; d++) {
        __syncthreads();
        int j = d - t;
        if (j >= 0 && j < 128) {
            int diagonal = rows[(d + 1) % 3][t] + (own == s[j] ? 2 : -1);
            int here = max(max(diagonal, 0), max(rows[(d + 2) % 3][t], rows[(d + 2) % 3][t + 1]) - 1);
            rows[d % 3][t + 1] = here;
            top = max(top, here);
        } else
            rows[d % 3][t + 1] = 0;
    }
    top = __reduce_max_sync(~0u, top);
    if (t % 32 == 0)
        atomicMax(&best[blockIdx.x], top);
}

// Each thread: edit distance of a word of 24 letters from the dictionary to the given one.
extern "C" __global__ void edit_distance(int n, const unsigned char *__restrict__ words, const unsigned char *__restrict__ target, int *distance)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= n)
        return;
    int row[25];
#pragma unroll
    for (int j = 0; j <= 24; j++)
        row[j] = j;
    for (int i = 0; i < 24; i++) {
        unsigned char letter = words[i * n + w];
        int corner = i;
        row[0] = i + 1;
#pragma unroll
        for (int j = 0; j < 24; j++) {
            int next = min(min(row[j], row[j + 1]) + 1, corner + (letter != target[j]));
            corner = row[j + 1], row[j + 1] = next;
        }
    }
    distance[w] = row[24];
}

extern "C" __global__ void count_words(int n, unsigned slots, const unsigned char *__restrict__ text, unsigned *table)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > n - 8)
        return;
    unsigned code = 0;
    for (int k = 0; k < 8; k++)
        code = code * 4 + (text[i + k] & 3);
    code *= 2654435769u;
    atomicAdd(&table[code >> 8 & (slots - 1)], 1u);
}

extern "C" __global__ void base64(int groups, const unsigned char *__restrict__ in, uchar4 *out)
{
    __shared__ unsigned char letters[64];
    if (threadIdx.x < 64) {
        int t = threadIdx.x;
        letters[t] = t < 26 ? 'A' + t : t < 52 ? 'a' + t - 26 : t < 62 ? '0' + t - 52 : t == 62 ? '+' : '/';
    }
    __syncthreads();
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= groups)
        return;
    unsigned bits = in[3 * g] << 16 | in[3 * g + 1] << 8 | in[3 * g + 2];
    out[g] = make_uchar4(letters[bits >> 18], letters[bits >> 12 & 63], letters[bits >> 6 & 63], letters[bits & 63]);
}

// An automaton of 64 states reads one line of each thread's own.
extern "C" __global__ void automaton(int lines, int length, const unsigned char *__restrict__ text, const unsigned char *__restrict__ next, int *accepted)
{
    __shared__ unsigned char table[64 * 32];
    for (int i = threadIdx.x; i < 2048; i += blockDim.x)
        table[i] = next[i];
    __syncthreads();
    int l = blockIdx.x * blockDim.x + threadIdx.x, state = 0, seen = 0;
    for (int k = 0; k < length; k++) {
        state = table[state * 32 + text[k * lines + l]];
        seen += state == 63;
    }
    accepted[l] = seen;
}
