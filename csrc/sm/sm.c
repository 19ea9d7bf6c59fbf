#include "sm/sm.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hints.h"
#include "base/lines.h"
#include "kernel/sass.h"
#include "sm/ahead.h"
#include "sm/ask.h"
#include "sm/check.h"
#include "sm/converge.h"
#include "sm/global.h"
#include "sm/issue.h"
#include "sm/obey.h"
#include "sm/operands.h"
#include "sm/patterns.h"
#include "sm/preload.h"
#include "sm/print.h"
#include "sm/record.h"
#include "sm/room.h"
#include "sm/sass/barrier.h"
#include "sm/sass/copy.h"
#include "sm/sass/mbarrier.h"
#include "sm/sass/routine.h"
#include "sm/scheduler.h"
#include "sm/scoreboard.h"
#include "sm/send.h"
#include "sm/smem.h"
#include "sm/trace.h"

/* ---- construction ------------------------------------------------------------------------ */

/* What is looked at again and again is small enough for the nearer caches of the host: this and
 * the scoreboard, here of 32 warps with 64 registers and 8 predicates. */
_Static_assert(sizeof(struct sm) + 32 * (64 + 8) * (sizeof(uint64_t) + 1) < 65536,
               "hot state of an SM");
_Static_assert(MAX_WARPS == MOST_max_warps_sm && MAX_BLOCKS == MOST_max_blocks_sm &&
                   MAX_SUBCORES == MOST_schedulers && MISS_NONE > MOST_l1_mshrs &&
                   MAX_MISSES == MOST_tex_mshrs,
               "arrays of an SM hold what config.def allows");

/* The next part of an arena, on cache lines of its own; NULL where parts are only counted. */
static void *part(uint8_t *arena, size_t *used, size_t count, size_t size) {
    void *place = arena ? arena + *used : NULL;
    *used += lines_round(count * size);
    *used += lines_fence(arena ? arena + *used : NULL);
    return place;
}

/* Do blocks have more of shared memory than the system keeps of it? */
static bool uses_shared(const struct machine *m) {
    return m->static_smem > m->cfg->smem_reserved || m->dynamic || m->preload;
}

/* Give an SM the arrays that a launch uses throughout from an arena, or none from NULL; returns how
 * many bytes they take. */
static size_t lay_out(struct sm *sm, uint8_t *arena) {
    const struct config *cfg = sm->m->cfg;
    const struct program *p = sm->m->program;
    const struct cache_shape l1 = config_shape(cfg, SHAPE_l1);
    struct warp *end = sm->warps + cfg->max_warps_sm;
    size_t used = 0;
    for (struct warp *w = sm->warps; w < end; w++)
        w->rows = part(arena, &used, p->row_count * 32, sizeof *w->rows);
    for (struct warp *w = sm->warps; w < end; w++)
        w->ready = part(arena, &used, p->ready_count, sizeof *w->ready);
    for (struct warp *w = sm->warps; w < end; w++)
        w->producer = part(arena, &used, p->ready_count, sizeof *w->producer);
    sm->patterns = part(arena, &used, PATTERNS, sizeof *sm->patterns);
    if (p->sass) sm->named = part(arena, &used, MAX_BLOCKS * BARRIERS, sizeof *sm->named);
    if (p->control) {
        const size_t counters = (size_t)cfg->max_warps_sm * DEPENDENCE_COUNTERS;
        sm->dependences = part(arena, &used, cfg->max_warps_sm, sizeof *sm->dependences);
        sm->counters = part(arena, &used, counters, sizeof *sm->counters);
        sm->before_last = part(arena, &used, counters * (p->counted - 1), sizeof *sm->before_last);
    }
    if (p->control && cfg->operand_miss && cfg->icache2_bytes)
        sm->operands = part(arena, &used, 1, sizeof *sm->operands);
    if (p->copies) sm->copies = part(arena, &used, cfg->max_warps_sm, sizeof *sm->copies);
    if (p->arrives) sm->arrivals = part(arena, &used, cfg->max_warps_sm, sizeof *sm->arrivals);
    if (cfg->icache2_bytes)
        sm->asks = part(arena, &used, MAX_ASKS + sm->m->flights, sizeof *sm->asks);
    sm->claims = part(arena, &used, cfg->max_warps_sm, sizeof *sm->claims);
    if (cfg->l1_bytes) sm->claimed = part(arena, &used, 1u << CLAIM_BITS, sizeof *sm->claimed);
    for (struct warp *w = sm->warps; w < end; w++)
        w->stack = part(arena, &used, STACK_DEPTH, sizeof *w->stack);
    for (struct warp *w = sm->warps; p->sass && w < end; w++)
        w->own = part(arena, &used, 1, sizeof *w->own);
    sm->pc_count = sm->m->per_pc ? part(arena, &used, p->count, sizeof *sm->pc_count) : NULL;
    for (uint32_t id = CACHE_DATA; id < CACHE_COUNT; id++) {
        const struct cache_shape shape = smcache_shape(cfg, id);
        if (shape.bytes) sm->caches[id].place = part(arena, &used, cache_bytes(&shape), 1);
    }
    if (cfg->l1_keeps_local)
        sm->caches[CACHE_DATA].words = part(arena, &used, cache_ways(&l1), sizeof(uint32_t));
    sm->l1_data = part(arena, &used, (size_t)cache_ways(&l1) * l1.line, sizeof *sm->l1_data);
    if (uses_shared(sm->m))
        sm->shared = part(arena, &used, cfg->smem_bytes + SMEM_BESIDE, sizeof *sm->shared);
    return used;
}

