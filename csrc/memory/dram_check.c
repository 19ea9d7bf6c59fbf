/* What holds of a DRAM channel between two of its commands, checked with SMMUX_CHECK. */
#include "memory/dram.h"

#ifdef SMMUX_CHECK

#include <assert.h>

#include "base/bits.h"
#include "memory/dram_window.h"

/* Length of a list whose entries are in use, and in order of time. */
static uint32_t check_ordered(const struct dram *d, const struct dram_list *list) {
    uint32_t count = 0;
    uint64_t before = 0;
    for (uint32_t e = list->head; e != DRAM_NONE; e = d->pool[e].next, count++) {
        assert(e < d->fresh && count < d->fresh);
        assert(d->pool[e].time >= before && d->pool[e].bank < d->banks);
        assert(d->pool[e].next != DRAM_NONE || list->tail == e);
        before = d->pool[e].time;
    }
    return count;
}

/* A serving bank has a request of its own, and its next command is the one that its row asks for.
 */
static void check_serving(const struct dram *d, uint32_t bank) {
    const struct dram_bank *k = &d->bank[bank];
    const struct dram_entry *e = &d->pool[k->entry];
    const bool open = dram_is_open(d, bank);
    assert(k->entry < d->fresh && e->bank == bank && e->row == d->wanted[bank]);
    assert(k->bursts && k->bursts <= e->bursts);
    assert((d->column >> bank & 1) == (open && k->row == d->wanted[bank]));
    assert((d->writing >> bank & 1) == e->write);
}

/* Returns how many requests the bank has, with the one that it serves. */
static uint32_t check_bank(const struct dram *d, uint32_t bank) {
    const struct dram_list *list = &d->bank[bank].candidates;
    const uint32_t waiting = check_ordered(d, list);
    for (uint32_t e = list->head; e != DRAM_NONE; e = d->pool[e].next)
        assert(d->pool[e].bank == bank);
    assert((d->waiting >> bank & 1) == (waiting != 0));
    if (is_busy(d, bank)) check_serving(d, bank);
    return waiting;
}

static uint32_t free_entries(const struct dram *d) {
    uint32_t count = 0;
    for (uint32_t e = d->free; e != DRAM_NONE; e = d->pool[e].next, count++)
        assert(e < d->fresh && count < d->fresh);
    return count;
}

void dram_check(const struct dram *d) {
    uint32_t waiting = 0;
    assert(!(d->column & d->row) && d->fresh <= d->capacity);
    for (uint32_t bank = 0; bank < d->banks; bank++) waiting += check_bank(d, bank);
    assert(waiting == d->window_used && waiting <= d->window);
    assert(d->admits == (waiting < d->window ? next_arrival(d) : DRAM_NEVER));
    assert(waiting + bits_count64(d->column | d->row) + check_ordered(d, &d->fifo) +
               check_ordered(d, &d->done) + free_entries(d) ==
           d->fresh);
}

#endif
