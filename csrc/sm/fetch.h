/* Instruction fetch. A piece of the program, which is one line of the instruction cache or a part
 * of it, lies in the buffer of a warp, or in one that all warps share, while its instructions
 * issue. */
#ifndef SMMUX_FETCH_H
#define SMMUX_FETCH_H

#include <stdbool.h>
#include <stdint.h>

struct sm;

/* A line of the program that was found in the cache. Until another line comes in, looking it up
 * again finds it in the same way, and prefetches nothing new. */
struct settled {
    uint64_t fills; /* of the cache so far */
    uint32_t line, way;
};

/* Set up the buffers; on a machine without an instruction cache nothing is fetched. */
void fetch_init(struct sm *sm);
/* The warp begins: its buffer is empty. */
void fetch_begin_warp(struct sm *sm, uint32_t warp);
/* Put a piece of the program into the warp's buffer. False if the cache lacks it: it has been asked
 * for. */
bool fetch_piece(struct sm *sm, uint32_t warp, uint32_t piece);
/* A line of the program has come into the cache at cycle t: let the warps look again that wait for
 * it, or that could not ask for theirs. */
void fetch_line_came(struct sm *sm, uint32_t line, uint64_t t);

#endif