/* The same of those of which a launch uses the beginning: there is room for all accesses that may
 * ever be on their way. */
static size_t lay_out_sparse(struct sm *sm, uint8_t *arena) {
    const struct machine *m = sm->m;
    const size_t flights = m->flights, tags = m->preload ? preload_tags(m->cfg) : 0;
    struct port *port = sm->port;
    size_t used = 0;
    if (!uses_shared(m))
        sm->shared = part(arena, &used, m->cfg->smem_bytes + SMEM_BESIDE, sizeof *sm->shared);
    sm->accesses = part(arena, &used, flights, sizeof *sm->accesses);
    port->out = part(arena, &used, 2 * flights, sizeof *port->out);
    port->in = part(arena, &used, flights, sizeof *port->in);
    port->ahead = part(arena, &used, tags, sizeof *port->ahead);
    if (m->program->copies) sm->copying = part(arena, &used, flights, sizeof *sm->copying);
    if (m->program->sass && m->program->prints) sm->heap = part(arena, &used, 1, sizeof *sm->heap);
    sm->tags = part(arena, &used, tags, sizeof *sm->tags);
    sm->replies = part(arena, &used, flights, sizeof *sm->replies);
    sm->waiters = part(arena, &used, flights, sizeof *sm->waiters);
    sm->access_next = part(arena, &used, flights, sizeof *sm->access_next);
    port->out_capacity = (uint32_t)(2 * flights);
    port->in_capacity = (uint32_t)flights;
    return used;
}

struct sm_bytes sm_bytes(const struct machine *m) {
    struct port port;
    struct sm counted = {.m = m, .port = &port};
    return (struct sm_bytes){lay_out(&counted, NULL), lay_out_sparse(&counted, NULL)};
}

