/* Whole lines of the host's cache: what several threads write side by side must share none. */
#ifndef SMMUX_LINES_H
#define SMMUX_LINES_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 64u

/* Zeroed; the caller frees it. NULL: there is not enough. */
static inline void *lines_alloc(size_t bytes) {
    const size_t whole = (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    void *at = aligned_alloc(LINE_BYTES, whole);
    return at ? memset(at, 0, whole) : NULL;
}

#endif
