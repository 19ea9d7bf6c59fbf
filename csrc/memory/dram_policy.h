/* DRAM policies: which request in the window an idle bank serves, and when it closes its row.
 * Both look at the channel and change nothing; all banks ask them. */
#ifndef SMMUX_DRAM_POLICY_H
#define SMMUX_DRAM_POLICY_H

#include "memory/dram.h"

/* Chooses among the requests in the window that want a bank: a list, the oldest one first. */
struct dram_policy {
    /* The last of the requests that the bank passes over, to serve the one behind it; DRAM_NONE: it
     * serves the oldest one. There are at least two, and the bank serves none. Nobody asks where
     * the oldest one goes to the bank's row: no policy passes over that. */
    uint32_t (*pass)(const struct dram *d, uint32_t bank);
    uint32_t window; /* length of the window, 0: dram_window */
};

struct page_policy {
    /* Whether the bank's row is closed with the access that has just been issued, the last one of
     * a request: a read or write with auto-precharge. */
    bool (*closes)(const struct dram *d, uint32_t bank);
};

#define POLICY_dram(name, doc) extern const struct dram_policy dram_##name;
#include "tables/policies.def"
#define POLICY_page(name, doc) extern const struct page_policy page_##name;
#include "tables/policies.def"

static inline bool dram_is_open(const struct dram *d, uint32_t bank) {
    return !(d->closed >> bank & 1);
}

/* The last of the requests before the oldest one to the bank's row; DRAM_NONE: there are none
 * before it, or none goes to that row. */
static inline uint32_t dram_pass_to_row(const struct dram *d, uint32_t bank) {
    const struct dram_bank *k = &d->bank[bank];
    uint32_t passed = DRAM_NONE;
    for (uint32_t e = k->candidates.head; e != DRAM_NONE; passed = e, e = d->pool[e].next)
        if (d->pool[e].row == k->row) return passed;
    return DRAM_NONE;
}

#endif
