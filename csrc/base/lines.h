/* Whole lines of the host's cache: what several threads write side by side must share none. */
#ifndef SMMUX_LINES_H
#define SMMUX_LINES_H

#include <stddef.h>
#include <stdint.h>

#define LINE_BYTES 64u

/* The size of the lines that so many bytes take. */
static inline size_t lines_round(size_t bytes) {
    return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

/* Whole lines of anything, for lines_free; NULL if there is not enough memory. */
void *lines_take(size_t bytes);
/* The same, of zeros. What is large takes only as much memory as is used. */
void *lines_alloc(size_t bytes);
/* The same, of which nearly all will be used. */
void *lines_alloc_whole(size_t bytes);
void lines_free(void *lines);

/* Let nobody touch a line between two arrays of one piece of memory, where AddressSanitizer
 * watches; returns how many bytes that takes, none elsewhere. at: NULL where bytes are only
 * counted. */
size_t lines_fence(void *at);

#endif
