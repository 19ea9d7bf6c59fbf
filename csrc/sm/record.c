#include "sm/record.h"

#include <stdlib.h>

#include "base/bits.h"

struct records *records_create(uint32_t most) {
    struct records *r = calloc(1, sizeof *r + most * sizeof *r->row);
    if (r) r->most = most;
    return r;
}

/* The next row, for what a warp does at cycle t; NULL if it is none of those to be kept. */
static struct recorded *next_row(const struct sm *sm, uint32_t warp, uint64_t t) {
    struct records *r = sm->records;
    const struct warp *w = &sm->warps[warp];
    const struct block *b = &sm->blocks[w->block];
    if (r->count == r->most || (r->count && r->block != b->id)) return NULL;
    struct recorded *row = &r->row[r->count++];
    r->block = b->id;
    row->cycle = t;
    row->pc = w->pc;
    row->block = b->id;
    row->warp = bits_count64(b->warp_slots & ((1ull << warp) - 1));
    return row;
}

void record_access(const struct memop *op, uint32_t base) {
    struct recorded *row = next_row(op->sm, op->warp, op->t);
    if (!row) return;
    row->active = op->active;
    for (uint32_t lane = 0; lane < 32; lane++)
        row->addr[lane] = op->active >> lane & 1 ? op->addr[lane] - base : 0;
}

void record_arrival(const struct sm *sm, uint32_t warp, uint64_t t) {
    struct recorded *row = next_row(sm, warp, t);
    if (row) row->active = sm->warps[warp].mask;
}
