/* The queue of a DRAM channel: requests that wait for the window, and those in it. */
#ifndef SMMUX_DRAM_WINDOW_H
#define SMMUX_DRAM_WINDOW_H

#include <assert.h>

#include "memory/dram_policy.h"

static inline void list_append(struct dram_entry *pool, struct dram_list *list, uint32_t e) {
    pool[e].next = DRAM_NONE;
    if (list->head == DRAM_NONE) list->head = e;
    else pool[list->tail].next = e;
    list->tail = e;
}

static inline uint32_t list_take(const struct dram_entry *pool, struct dram_list *list) {
    const uint32_t e = list->head;
    list->head = pool[e].next;
    return e;
}

/* Is the bank serving a request? */
static inline bool is_busy(const struct dram *d, uint32_t b) {
    return (d->column | d->row) >> b & 1;
}

/* When the oldest request outside the window arrives; DRAM_NEVER: there is none. */
static inline uint64_t next_arrival(const struct dram *d) {
    return d->fifo.head == DRAM_NONE ? DRAM_NEVER : d->pool[d->fifo.head].time;
}

/* Let the oldest request enter the window. */
static inline void enter(struct dram *d) {
    const uint32_t e = list_take(d->pool, &d->fifo), b = d->pool[e].bank;
    list_append(d->pool, &d->bank[b].candidates, e);
    d->waiting |= 1ull << b;
    d->admits = ++d->window_used < d->window ? next_arrival(d) : DRAM_NEVER;
}

/* Let requests enter by that clock as long as their banks are serving others, so that they change
 * nothing; returns whether these are all that arrive by then. */
static inline bool enter_quietly(struct dram *d, uint64_t clock) {
    while (d->admits <= clock) {
        if (!is_busy(d, d->pool[d->fifo.head].bank)) return false;
        enter(d);
    }
    return true;
}

/* Unlink and return the request that the bank is to serve; no policy passes over the oldest one if
 * that goes to the open row. */
static inline uint32_t window_take(struct dram *d, uint32_t b) {
    struct dram_bank *k = &d->bank[b];
    struct dram_list *list = &k->candidates;
    struct dram_entry *pool = d->pool;
    uint32_t e = list->head, passed = DRAM_NONE;
    assert(e != DRAM_NONE && pool[e].bank == b);
    if (pool[e].row != k->row && list->tail != e) passed = d->policy->pass(d, b);
    if (passed == DRAM_NONE) {
        list->head = pool[e].next;
        if (list->head == DRAM_NONE) d->waiting &= ~(1ull << b);
    } else {
        e = pool[passed].next;
        pool[passed].next = pool[e].next;
        if (list->tail == e) list->tail = passed;
    }
    if (d->window_used-- == d->window) d->admits = next_arrival(d);
    return e;
}

#endif
