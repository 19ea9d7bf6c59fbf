#include "sm/begin.h"

#include <string.h>

#include "sm/check.h"
#include "sm/converge.h"
#include "sm/obey.h"
#include "sm/sass/barrier.h"
#include "sm/sass/copy.h"
#include "sm/sass/mbarrier.h"
#include "sm/scoreboard.h"
#include "sm/trace.h"

/* Let a warp begin, from that thread of its block on. Threads are numbered x first; lanes past the
 * end of the block do not exist. */
static void start_warp(struct sm *sm, uint32_t slot, const struct block *b, uint32_t first_thread) {
    const struct launch_dims *dims = &sm->m->dims;
    const struct program *p = sm->m->program;
    struct warp *w = &sm->warps[slot];
    const uint32_t threads = dims->block[0] * dims->block[1] * dims->block[2];
    const uint32_t lanes = threads - first_thread < 32 ? threads - first_thread : 32;
    memset(w->rows, 0, (size_t)p->named * 32 * 4);
    memset(w->ready, 0, p->ready_count * sizeof *w->ready);
    memset(w->preds, 0, sizeof w->preds);
    if (p->sass) {
        converge_begin(w, p->barriers);
        sm->accessed &= ~(1ull << slot);
    }
    if (p->control) obey_start(sm, slot);
    if (p->copies) memset(&sm->copies[slot], 0, sizeof *sm->copies);
    if (p->arrives) memset(&sm->arrivals[slot], 0, sizeof *sm->arrivals);
    sm->trying &= ~(1ull << slot);
    uint32_t *special = w->rows + p->registers * 32u, index[3];
    dims_index(dims, b->id, index);
    uint32_t x = first_thread % dims->block[0], y = first_thread / dims->block[0] % dims->block[1],
             z = first_thread / dims->block[0] / dims->block[1];
    for (uint32_t lane = 0; lane < 32; lane++) {
        special[SPECIAL_TID_X * 32 + lane] = x;
        special[SPECIAL_TID_Y * 32 + lane] = y;
        special[SPECIAL_TID_Z * 32 + lane] = z;
        if (++x < dims->block[0]) continue;
        x = 0;
        if (++y == dims->block[1]) y = 0, z++;
    }
    for (uint32_t lane = 0; lane < 32; lane++) {
        special[SPECIAL_CTAID_X * 32 + lane] = index[0];
        special[SPECIAL_CTAID_Y * 32 + lane] = index[1];
        special[SPECIAL_CTAID_Z * 32 + lane] = index[2];
        special[SPECIAL_LANEID * 32 + lane] = lane;
    }
    w->pc = 0;
    w->mask = w->live = lanes == 32 ? ~0u : (1u << lanes) - 1;
    w->rpc = NO_RPC;
    w->depth = 0;
    w->loads_pending = w->accesses_pending = 0;
    w->state = WARP_RUNNING;
}

void begin_block(struct sm *sm, struct block *b, uint64_t t, enum wait kind) {
    uint32_t thread = 0;
    b->started = true;
    b->start = t;
    subcores_place_warps(sm, b->warp_slots);
    sm->order[sm->order_count++] = b->warp_slots;
    if (sm->check) check_start(sm, b);
    if (sm->named) barrier_begin(sm, b);
    if (sm->trace) trace_block(sm, b, TRACE_BEGIN, b->warps_live, t);
    for (uint32_t w = 0; w < MAX_WARPS; w++)
        if (b->warp_slots >> w & 1) {
            start_warp(sm, w, b, thread);
            fetch_begin_warp(sm, w);
            sm->held[w] = 0;
            warp_refresh(sm, w, t, kind);
            thread += 32;
        }
}
