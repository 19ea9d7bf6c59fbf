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

/* The first line of some memory that has two more than it needs; the pointer before it is for
 * lines_free. */
static inline void *lines_begin(uint8_t *base) {
    if (!base) return NULL;
    uint8_t *at = base + LINE_BYTES - (uintptr_t)base % LINE_BYTES;
    memcpy(at - sizeof base, &base, sizeof base);
    return at;
}

/* Whole lines of anything, for lines_free; NULL if there is not enough memory. */
static inline void *lines_take(size_t bytes) {
    return lines_begin(malloc(bytes + 2 * (size_t)LINE_BYTES));
}

/* The same, of zeros. What is large comes from the host as zeros already, and takes only as much
 * memory as is used. */
static inline void *lines_alloc(size_t bytes) {
    return lines_begin(calloc(1, bytes + 2 * (size_t)LINE_BYTES));
}

static inline void lines_free(void *lines) {
    uint8_t *base;
    if (!lines) return;
    memcpy(&base, (uint8_t *)lines - sizeof base, sizeof base);
    free(base);
}

#endif