/* Nothing is allocated while an SM runs. */
enum error sm_init(struct sm *sm, uint32_t id, const struct machine *m, struct port *port,
                   void *used, void *sparse) {
    const struct config *cfg = m->cfg;
    sm->id = id;
    sm->m = m;
    sm->port = port;
    lay_out(sm, used);
    lay_out_sparse(sm, sparse);
    if (m->check && !(sm->check = check_create(m, (enum check_mode)m->check)))
        return ERROR_NO_MEMORY;
    if (m->accesses && !(sm->records = records_create(m->accesses))) return ERROR_NO_MEMORY;
    if (m->trace && !(sm->trace = trace_create(m->trace))) return ERROR_NO_MEMORY;
    sm->observed = sm->pc_count || sm->check || sm->records;
    if (m->program->prints && !(sm->prints = calloc(1, sizeof *sm->prints))) return ERROR_NO_MEMORY;
    sm->access_free = m->flights;
    sm->waiter_free = CACHE_NONE;
    for (uint32_t w = 0; w < cfg->max_warps_sm; w++) sm->ready_at[w] = NEVER;
    sm->stale = ~0u;
    sm->credits = (int32_t)cfg->credits;
    smm_init(&sm->smm, cfg->smem_bytes, cfg->smm_unit);
    if (m->dynamic) smm_reserve(&sm->smm, m->program->meta.dynamic_bytes);
    subcores_start(sm);
    sm->issue = issue_of(sm);
    fetch_init(sm);
    return smcache_init(sm);
}

void sm_free(struct sm *sm) {
    smcache_free(sm);
    check_free(sm->check);
    free(sm->prints);
    free(sm->records);
    free(sm->trace);
}

/* ---- replies ----------------------------------------------------------------------------- */

/* Replies have a total order, so that it does not matter in which order those of one cycle came:
 * lines of the program, which may replace each other, by their addresses, and then the rest. */
static bool earlier(struct reply a, struct reply b) {
    if (a.cycle != b.cycle) return a.cycle < b.cycle;
    const bool code = a.access->cache == CACHE_CODE, other = b.access->cache == CACHE_CODE;
    if (code != other) return code;
    return code ? a.access->addr[0] < b.access->addr[0] : a.access < b.access;
}

/* Put a reply in its place, looked for from the back: nearly all come in order. */
static void add_reply(struct sm *sm, struct reply r) {
    uint32_t i = sm->reply_end++;
    for (; i > sm->reply_first && earlier(r, sm->replies[i - 1]); i--)
        sm->replies[i] = sm->replies[i - 1];
    sm->replies[i] = r;
}

/* Take the replies of a window over from the port. There is room for all once those that are left
 * have moved to the front. */
static void take_replies(struct sm *sm) {
    struct port *port = sm->port;
    if (!port->in_count) return;
    assert(sm->reply_end - sm->reply_first + port->in_count <= port->in_capacity);
    sm->reply_end -= sm->reply_first;
    memmove(sm->replies, sm->replies + sm->reply_first, sm->reply_end * sizeof *sm->replies);
    sm->reply_first = 0;
    for (uint32_t i = 0; i < port->in_count; i++) {
        __builtin_prefetch(port->in[i].access, 1);
        add_reply(sm, port->in[i]);
    }
    port->in_count = 0;
    if (sm->m->program->control) ahead_window(sm);
}

/* ---- scoreboard -------------------------------------------------------------------------- */

/* Code that the compiler brings along has no lines: the call that has led there, if a register says
 * where that was. */
static uint32_t called_from(const struct sm *sm, const struct warp *w, uint32_t lane) {
    const struct program *p = sm->m->program;
    if (p->line[w->pc] || !p->control || p->registers <= LAST_ARGUMENT) return w->pc;
    const uint32_t back = w->rows[(LAST_ARGUMENT - 1) * 32u + lane] / INSN_BYTES;
    return back && back <= p->count && sass_calls(&p->code[back - 1]) ? back - 1 : w->pc;
}

void sm_fault(struct sm *sm, uint32_t warp, uint32_t lane, uint64_t cycle, enum error code) {
    const struct warp *w = &sm->warps[warp];
    struct fault *f = &sm->fault;
    if (f->code != OK) return;
    f->code = code;
    f->cycle = cycle;
    f->placed = true;
    f->sm = sm->id;
    f->warp = warp;
    f->lane = lane;
    f->pc = called_from(sm, w, lane);
    f->line = sm->m->program->line[f->pc];
    f->array = -1;
    const uint32_t *special = w->rows + sm->m->program->registers * 32u;
    for (uint32_t d = 0; d < 3; d++) {
        f->thread[d] = special[(SPECIAL_TID_X + d) * 32 + lane];
        f->block[d] = special[(SPECIAL_CTAID_X + d) * 32 + lane];
    }
}

