#include "sm/block.h"

#include <assert.h>
#include <string.h>

#include "kernel/control_bits.h"
#include "sm/begin.h"
#include "sm/check.h"
#include "sm/management.h"
#include "sm/obey.h"
#include "sm/preload.h"
#include "sm/record.h"
#include "sm/room.h"
#include "sm/sass/barrier.h"
#include "sm/sass/copy.h"
#include "sm/scoreboard.h"
#include "sm/trace.h"

/* ---- start ------------------------------------------------------------------------------- */

/* The lowest free warp slots, so many. */
static uint64_t reserve_warps(const struct sm *sm, uint32_t count) {
    uint64_t slots = 0;
    for (uint32_t w = 0; w < sm->m->cfg->max_warps_sm && count; w++)
        if (sm->warps[w].state == WARP_FREE) slots |= 1ull << w, count--;
    assert(count == 0);
    return slots;
}

void block_add(struct sm *sm, uint32_t block, uint64_t cycle) {
    assert(sm->pending_count < MAX_BLOCKS);
    uint32_t i = sm->pending_count++; /* the first blocks, given out one by one, may start later */
    for (; i && sm->pending[i - 1].cycle > cycle; i--) sm->pending[i] = sm->pending[i - 1];
    sm->pending[i] = (struct coming_block){cycle, block};
}

/* Give a block that is due a slot and warps. It gets them now and not when it was announced, so
 * that which ones does not depend on when that was. */
static struct block *place_block(struct sm *sm, struct coming_block start) {
    uint32_t slot = 0;
    while (sm->blocks[slot].used) slot++;
    assert(slot < sm->m->cfg->max_blocks_sm);
    struct block *b = &sm->blocks[slot];
    *b = (struct block){.used = true,
                        .id = start.block,
                        .start = start.cycle,
                        .first_define = NEVER,
                        .warps_live = sm->m->warps_per_block};
    b->warp_slots = reserve_warps(sm, sm->m->warps_per_block);
    subcores_deal_warps(sm, b->warp_slots);
    for (uint32_t w = 0; w < MAX_WARPS; w++)
        if (b->warp_slots >> w & 1) {
            sm->warps[w].state = WARP_STARTING;
            sm->warps[w].block = (uint8_t)slot;
            warp_sleep(sm, w, WAIT_START);
            if (w >= sm->warp_limit) sm->warp_limit = w + 1;
        }
    if (sm->m->preload) tiles_measure(sm, b);
    if (sm->trace) trace_come(sm, b, start.cycle);
    return b;
}

void block_fault(struct sm *sm, const struct block *b, enum error code) {
    struct fault *f = &sm->fault;
    assert(f->code == OK);
    *f = (struct fault){.code = code,
                        .cycle = sm->now,
                        .sm = sm->id,
                        .warp = (uint32_t)__builtin_ctzll(b->warp_slots),
                        .pc = b->started ? b->barrier_pc : 0,
                        .array = -1};
    f->line = sm->m->program->line[f->pc];
    dims_index(&sm->m->dims, b->id, f->block);
}

/* ---- shared memory ----------------------------------------------------------------------- */

uint64_t block_leaves(const struct sm *sm, uint32_t warp, uint64_t open, uint32_t before) {
    const struct config *cfg = sm->m->cfg;
    const struct program *p = sm->m->program;
    const uint64_t at = open + cfg->lat_bar + before * cfg->bar_interval;
    if (!p->control) return at;
    const struct control_bits *next = &p->control[sm->warps[warp].pc];
    uint64_t arithmetic = 0;
    for (; next->simple && arithmetic < at - open; next++) arithmetic += next->stall;
    return arithmetic < at - open ? at - arithmetic : open + 1;
}

/* Let the warps go on that wait at the block's barrier. */
static void release_warps(struct sm *sm, const struct block *b, uint64_t open, enum wait kind) {
    const struct config *cfg = sm->m->cfg;
    const bool control = sm->m->program->control != NULL;
    uint64_t at = open + cfg->lat_bar;
    uint32_t gone = 0;
    for (uint32_t w = 0; w < sm->warp_limit; w++)
        if ((b->warp_slots >> w & 1) && sm->warps[w].state == WARP_BARRIER) {
            sm->warps[w].state = WARP_RUNNING;
            warp_refresh(sm, w, control ? block_leaves(sm, w, open, gone++) : at, kind);
            at += cfg->bar_interval;
        }
}

/* Regions run from a grant, or from the completion of an opening barrier, to the completion of
 * the closing one; isolating barriers open and close in turn. */
static void open_region(struct block *b, uint64_t t) {
    b->region = true;
    b->opened = t;
}

static void close_region(struct sm *sm, struct block *b, uint64_t t) {
    if (b->region) sm->count.region_cycles += t - b->opened;
    b->region = false;
}

