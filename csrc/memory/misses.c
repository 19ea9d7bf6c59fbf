#include "memory/misses.h"

#include <stdlib.h>
#include <string.h>

/* Buckets are the upper bits of a product, since lines at a stride of a power of two must not share
 * one. There are as many as entries, or up to twice as many. */
static enum error create_buckets(struct misses *m) {
    uint32_t bits = 0;
    while (1u << bits < m->capacity) bits++;
    m->bucket_shift = 32 - bits;
    m->bucket = malloc((1u << bits) * sizeof *m->bucket);
    if (!m->bucket) return ERROR_NO_MEMORY;
    memset(m->bucket, 0xff, (1u << bits) * sizeof *m->bucket);
    return OK;
}

enum error misses_init(struct misses *m, uint32_t capacity, bool searched) {
    assert(capacity > 1 || !searched);
    assert(capacity && capacity < MISS_NONE);
    *m = (struct misses){.capacity = capacity, .free = MISS_NONE};
    m->miss = malloc(capacity * sizeof *m->miss); /* those below m->fresh have been used */
    if (!m->miss) return ERROR_NO_MEMORY;
    return searched ? create_buckets(m) : OK;
}

void misses_free(struct misses *m) {
    free(m->miss);
    free(m->bucket);
    m->miss = NULL;
    m->bucket = NULL;
}

void misses_check(const struct misses *m) {
#ifdef SMMUX_CHECK
    uint32_t used = 0, idle = 0;
    for (uint32_t i = 0; i < m->fresh; i++) {
        const struct miss *miss = &m->miss[i];
        if (!miss->used) continue;
        used++;
        assert(miss->requested && !(miss->arrived & ~miss->requested));
        assert(miss->arrived != miss->requested);
        assert(!miss->open || misses_find(m, miss->line) == i);
    }
    for (uint32_t i = m->free; i != MISS_NONE; i = m->miss[i].next) {
        assert(i < m->capacity && !m->miss[i].used);
        idle++;
    }
    assert(used == m->count && used + idle == m->fresh && m->fresh <= m->capacity);
#endif
    (void)m;
}