/* Deliver the next reply. */
static void reply_due(struct sm *sm) {
    const struct reply r = sm->replies[sm->reply_first++];
    /* Lines of the program may have been asked for ahead, and come when the grid has ended. */
    if (r.cycle > sm->last_activity && r.access->cache != CACHE_CODE) sm->last_activity = r.cycle;
    global_reply(sm, &r);
}

/* ---- time -------------------------------------------------------------------------------- */

/* Deliver a reply or start a block, whichever is first. */
static void event_due(struct sm *sm, uint64_t event) {
    assert(event >= sm->now);
    sm->now = event;
    if (sm_has_reply(sm) && sm->replies[sm->reply_first].cycle == event) reply_due(sm);
    else block_start_due(sm);
}

uint64_t sm_next(const struct sm *sm) {
    const uint64_t start = sm->pending_count ? sm->pending[0].cycle : NEVER;
    return start < sm->next ? start : sm->next;
}

/* No reply comes for a cycle to which the SM has run. */
static void check_replies(const struct sm *sm) {
    for (uint32_t i = 0; i < sm->port->in_count; i++)
        assert(sm->port->in[i].cycle >= sm->reach || sm->reach == NEVER);
}

static void advance(struct sm *sm, uint64_t end, bool replaced) {
    check_replies(sm);
    sm->reach = end;
    sm->replaced = replaced;
    if (sm->finished_count) block_await_next(sm, sm->finished[0]);
    if (!sm->port->in_count && sm_next(sm) >= sm->reach) return;
    take_replies(sm);
    for (;;) {
        const uint64_t t = sm->issue(sm), event = sm_event(sm);
        if (sm->fault.code != OK) break;
        if (event < sm->reach && event <= t) {
            event_due(sm, event);
        } else if (t >= sm->reach) {
            sm->next = event < t ? event : t;
            scoreboard_check(sm);
            smcache_check(sm);
            tiles_check(sm);
            return;
        }
    }
    sm->next = sm->reach = NEVER;
}

/* Stop at the end of each interval of the time line, too. That changes nothing, since windows may
 * be of any length. */
NOINLINE static void advance_traced(struct sm *sm, uint64_t end, bool replaced) {
    while (sm->trace->next < end) {
        const uint64_t stop = sm->trace->next;
        advance(sm, ask_bound(sm, stop), replaced);
        if (sm->reach < stop || sm->fault.code != OK) return;
        trace_sample(sm);
    }
    advance(sm, ask_bound(sm, end), replaced);
}

void sm_run(struct sm *sm, uint64_t end, bool replaced) {
    if (sm->trace) advance_traced(sm, end, replaced);
    else advance(sm, end, replaced);
    if (sm->stores.stay && sm->fault.code == OK) send_settle(sm, sm->reach - 1);
}

void sm_close(struct sm *sm, uint64_t end) {
    const uint32_t schedulers = sm->m->cfg->schedulers;
    /* What its last block has left shows at the end of that interval, however far it has run. */
    if (sm->trace && sm->trace->next < end) trace_sample(sm);
    for (int id = CACHE_DATA; id < CACHE_COUNT; id++)
        if (sm->caches[id].present) cache_check(&sm->caches[id].cache);
    sm->count.scheduler_cycles = end * schedulers;
    for (uint32_t i = 0; i < schedulers; i++) {
        const uint64_t slot = sm->subcores[i].slot, paid = slot > sm->paid ? slot : sm->paid;
        if (paid < end) sm->count.idle_no_block += end - paid;
        else sm->count.issue_cycles -= paid - end;
    }
    if (sm->trace) trace_close(sm, end);
}