/* Give a waiting block the part it asks for, at the place that the management says; false: it waits
 * on. */
static bool take_part(struct sm *sm, const struct block *b, uint32_t *at) {
    const uint32_t bytes = management_bytes(sm, b);
    *at = 0; /* of a static part of 0 bytes, which needs no place */
    if ((bytes || b->started) && !sm->m->management->place(sm, b, at)) return false;
    smm_take(&sm->smm, b->id, bytes, b->started, *at);
    return true;
}

static bool serve_start(struct sm *sm, struct block *b, uint64_t t) {
    uint32_t at;
    if (!subcores_have_room(sm, b->warp_slots)) {
        b->crowded = true;
        return false;
    }
    if (b->crowded) t += sm->m->cfg->block_start; /* as any block behind one that has ended */
    if (!sm->m->management->may_start(sm, b) || (sm->m->preload && tiles_wait(sm, b)) ||
        !take_part(sm, b, &at))
        return false;
    b->static_base = at;
    b->dynamic_base = at + ((sm->m->program->meta.shared_bytes + 3) & ~3u);
    b->start = t;
    if (sm->trace) trace_block(sm, b, TRACE_PLACE, at, t);
    if (sm->m->preload) tiles_open(sm, b, t);
    if (!b->held) begin_block(sm, b, t, WAIT_START);
    return true;
}

static bool serve_allocation(struct sm *sm, struct block *b, uint64_t t) {
    uint32_t at;
    if (!take_part(sm, b, &at)) return false;
    b->dynamic_base = at;
    b->holds = true;
    if (sm->check) check_grant(sm, b);
    if (sm->trace) trace_grant(sm, b, t);
    open_region(b, t);
    sm->count.allocations++;
    sm->count.allocation_wait_cycles += t - b->arrival;
    if (t > b->arrival) sm->count.allocation_waits++;
    release_warps(sm, b, t, t > b->arrival ? WAIT_ALLOCATION : WAIT_BARRIER);
    return true;
}

/* The slots of blocks that may be asked, in order of arrival: those that start, that allocate, or
 * both. */
static uint32_t candidates(const struct sm *sm, const bool stuck[2], uint32_t slots[MAX_BLOCKS]) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < sm->queue_count; i++)
        if (!stuck[sm->blocks[sm->queue[i]].started]) slots[count++] = sm->queue[i];
    return count;
}

static void leave_queue(struct sm *sm, uint32_t slot) {
    uint32_t i = 0;
    while (sm->queue[i] != slot) i++;
    sm->queue_count--;
    memmove(sm->queue + i, sm->queue + i + 1, (sm->queue_count - i) * sizeof *sm->queue);
}

/* The waiting block that is to be served next, by the management; NULL: there is none, or the
 * management has failed. */
static struct block *next_block(struct sm *sm, const bool stuck[2]) {
    uint32_t slots[MAX_BLOCKS], index = 0;
    const uint32_t count = candidates(sm, stuck, slots);
    if (count == 0 || sm->fault.code != OK) return NULL;
    if (count > 1) index = sm->m->management->next(sm, slots, count);
    assert(index < count);
    return sm->fault.code == OK ? &sm->blocks[slots[index]] : NULL;
}

/* Serve waiting blocks until none can be served. Serving one may let another start, since one block
 * fewer waits. */
static void serve_queue(struct sm *sm, uint64_t t) {
    bool stuck[2] = {false, false};
    struct block *b;
    while ((b = next_block(sm, stuck)) != NULL) {
        const bool started = b->started;
        if ((started ? serve_allocation : serve_start)(sm, b, t)) {
            leave_queue(sm, (uint32_t)(b - sm->blocks));
            stuck[0] = stuck[1] = false;
        } else {
            stuck[started] = true;
        }
    }
}

/* Let a block wait for its part, if it has to. */
static void request(struct sm *sm, struct block *b, uint64_t t) {
    b->arrival = t;
    assert(sm->queue_count < MAX_BLOCKS);
    sm->queue[sm->queue_count++] = (uint32_t)(b - sm->blocks);
    serve_queue(sm, t);
}

static void release_grid(struct sm *sm, uint64_t t);

void block_start_due(struct sm *sm) {
    const struct coming_block start = sm->pending[0];
    sm->pending_count--;
    memmove(sm->pending, sm->pending + 1, sm->pending_count * sizeof *sm->pending);
    if (start.block == GRID_RELEASE) release_grid(sm, start.cycle);
    else request(sm, place_block(sm, start), start.cycle);
}

/* Take a block's dynamic part back. */
static void release(struct sm *sm, struct block *b, uint64_t t) {
    const bool found = smm_release(&sm->smm, b->dynamic_base);
    assert(found);
    (void)found;
    b->holds = false;
    if (sm->trace) trace_release(sm, b, t);
    serve_queue(sm, t);
}

