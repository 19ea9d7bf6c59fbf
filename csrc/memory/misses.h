/* Pending misses (MSHRs) of a cache whose lines are filled sector by sector.
 *
 * An entry stands for one line. A request for sectors of the line that are not there waits with the
 * entry; of these sectors, those are fetched which no request has asked for yet. Sectors arrive in
 * any order, and each time the requests go that have all the sectors they want. A request is a
 * record in an array of the cache's owner, which has room for a link and a mask of sectors (struct
 * waiters). */
#ifndef SMMUX_MISSES_H
#define SMMUX_MISSES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/errors.h"

#define MISS_NONE 0xffffu    /* no entry */
#define QUEUE_END UINT32_MAX /* the end of a list of records */

struct miss {
    uint32_t line;          /* number of the line */
    uint32_t index;         /* the way of the cache that is tied to it, if the owner ties one */
    uint32_t first, last;   /* of the records that wait, oldest first; valid if any does */
    uint16_t waiting, next; /* records that wait; next entry of its bucket, or of the free list */
    uint8_t requested, arrived; /* masks of sectors: asked for; come */
    bool used, open;            /* open: further requests may join, and it is in its bucket */
};

struct misses {
    struct miss *miss;
    uint16_t *bucket; /* open entries by a hash of the line; NULL: the owner finds them by ways */
    uint32_t capacity, count, bucket_shift;
    uint32_t free;  /* first entry of the free list */
    uint32_t fresh; /* entries from here on have never been used */
};

/* Where the records lie that wait, of `size` bytes each; the offsets of their link (a uint32_t) and
 * of their mask of wanted sectors (a byte). */
struct waiters {
    uint8_t *records;
    uint32_t size, link, want;
};

enum error misses_init(struct misses *m, uint32_t capacity, bool searched);
void misses_free(struct misses *m);
/* Check that each open entry lies in the bucket of its line, a line has one at most, and free
 * entries lie in no bucket. */
void misses_check(const struct misses *m);

/* The bucket in which the open entry of a line would be. */
static inline uint16_t *misses_bucket(const struct misses *m, uint32_t line) {
    return &m->bucket[bits_spread(line) >> m->bucket_shift];
}

/* The open entry of a line, or MISS_NONE. */
static inline uint32_t misses_find(const struct misses *m, uint32_t line) {
    uint32_t i = *misses_bucket(m, line);
    while (i != MISS_NONE && m->miss[i].line != line) i = m->miss[i].next;
    return i;
}

/* A new entry for a line that has no open one; there is a free one. */
static inline uint32_t misses_start(struct misses *m, uint32_t line) {
    const uint32_t i = m->free == MISS_NONE ? m->fresh++ : m->free;
    struct miss *miss = &m->miss[i];
    assert(m->count < m->capacity && (m->free == MISS_NONE || !miss->used));
    assert(!m->bucket || misses_find(m, line) == MISS_NONE);
    if (m->free != MISS_NONE) m->free = miss->next;
    m->count++;
    *miss = (struct miss){.line = line, .used = true, .next = MISS_NONE};
    if (!m->bucket) return i;
    uint16_t *bucket = misses_bucket(m, line);
    miss->open = true;
    miss->next = *bucket;
    *bucket = (uint16_t)i;
    return i;
}

/* Let no further request join an open entry: the line is here, or out of date. */
static inline void misses_close(struct misses *m, uint32_t i) {
    struct miss *miss = &m->miss[i];
    uint16_t *link = misses_bucket(m, miss->line);
    while (*link != i) link = &m->miss[*link].next;
    *link = miss->next;
    miss->open = false;
}

/* All that was asked for has arrived, and nobody waits: the entry is free. */
static inline void misses_end(struct misses *m, uint32_t i) {
    struct miss *miss = &m->miss[i];
    assert(miss->used && !miss->waiting && miss->arrived == miss->requested);
    if (miss->open) misses_close(m, i);
    miss->used = false;
    miss->next = (uint16_t)m->free;
    m->free = i;
    m->count--;
}

/* The link, and the mask of wanted sectors, of a record. */
static inline uint32_t *miss_link(struct waiters w, uint32_t node) {
    return (uint32_t *)(void *)(w.records + (size_t)node * w.size + w.link);
}

static inline uint8_t *miss_want(struct waiters w, uint32_t node) {
    return w.records + (size_t)node * w.size + w.want;
}

/* Let a record wait behind all others. */
static inline void miss_wait(struct miss *m, struct waiters w, uint32_t node) {
    *miss_link(w, node) = QUEUE_END;
    if (m->waiting++) *miss_link(w, m->last) = node;
    else m->first = node;
    m->last = node;
}

/* Take the records out that want no sectors but these, and return them as a list, oldest first. */
static inline uint32_t miss_release(struct miss *m, struct waiters w, uint32_t sectors) {
    uint32_t ready = QUEUE_END, last = QUEUE_END, node = m->waiting ? m->first : QUEUE_END;
    m->waiting = 0;
    while (node != QUEUE_END) {
        const uint32_t next = *miss_link(w, node);
        if (*miss_want(w, node) & ~sectors) {
            miss_wait(m, w, node);
        } else {
            *miss_link(w, node) = QUEUE_END;
            if (ready == QUEUE_END) ready = node;
            else *miss_link(w, last) = node;
            last = node;
        }
        node = next;
    }
    return ready;
}

#endif
