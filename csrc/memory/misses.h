/* Pending misses of a cache, by sector: lines, parts of which have been asked for, and who waits.
 *
 * An entry stands for one line. Requests for further sectors of the line join it, and ask for what
 * nobody has asked for; sectors arrive in any order, and with them go those who have all that they
 * want. Who waits is a record of the owner's, in an array of his, which has a link and a mask of
 * sectors somewhere inside. */
#ifndef SMMUX_MISSES_H
#define SMMUX_MISSES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/errors.h"

#define MISS_NONE 0xffffu    /* no entry */
#define QUEUE_END UINT32_MAX /* no record */

struct miss {
    uint32_t line;          /* number */
    uint32_t index;         /* the way that the owner has tied to it, if he does that */
    uint32_t first, last;   /* who waits, oldest first; only if somebody does */
    uint16_t waiting, next; /* how many; the next one in its bucket, or of those that are free */
    uint8_t requested, arrived; /* sectors */
    bool used, open;            /* others may join: it is in its bucket */
};

struct misses {
    struct miss *miss;
    uint16_t *bucket; /* open ones by a hash of the line; NULL: the owner finds them himself */
    uint32_t capacity, count, bucket_shift;
    uint32_t free, fresh; /* first of a list; how many have been used yet */
};

/* Where waiting records lie, and what of them is the link and what the wanted sectors (a byte). */
struct waiters {
    uint8_t *records;
    uint32_t size, link, want;
};

enum error misses_init(struct misses *m, uint32_t capacity, bool searched);
void misses_free(struct misses *m);
/* Check that open ones lie in the buckets of their lines, each line once, and free ones nowhere. */
void misses_check(const struct misses *m);

/* Where the entry of a line is found, if it is open. */
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

/* Let nobody else join an open one: the line is here, or out of date. */
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

static inline uint32_t *miss_link(struct waiters w, uint32_t node) {
    return (uint32_t *)(void *)(w.records + (size_t)node * w.size + w.link);
}

static inline uint8_t *miss_want(struct waiters w, uint32_t node) {
    return w.records + (size_t)node * w.size + w.want;
}

/* Let a record wait, as the last one. */
static inline void miss_wait(struct miss *m, struct waiters w, uint32_t node) {
    *miss_link(w, node) = QUEUE_END;
    if (m->waiting++) *miss_link(w, m->last) = node;
    else m->first = node;
    m->last = node;
}

/* Let those go who want no sector beyond these: a list, oldest first. */
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