/* ---- barriers ---------------------------------------------------------------------------- */

/* Does the block wait at a barrier of the whole grid? */
static bool waits_for_grid(const struct block *b) {
    return b->used && b->barrier == BAR_GRID && b->arrived && b->arrived == b->warps_live;
}

/* All live warps of a block have arrived at a barrier of the grid. The block counts as arrived when
 * all its accesses are answered, which makes its stores visible to the others. */
static void arrive_at_grid(struct sm *sm, const struct block *b, uint64_t t) {
    if (b->accesses_pending) return;
    sm->grid_arrived++;
    if (t > sm->grid_arrival) sm->grid_arrival = t;
}

/* All live warps of a block have arrived: do what the barrier is for, and let them go on. */
static void complete_barrier(struct sm *sm, struct block *b, uint64_t t) {
    const enum bar_option option = (enum bar_option)b->barrier;
    if (option == BAR_GRID && !b->released) {
        arrive_at_grid(sm, b, t);
        return;
    }
    b->released = false;
    if (sm->check) check_interval(sm, b, t);
    if (sm->trace) trace_barrier(sm, b, t);
    sm->count.barriers++;
    sm->count.barrier_wait_cycles += b->arrived * t - b->arrivals;
    b->arrived = 0;
    b->arrivals = 0;
    if (!b->synced) sm->count.first_barrier_cycles += t - b->start;
    b->synced = true;
    if (option == BAR_ALLOC && sm->m->dynamic) {
        for (uint32_t w = 0; w < sm->warp_limit; w++)
            if ((b->warp_slots >> w & 1) && sm->warps[w].state == WARP_BARRIER)
                sm->wait[w] = WAIT_ALLOCATION;
        if (sm->trace) trace_ask(sm, b, t);
        request(sm, b, t);
        return;
    }
    if (option == BAR_RELEASE || (b->isolating && b->region)) close_region(sm, b, t);
    else if (option == BAR_ALLOC || b->isolating) open_region(b, t);
    if (option == BAR_RELEASE && sm->m->dynamic) release(sm, b, t);
    if (sm->named) barrier_reduced(sm, b);
    release_warps(sm, b, t, WAIT_BARRIER);
}

/* All blocks of the grid have arrived. Those of other SMs have stored what the L1 may hold an older
 * copy of. */
static void release_grid(struct sm *sm, uint64_t t) {
    if (sm->caches[CACHE_DATA].present) cache_clear(&sm->caches[CACHE_DATA].cache);
    room_all_lines(sm);
    sm->grid_arrival = 0;
    for (uint32_t slot = 0; slot < MAX_BLOCKS; slot++) {
        struct block *b = &sm->blocks[slot];
        if (!waits_for_grid(b)) continue;
        b->released = true;
        complete_barrier(sm, b, t);
    }
}

/* What is wrong with a warp's arrival at a barrier. */
static enum error check_barrier(const struct sm *sm, const struct warp *w, const struct block *b,
                                const struct uop *u) {
    if (w->mask != w->live && !sm->m->program->sass) return ERROR_DIVERGENT_BARRIER;
    if (b->arrived && b->barrier != u->sub) return ERROR_MIXED_BARRIER;
    if (!sm->m->dynamic) return OK;
    if (u->sub == BAR_ALLOC && b->holds) return ERROR_NESTED_ALLOCATION;
    if (u->sub == BAR_ALLOC && (uint32_t)u->imm > sm->m->program->meta.dynamic_bytes)
        return ERROR_ALLOCATION_TOO_LARGE;
    if (u->sub == BAR_RELEASE && !b->holds) return ERROR_UNMATCHED_RELEASE;
    return OK;
}

void block_arrive(struct sm *sm, uint32_t warp, const struct uop *u, uint64_t t) {
    struct warp *w = &sm->warps[warp];
    struct block *b = &sm->blocks[w->block];
    const enum error e = check_barrier(sm, w, b, u);
    if (e) {
        sm_fault(sm, warp, (uint32_t)__builtin_ctz(w->mask), t, e);
        return;
    }
    if (sm->check) check_arrival(sm, warp, t);
    if (sm->records) record_arrival(sm, warp, t);
    b->barrier = u->sub;
    b->isolating = u->flags & INSN_ISOLATE;
    if (u->sub == BAR_ALLOC) b->dynamic_bytes = (uint32_t)u->imm;
    assert(w->state == WARP_RUNNING && b->arrived < b->warps_live);
    b->barrier_pc = w->pc;
    w->state = WARP_BARRIER;
    warp_goto(w, w->pc + 1);
    warp_sleep(sm, warp, WAIT_BARRIER);
    if (sm->m->preload) tiles_pass(sm, warp);
    if (sm->trace) trace_arrive(sm, b, warp, t);
    b->arrivals += t;
    if (++b->arrived == b->warps_live) complete_barrier(sm, b, t);
}

