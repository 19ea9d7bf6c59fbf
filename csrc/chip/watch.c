#include "chip/watch.h"

#include <stdlib.h>
#include <string.h>

/* The states in which a warp has been seen, as hashes. */
struct watched {
    uint64_t state[WATCH_STATES];
    bool back; /* one of them twice */
};

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 29;
}

/* What a warp is at: instruction, lanes, predicates and registers. */
static uint64_t state_of(const struct sm *sm, const struct warp *w) {
    const struct program *p = sm->m->program;
    const uint32_t words = p->meta.nregs * 32;
    uint64_t hash =
        mix(mix(1, (uint64_t)w->pc << 32 | w->mask), (uint64_t)w->live << 32 | w->depth);
    for (uint32_t i = 0; i < p->meta.npreds; i++) hash = mix(hash, w->preds[i]);
    for (uint32_t i = 0; i < words; i += 2)
        hash = mix(hash, (uint64_t)w->rows[i] << 32 | w->rows[i + 1]);
    return hash | 1; /* 0: none */
}

static bool is_live(const struct warp *w) {
    return w->state == WARP_RUNNING || w->state == WARP_BARRIER || w->state == WARP_FENCE;
}

void watch_reset(struct watch *w) {
    w->samples = 0;
    if (w->warps) memset(w->warps, 0, (size_t)w->sm_count * MAX_WARPS * sizeof *w->warps);
}

void watch_sample(struct watch *w) {
    if (!w->warps) w->warps = calloc((size_t)w->sm_count * MAX_WARPS, sizeof *w->warps);
    if (!w->warps) return;
    for (uint32_t i = 0; i < w->sm_count; i++)
        for (uint32_t slot = 0; slot < w->sms[i].warp_limit; slot++) {
            struct watched *seen = &w->warps[i * MAX_WARPS + slot];
            if (!is_live(&w->sms[i].warps[slot])) continue;
            const uint64_t state = state_of(&w->sms[i], &w->sms[i].warps[slot]);
            for (uint32_t k = 0; k < WATCH_STATES; k++) seen->back |= seen->state[k] == state;
            seen->state[w->samples % WATCH_STATES] = state;
        }
    w->samples++;
}

bool watch_spins(const struct watch *w) {
    uint32_t live = 0;
    if (w->samples < WATCH_ENOUGH) return false;
    for (uint32_t i = 0; i < w->sm_count; i++)
        for (uint32_t slot = 0; slot < w->sms[i].warp_limit; slot++) {
            if (!is_live(&w->sms[i].warps[slot])) continue;
            if (!w->warps[i * MAX_WARPS + slot].back) return false;
            live++;
        }
    return live != 0;
}

void watch_free(struct watch *w) { free(w->warps); }
