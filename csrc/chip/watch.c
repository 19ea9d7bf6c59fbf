#include "chip/watch.h"

#include <stdlib.h>
#include <string.h>

/* The states in which a warp has been seen, as hashes, and when its values were made, then. */
struct watched {
    uint64_t state[WATCH_STATES], made[WATCH_STATES];
    bool back;  /* it is in one of them again, and waits for no access; or `moved` */
    bool moved; /* it has been in one of them twice, and has issued in between */
};

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 29;
}

/* What a warp is at: instruction, lanes, predicates, registers and the loads that it waits for. */
static uint64_t state_of(const struct sm *sm, const struct warp *w) {
    const struct program *p = sm->m->program;
    const uint32_t words = p->registers * 32;
    uint64_t hash =
        mix(mix(1, (uint64_t)w->pc << 32 | w->mask), (uint64_t)w->live << 32 | w->depth);
    hash = mix(hash, w->loads_pending);
    for (uint32_t i = 0; i < p->meta.npreds; i++) hash = mix(hash, w->preds[i]);
    for (uint32_t i = 0; i < words; i += 2)
        hash = mix(hash, (uint64_t)w->rows[i] << 32 | w->rows[i + 1]);
    return hash | 1; /* 0: none */
}

/* When the values of a warp were made. In the same state it differs only after the warp has issued:
 * a load that comes back changes the loads that it waits for, too. */
static uint64_t made_of(const struct sm *sm, const struct warp *w) {
    const struct program *p = sm->m->program;
    uint64_t hash = 1;
    for (uint32_t i = 0; i < p->ready_count; i++) hash = mix(hash, w->ready[i]);
    return hash;
}

/* Has the warp something left to do? */
static bool is_live(const struct warp *w) {
    return w->state == WARP_RUNNING || w->state == WARP_BARRIER || w->state == WARP_FENCE ||
           w->state == WARP_NAMED || w->state == WARP_COPIES;
}

/* The instructions that all SMs have issued so far. */
static uint64_t issued(const struct watch *w) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < w->sm_count; i++) sum += w->sms[i].count.instructions;
    return sum;
}

void watch_reset(struct watch *w) {
    w->samples = 0;
    if (w->warps) memset(w->warps, 0, (size_t)w->sm_count * MAX_WARPS * sizeof *w->warps);
}

/* Does a warp wait for memory: for an access, or for room for one? */
static bool waits_for_memory(const struct sm *sm, uint32_t slot) {
    return sm->warps[slot].accesses_pending || sm->claiming >> slot & 1;
}

/* Look at one warp. Equal states may be one in which it stands, as for a value from memory, however
 * long that takes. At a barrier or for shared memory it waits for other warps, which may spin. */
static void look_at_warp(struct watched *seen, const struct sm *sm, uint32_t slot,
                         uint32_t sample) {
    const struct warp *w = &sm->warps[slot];
    const uint64_t state = state_of(sm, w), made = made_of(sm, w);
    bool again = false;
    for (uint32_t k = 0; k < WATCH_STATES; k++) {
        if (seen->state[k] != state) continue;
        seen->moved |= seen->made[k] != made;
        again = true;
    }
    seen->back = seen->moved || (again && !waits_for_memory(sm, slot));
    seen->state[sample % WATCH_STATES] = state;
    seen->made[sample % WATCH_STATES] = made;
}

void watch_sample(struct watch *w) {
    if (!w->warps) w->warps = calloc((size_t)w->sm_count * MAX_WARPS, sizeof *w->warps);
    if (!w->warps || (w->samples && w->cycle - w->sampled < WATCH_CYCLES)) return;
    if (!w->samples) w->issued = issued(w);
    for (uint32_t i = 0; i < w->sm_count; i++)
        for (uint32_t slot = 0; slot < w->sms[i].warp_limit; slot++)
            if (is_live(&w->sms[i].warps[slot]))
                look_at_warp(&w->warps[i * MAX_WARPS + slot], &w->sms[i], slot, w->samples);
    w->sampled = w->cycle;
    w->samples++;
}

bool watch_spins(const struct watch *w) {
    uint64_t live = 0;
    bool moved = false;
    if (w->samples < WATCH_ENOUGH) return false;
    for (uint32_t i = 0; i < w->sm_count; i++)
        for (uint32_t slot = 0; slot < w->sms[i].warp_limit; slot++) {
            const struct watched *seen = &w->warps[i * MAX_WARPS + slot];
            if (!is_live(&w->sms[i].warps[slot])) continue;
            if (!seen->back) return false;
            moved |= seen->moved;
            live++;
        }
    /* A loop of branches alone makes no values, but issues more than there is without a loop: each
     * instruction for each lane. */
    return live && (moved || issued(w) - w->issued > live * 32 * w->sms->m->program->count);
}

void watch_free(struct watch *w) { free(w->warps); }
