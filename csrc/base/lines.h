/* Whole lines of the host's cache: what several threads write side by side must share none. */
#ifndef SMMUX_LINES_H
#define SMMUX_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 64u

/* The size of the lines that so many bytes take. */
static inline size_t lines_round(size_t bytes) {
    return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

/* Whole lines of zeros, for lines_free; NULL if there is not enough memory. What is large comes
 * from the host as zeros already, and takes only as much memory as is used. */
static inline void *lines_alloc(size_t bytes) {
    uint8_t *base = calloc(1, bytes + 2 * (size_t)LINE_BYTES);
    if (!base) return NULL;
    uint8_t *at = base + LINE_BYTES - (uintptr_t)base % LINE_BYTES; /* room for a pointer before */
    memcpy(at - sizeof base, &base, sizeof base);
    return at;
}

static inline void lines_free(void *lines) {
    uint8_t *base;
    if (!lines) return;
    memcpy(&base, (uint8_t *)lines - sizeof base, sizeof base);
    free(base);
}

#endif
