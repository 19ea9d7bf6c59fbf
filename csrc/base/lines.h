/* Whole lines of the host's cache: what several threads write side by side must share none. */
#ifndef SMMUX_LINES_H
#define SMMUX_LINES_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 64u

/* The size of the lines that so many bytes take. */
static inline size_t lines_round(size_t bytes) {
    return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

/* Whole lines of anything, which the caller frees; NULL if there is not enough memory. */
static inline void *lines_take(size_t bytes) {
    return aligned_alloc(LINE_BYTES, lines_round(bytes));
}

/* The same, of zeros. */
static inline void *lines_alloc(size_t bytes) {
    void *at = lines_take(bytes);
    return at ? memset(at, 0, lines_round(bytes)) : NULL;
}

#endif
