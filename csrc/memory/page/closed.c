/* Closed page, as gem5's close_adaptive and Ramulator's ClosedAP: a row is closed with its last
 * access as far as the window shows. */
#include "memory/dram_policy.h"

static bool closes(const struct dram *d, uint32_t bank) {
    const struct dram_bank *k = &d->bank[bank];
    for (uint32_t e = k->candidates.head; e != DRAM_NONE; e = d->pool[e].next)
        if (d->pool[e].row == k->row) return false;
    return true;
}

const struct page_policy page_closed = {.closes = closes};
