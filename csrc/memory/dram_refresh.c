/* Refresh of a DRAM channel: of all its banks together, or of one bank after the other. */
#include "memory/dram_refresh.h"

#include <assert.h>

#include "base/bits.h"
#include "memory/dram_bank.h"

void refresh_init(struct dram *d, const struct config *cfg, uint32_t phase) {
    const bool single = cfg->t_refi && cfg->dram_refresh_single;
    d->refresh_due = cfg->t_refi && !single ? cfg->t_refi + (uint64_t)phase : DRAM_NEVER;
    for (uint32_t b = 0; b < DRAM_MAX_BANKS; b++) {
        const uint64_t turn = (uint64_t)cfg->t_refi * (b % d->banks) / d->banks;
        d->bank[b].refresh_due = single ? (phase + turn) % cfg->t_refi : DRAM_NEVER;
    }
}

/* The clock after the last command. */
static uint64_t command_free(const struct dram *d) { return later(d->column_free, d->row_free); }

/* Precharge all open banks, refresh, and plan the serving banks again. */
static void refresh(struct dram *d) {
    const uint64_t all = all_banks(d->banks);
    uint64_t at = later(d->refresh_due, command_free(d));
    if (d->closed != all) {
        uint64_t precharge = at;
        for (uint64_t m = all & ~d->closed; m; m &= m - 1) {
            const uint32_t b = bits_lowest64(m);
            precharge = later(precharge, d->bank[b].pre_ready);
            precharge = later(precharge, d->group_pre_ready[b & d->group_mask]);
            d->stats.precharges++;
        }
        record(d, precharge, DRAM_PRECHARGE_ALL, 0, 0);
        at = precharge + d->t.rp;
    }
    for (uint32_t b = 0; b < d->banks; b++) /* tRC, and tRP of banks precharged before */
        at = later(at, d->bank[b].act_ready);
    record(d, at, DRAM_REFRESH, 0, 0);
    d->stats.refreshes++;
    d->closed = all;
    d->row_bound = 0;
    for (uint32_t b = 0; b < d->banks; b++)
        d->bank[b].act_ready = later(d->bank[b].act_ready, at + d->t.rfc);
    for (uint64_t m = d->column | d->row; m; m &= m - 1) bank_plan(d, bits_lowest64(m));
    d->column_free = d->row_free = at + 1;
    d->refresh_due += d->t.refi;
}

/* Refreshes of a channel that has nothing else to do come when they are due, all alike: count
 * all but the last ones. */
static void skip_refreshes(struct dram *d) {
    const uint64_t all = all_banks(d->banks);
    if (d->refresh_due > d->now || (d->now - d->refresh_due) / 4 < d->t.refi || d->closed != all ||
        (d->column | d->row) || command_free(d) > d->refresh_due ||
        (d->log && d->log->count < d->log->capacity))
        return;
    for (uint32_t b = 0; b < d->banks; b++)
        if (d->bank[b].act_ready > d->refresh_due) return;
    const uint64_t count = (d->now - d->refresh_due) / d->t.refi - 1;
    d->stats.refreshes += count;
    if (d->log) d->log->count += count;
    d->refresh_due += count * d->t.refi;
}

void refresh_all(struct dram *d) {
    while (d->refresh_due <= d->now) {
        refresh(d);
        skip_refreshes(d);
    }
}

void refresh_bank(struct dram *d, uint32_t b, uint64_t clock) {
    struct dram_bank *k = &d->bank[b];
    assert(k->refresh_due <= clock);
    if (dram_is_open(d, b)) {
        k->act_ready = later(k->act_ready, later(k->refresh_due, k->pre_ready) + d->t.rp);
        d->closed |= 1ull << b;
        d->stats.precharges++;
    }
    /* The bank has done nothing else since; all but the first and the last are as they are due. */
    do {
        const uint64_t count =
            k->act_ready <= k->refresh_due ? (clock - k->refresh_due) / d->t.refi : 0;
        const uint64_t at = later(k->refresh_due + count * d->t.refi, k->act_ready);
        record(d, at, DRAM_REFRESH_BANK, b, 0);
        d->stats.refreshes += count + 1;
        k->act_ready = at + d->t.rfc;
        k->refresh_due += (count + 1) * d->t.refi;
    } while (k->refresh_due <= clock);
    if ((d->column | d->row) >> b & 1) bank_plan(d, b);
}
