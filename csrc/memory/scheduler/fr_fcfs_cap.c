/* FR-FCFS that starves nobody: a request that has waited too long comes before hits of its bank's
 * open row, as in ATLAS (Kim et al., HPCA 2010, rule 1). Ramulator's FRFCFS_Cap counts hits
 * instead. */
#include "memory/dram_policy.h"

static uint32_t pass(const struct dram *d, uint32_t bank) {
    const uint64_t arrival = d->pool[d->bank[bank].candidates.head].time;
    if (!dram_is_open(d, bank) || d->now - arrival > d->age_cap) return DRAM_NONE;
    return dram_pass_to_row(d, bank);
}

const struct dram_policy dram_fr_fcfs_cap = {.pass = pass};
