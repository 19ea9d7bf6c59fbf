/* What serving banks and refreshing them share: the next command of a bank, and the log. */
#ifndef SMMUX_DRAM_BANK_H
#define SMMUX_DRAM_BANK_H

#include "memory/dram.h"
#include "memory/dram_policy.h"

static inline uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* So many banks as bits. */
static inline uint64_t all_banks(uint32_t banks) {
    return banks == DRAM_MAX_BANKS ? UINT64_MAX : (1ull << banks) - 1;
}

/* Put a command into the log, if there is one. */
static inline void record(struct dram *d, uint64_t clock, enum dram_command_kind kind,
                          uint32_t bank, uint32_t row) {
    struct dram_log *log = d->log;
    if (!log) return;
    if (log->count < log->capacity)
        log->entries[log->count] = (struct dram_command){clock, row, (uint8_t)kind, (uint8_t)bank};
    log->count++;
}

/* Find the next command of a serving bank, and when the bank itself allows it. */
static inline void bank_plan(struct dram *d, uint32_t b) {
    const struct dram_bank *k = &d->bank[b];
    const uint64_t bit = 1ull << b;
    if (dram_is_open(d, b) && k->row == d->wanted[b]) {
        d->ready[b] = k->col_ready;
        d->column |= bit;
        d->row &= ~bit;
        return;
    }
    d->ready[b] = dram_is_open(d, b) ? k->pre_ready : k->act_ready;
    d->row |= bit;
    d->column &= ~bit;
    if (d->ready[b] < d->row_bound) d->row_bound = d->ready[b];
}

#endif