/* ---- end --------------------------------------------------------------------------------- */

/* A block that ends has no age any more. */
static void forget_order(struct sm *sm, uint64_t warp_slots) {
    uint32_t i = 0;
    while (sm->order[i] != warp_slots) i++;
    sm->order_count--;
    memmove(sm->order + i, sm->order + i + 1, (sm->order_count - i) * sizeof *sm->order);
}

/* Stop where the block may start that replaces one which ended at that cycle: it has yet to be
 * known. */
void block_await_next(struct sm *sm, uint64_t end) {
    const uint64_t start = end + sm->m->cfg->block_start;
    if (sm->replaced && start < sm->reach) sm->reach = start;
}

/* Give back what a block held; the dispatcher will hear of its end. */
static void finish(struct sm *sm, struct block *b, uint64_t t) {
    forget_order(sm, b->warp_slots);
    if (sm->m->static_smem) smm_release(&sm->smm, b->static_base);
    if (b->tile_lines) tiles_close(sm, b, t);
    if (sm->trace) trace_block(sm, b, TRACE_END, 0, t);
    for (uint32_t w = 0; w < sm->warp_limit; w++)
        if (b->warp_slots >> w & 1) sm->warps[w].state = WARP_FREE;
    b->used = false;
    sm->count.blocks++;
    sm->count.block_cycles += t - b->start;
    if (b->last_use > b->first_define)
        sm->count.shared_span_cycles += b->last_use - b->first_define;
    assert(sm->finished_count < MAX_BLOCKS);
    sm->finished[sm->finished_count++] = t;
    block_await_next(sm, t);
    if (t > sm->last_end) sm->last_end = t;
    if (t > sm->last_activity) sm->last_activity = t;
    serve_queue(sm, t);
}

/* Are all accesses of a block that it has to wait for answered? Where stores are posted, these are
 * loads; code that copies to shared memory waits for all. */
static bool are_answered(const struct sm *sm, const struct block *b) {
    if (!b->accesses_pending) return true;
    if (!sm->m->cfg->exit_posted || sm->m->program->copies) return false;
    uint32_t loads = 0;
    for (uint64_t left = b->warp_slots; left; left &= left - 1)
        loads += sm->warps[__builtin_ctzll(left)].loads_pending;
    return !loads;
}

/* Let the stores of a block that ends go on without it. */
NOINLINE static void leave_stores(struct sm *sm, struct block *b) {
    for (uint64_t left = b->warp_slots; left; left &= left - 1) {
        const uint32_t w = (uint32_t)__builtin_ctzll(left);
        if (!sm->warps[w].accesses_pending) continue;
        sm->late += sm->warps[w].accesses_pending;
        sm->warps[w].accesses_pending = 0;
        sm->tenant[w]++;
    }
    b->accesses_pending = 0;
}

/* A block ends when its last warp has exited, its accesses are answered and its tile is complete.
 */
static void finish_if_done(struct sm *sm, struct block *b, uint64_t t) {
    if (b->warps_live || b->tile_pending || !are_answered(sm, b)) return;
    if (b->accesses_pending) leave_stores(sm, b);
    finish(sm, b, t);
}

void block_tile_moved(struct sm *sm, uint32_t block, uint64_t t) {
    struct block *b = &sm->blocks[block];
    if (b->tile_pending) return;
    if (b->held) {
        b->held = false;
        sm->count.preload_held_cycles += t - b->start;
        begin_block(sm, b, t, WAIT_PRELOAD);
    } else if (!b->tile_users) {
        tiles_close(sm, b, t);
        sm->count.preload_released++;
        serve_queue(sm, t);
    }
    finish_if_done(sm, b, t);
}

void block_warp_exit(struct sm *sm, uint32_t warp, uint64_t t) {
    struct warp *w = &sm->warps[warp];
    struct block *b = &sm->blocks[w->block];
    if (b->holds && b->warps_live == 1) {
        sm_fault(sm, warp, 0, t, ERROR_UNRELEASED);
        return;
    }
    w->state = WARP_EXITED;
    warp_sleep(sm, warp, WAIT_OTHER);
    if (sm->m->preload) tiles_exit(sm, warp);
    sm->count.warps++;
    b->warps_live--;
    if (sm->trace) trace_exit(sm, b, warp, t);
    if (b->warps_live && b->arrived == b->warps_live) complete_barrier(sm, b, t);
    if (sm->named) barrier_exited(sm, b, t);
    finish_if_done(sm, b, t);
}

void block_access_done(struct sm *sm, uint32_t block, uint64_t t) {
    struct block *b = &sm->blocks[block];
    b->accesses_pending--;
    if (!b->accesses_pending && waits_for_grid(b)) arrive_at_grid(sm, b, t);
    finish_if_done(sm, b, t);
}
