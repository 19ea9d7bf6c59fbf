/* Whole lines of the host's cache: what several threads write side by side must share none. */
#ifndef SMMUX_LINES_H
#define SMMUX_LINES_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 64u

/* Bytes of the lines that so many take. */
static inline size_t lines_round(size_t bytes) {
    return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

/* Zeroed; the caller frees it. NULL: there is not enough. */
static inline void *lines_alloc(size_t bytes) {
    void *at = aligned_alloc(LINE_BYTES, lines_round(bytes));
    return at ? memset(at, 0, lines_round(bytes)) : NULL;
}

#endif
