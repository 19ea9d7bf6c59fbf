#include "chip/dispatch.h"

#include <assert.h>
#include <string.h>

#include "base/gpcs.h"
#include "sm/operands.h"

/* The cycle at which the chip has taken note of a block's end at `cycle`: it takes note of one end
 * after the other, dispatch_chip thousandths of a clock apart. */
static uint64_t note_end(struct dispatch *d, uint64_t cycle) {
    if (!d->cfg->dispatch_chip) return cycle;
    const uint64_t at = 1000 * cycle > d->free ? 1000 * cycle : d->free;
    d->free = at + d->cfg->dispatch_chip;
    return (at + 999) / 1000;
}

/* How many blocks may be handed out by now. */
static uint32_t limit(const struct dispatch *d) {
    return d->again && d->finished < d->again ? d->again : d->total;
}

/* Hand the next block out to an SM, where it may start at that cycle. */
static void hand_out(struct dispatch *d, struct sm *sm, uint64_t cycle) {
    const uint32_t i = d->next++;
    if (d->starts) d->starts[i] = cycle;
    block_add(sm, d->blocks ? d->blocks[i] : i, cycle);
}

/* Hand out blocks round by round, one to each SM: GPC by GPC, beginning with the last group, which
 * holds the TPCs that are left over. */
static void fill_gpcs(struct dispatch *d, struct sm *sms, uint64_t from) {
    const struct config *cfg = d->cfg;
    const uint32_t large = cfg->dispatch_block + d->warps * cfg->dispatch_warp / 100;
    const uint64_t interval = large > cfg->dispatch_interval ? large : cfg->dispatch_interval;
    struct gpcs gpcs;
    gpcs_init(&gpcs, cfg);
    for (uint32_t round = 0; round < d->residency; round++)
        for (uint32_t i = 0; i < gpcs.count; i++)
            for (uint32_t sm = 0; sm < cfg->sm_count && d->next < limit(d); sm++)
                if (gpcs.of[sm / cfg->sms_per_tpc] == (i + gpcs.count - 1) % gpcs.count)
                    hand_out(d, &sms[sm], from + round * interval);
}

/* Fill the empty machine from that cycle on. */
static void fill(struct dispatch *d, struct sm *sms, uint64_t from) {
    const struct config *cfg = d->cfg;
    if (cfg->gpc_tpcs) {
        fill_gpcs(d, sms, from);
        return;
    }
    const uint32_t tpcs = (cfg->sm_count + cfg->sms_per_tpc - 1) / cfg->sms_per_tpc;
    for (uint32_t round = 0; round < d->residency * cfg->sms_per_tpc; round++)
        for (uint32_t tpc = 0; tpc < tpcs && d->next < limit(d); tpc++) {
            const uint32_t sm = tpc * cfg->sms_per_tpc + round % cfg->sms_per_tpc;
            if (sm < cfg->sm_count)
                hand_out(d, &sms[sm], from + (uint64_t)round * cfg->dispatch_interval);
        }
}

void dispatch_fill(struct dispatch *d, struct sm *sms) { fill(d, sms, d->cfg->launch_start); }

uint64_t dispatch_end(const struct dispatch *d, const struct sm *sms) {
    uint64_t blocks = d->noted, answers = 0;
    bool used = false; /* memory */
    for (const struct sm *sm = sms; sm < sms + d->cfg->sm_count; sm++) {
        if (sm->last_end > blocks) blocks = sm->last_end;
        if (sm->last_activity > answers) answers = sm->last_activity;
        used |= sm->count.transactions != 0;
    }
    if (used) blocks += d->cfg->launch_end;
    return blocks > answers ? blocks : answers;
}

bool dispatch_again(struct dispatch *d, struct sm *sms) {
    const struct config *cfg = d->cfg;
    const uint32_t gap = cfg->launch_behind > RELAUNCH_LEAST ? cfg->launch_behind : RELAUNCH_LEAST;
    if (!d->again || d->finished != d->again || d->next != d->again) return false;
    for (uint32_t i = 0; i < cfg->sm_count; i++)
        if (sms[i].late) return false;
    for (uint32_t i = 0; i < cfg->sm_count; i++) {
        smcache_invalidate(&sms[i]);
        operands_forget(&sms[i]);
    }
    fill(d, sms, dispatch_end(d, sms) + gap);
    return true;
}

/* The SM whose block finished first of those that are yet to be replaced; NULL: none has before
 * cycle `end`. */
static struct sm *first_finished(struct sm *sms, uint32_t count, uint64_t end) {
    struct sm *best = NULL;
    for (struct sm *sm = sms; sm < sms + count; sm++) {
        if (!sm->finished_count || sm->finished[0] >= end) continue;
        best = sm;
        end = sm->finished[0];
    }
    return best;
}

/* When the first of an SM's finished blocks ended; the SM forgets it. */
static uint64_t take_finished(struct sm *sm) {
    assert(sm->finished_count);
    const uint64_t cycle = sm->finished[0];
    sm->finished_count--;
    memmove(sm->finished, sm->finished + 1, sm->finished_count * sizeof *sm->finished);
    return cycle;
}

void dispatch_replace(struct dispatch *d, struct sm *sms, uint64_t end) {
    for (struct sm *sm; (sm = first_finished(sms, d->cfg->sm_count, end));) {
        d->noted = note_end(d, take_finished(sm));
        d->finished++;
        assert(d->finished <= d->next);
        if (d->next < limit(d) && d->finished != d->again)
            hand_out(d, sm, d->noted + d->cfg->block_start);
    }
}
