#include "sm/global.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "base/hints.h"
#include "kernel/sass.h"
#include "sm/ahead.h"
#include "sm/ask.h"
#include "sm/check.h"
#include "sm/constants.h"
#include "sm/lsu.h"
#include "sm/obey.h"
#include "sm/patterns.h"
#include "sm/pipe.h"
#include "sm/places.h"
#include "sm/preload.h"
#include "sm/record.h"
#include "sm/room.h"
#include "sm/sass/copy.h"
#include "sm/scoreboard.h"
#include "sm/send.h"
#include "sm/smem.h"

/* ---- global and local memory ------------------------------------------------------------- */

static bool is_store(uint32_t op) { return op == OP_ST_GLOBAL || op == OP_ST_LOCAL; }

struct access *global_new_access(struct sm *sm) {
    uint32_t i = sm->access_free;
    if (i < sm->m->flights) sm->access_free = sm->access_next[i];
    else i = sm->access_fresh++;
    assert(i < sm->m->flights); /* there is one for all in flight */
    struct access *a = &sm->accesses[i];
    ahead_access(sm);
    a->sink = SINK_REGISTERS;
    a->cache = 0;
    a->joined = 0;
    a->dst[0] = OPERAND_NONE;
    return a;
}

void global_free_access(struct sm *sm, struct access *a) {
    const uint32_t i = (uint32_t)(a - sm->accesses);
    sm->access_next[i] = (uint16_t)sm->access_free;
    sm->access_free = i;
}

static enum access_kind kind_of(uint32_t op) {
    if (op == OP_TEX) return ACCESS_TEXTURE;
    if (op == OP_LD_CONST) return ACCESS_FETCH;
    return places_load(op) ? ACCESS_LOAD : is_store(op) ? ACCESS_STORE : ACCESS_ATOM;
}

/* The operands of an atomic of 16 bytes: the second one waits in the registers of the old value. */
NOINLINE static void describe_quads(const struct memop *op, struct access *a) {
    const struct lanes lanes = memop_lanes(op);
    const struct uop *u = op->u;
    uint32_t second[4][32];
    for (uint32_t i = 0; i < 4; i++) {
        memcpy(a->data[i], operand_row(&lanes, u->swap[0] + i), sizeof a->data[i]);
        memcpy(second[i], operand_row(&lanes, u->swap[1] + i), sizeof second[i]);
    }
    for (uint32_t i = 0; i < 4 && u->sub == ATOM_CAS128; i++)
        for (uint32_t left = op->active; left; left &= left - 1) {
            const uint32_t lane = bits_lowest(left);
            access_row(a, i)[lane] = second[i][lane];
        }
}

/* Write the instruction down as a record of its own, which outlives its issue. */
static struct access *describe(struct memop *op, const struct buffer *buffer) {
    struct access *a = global_new_access(op->sm);
    memcpy(a->addr, op->addr, sizeof a->addr);
    a->rows = op->w->rows;
    a->buffer = buffer;
    a->mask = op->active;
    a->warp = (uint16_t)op->warp;
    a->tenant = op->sm->tenant[op->warp];
    a->width = op->u->width;
    a->sub = op->u->sub;
    a->flags = (uint8_t)((op->u->flags & INSN_SIGNED) | (op->whole ? ACCESS_WHOLE : 0));
    a->kind = (uint8_t)kind_of(op->u->op);
    for (uint32_t i = 0; i < 4; i++)
        a->dst[i] = i < op->u->dst_count ? op->u->data[i] : OPERAND_NONE;
    if (a->kind == ACCESS_STORE) {
        const uint32_t *rows[4];
        lsu_data_rows(op, rows);
        for (uint32_t i = 0; i < memop_words(a->width); i++)
            memcpy(a->data[i], rows[i], sizeof a->data[i]);
    } else if (a->kind == ACCESS_ATOM && a->width == 16) {
        describe_quads(op, a);
    } else if (a->kind == ACCESS_ATOM) {
        const struct lanes lanes = memop_lanes(op);
        const struct uop *u = op->u;
        const uint16_t wide[4] = {u->data[2], u->data[3], u->swap[0], u->swap[1]};
        const uint16_t words[2] = {u->b, u->c};
        const bool is_wide = a->width == 8;
        for (uint32_t i = 0; i < (is_wide ? 4 : 2); i++)
            memcpy(a->data[i], operand_row(&lanes, is_wide ? wide[i] : words[i]),
                   sizeof a->data[i]);
    }
    return a;
}

/* Tell the counts per instruction, the checks and the records of an access. */
NOINLINE static void note_global(struct memop *op, const struct segment *seg, uint32_t n) {
    if (op->sm->pc_count) {
        struct pc_counters *c = &op->sm->pc_count[op->pc];
        c->transactions += n;
        for (uint32_t i = 0; i < n; i++) c->moved += seg[i].bytes;
        c->bytes += bits_count(op->active) * op->u->width;
    }
    if (op->sm->check) check_global(op);
    if (op->sm->records && op->u->op != OP_LD_LOCAL && op->u->op != OP_ST_LOCAL)
        record_access(op, 0);
}

static ALWAYS_INLINE void count_global(struct memop *op, const struct segment *seg, uint32_t n) {
    struct counters *c = &op->sm->count;
    const uint32_t bytes = bits_count(op->active) * op->u->width;
    if (op->u->op == OP_TEX) c->texture_accesses++;
    else if (op->u->op == OP_LD_LOCAL || op->u->op == OP_ST_LOCAL) c->local_accesses++;
    else if (places_load(op->u->op)) c->global_loads++, c->global_bytes += bytes;
    else if (is_store(op->u->op)) c->global_stores++, c->global_bytes += bytes;
    else c->atomics++, c->global_bytes += bytes;
    if (op->sm->observed) note_global(op, seg, n);
}

static ALWAYS_INLINE uint32_t send_all(struct memop *op, struct access *a,
                                       const struct segment *seg, uint32_t n, uint64_t at,
                                       uint32_t apart) {
    struct counters *c = &op->sm->count;
    for (uint32_t i = 0; i < n; i++, at += apart) {
        send_packet(op->sm, a, seg[i].addr, seg[i].bytes, seg[i].lanes, at);
        c->transaction_bytes += seg[i].bytes;
    }
    c->transactions += n;
    return n;
}

/* Does the L1 have to hear of an access that it does not serve? */
static bool passes_l1(const struct memop *op) {
    if (!places_load(op->u->op)) return true;
    return op->sm->m->cfg->l1_updates && op->u->op == OP_LD_GLOBAL && sass_is_strong(op->u);
}

/* The cache that serves this instruction, 0 for none. Textures have one of their own; the L1 serves
 * global and local loads on Fermi, local ones on Kepler (coalesce_l1). */
static uint32_t cache_of(const struct memop *op) {
    const struct sm *sm = op->sm;
    if (op->copy) return 0;
    if (op->u->op == OP_TEX) return sm->caches[CACHE_TEXTURE].present ? CACHE_TEXTURE : 0;
    if (!sm->caches[CACHE_DATA].present) return 0;
    return op->u->op == OP_LD_LOCAL ||
                   (op->u->op == OP_LD_GLOBAL && sm->m->cfg->coalesce_l1 && !sass_is_strong(op->u))
               ? CACHE_DATA
               : 0;
}

/* The transactions, or the lines of a cache, that some lanes ask for; returns how many. */
static ALWAYS_INLINE uint32_t segments_of(struct memop *op, enum sm_cache_id cache, uint32_t lanes,
                                          struct segment seg[COALESCE_MAX_SEGMENTS]) {
    const struct sm *sm = op->sm;
    const struct config *cfg = sm->m->cfg;
    const uint32_t line = cache ? 1u << sm->caches[cache].cache.line_shift : 0;
    const bool store = !places_load(op->u->op);
    op->whole = op->u->width == 4 && lanes == 0xffffffffu &&
                (!op->spanned || op->highest - op->lowest == 124) && coalesce_is_line(op->addr);
    if (op->whole && line == 128) {
        *seg = (struct segment){op->addr[0], 128, lanes};
        return 1;
    }
    if (cache && op->spanned && (op->lowest ^ op->highest) < line && lanes) {
        *seg = (struct segment){op->lowest & ~(line - 1), line, lanes};
        return 1;
    }
    if (cache) return coalesce_lines(op->addr, lanes, line, seg);
    return op->whole ? coalesce_whole(cfg, op->addr[0], store, seg)
                     : coalesce(cfg, op->addr, lanes, op->u->width, store, seg);
}

/* Perform a texture load at once: values are those at launch, since the program may not write the
 * array (launch.c). */
static void read_now(struct access *a) { access_perform(a, a->mask); }

/* The access is under way: take its credits, and let its registers wait for the replies. */
static void await(struct memop *op, struct access *a, uint32_t pending) {
    struct sm *sm = op->sm;
    assert(pending <= COALESCE_MAX_SEGMENTS && !(sm->claiming >> op->warp & 1));
    a->pending = (uint16_t)pending;
    sm->credits -= (int32_t)pending;
    sm->count.flight_cycles -=
        pending * op->t; /* global_segment_done adds the times of the replies */
    op->w->accesses_pending++;
    sm->blocks[op->w->block].accesses_pending++;
    if (op->u->dst_count) op->w->loads_pending++;
    obey_load(sm, op->w, op->u->data, op->u->dst_count);
    lsu_set_ready(op, READY_PENDING, a->kind == ACCESS_FETCH ? WAIT_SHARED : WAIT_GLOBAL);
}

/* Let the loaded values, which are in the registers already, be used from t on; constants when they
 * have gone through the pipeline. */
static ALWAYS_INLINE void set_ready(struct sm *sm, const struct access *a, uint64_t t) {
    struct warp *w = &sm->warps[a->warp];
    const bool constant = a->kind == ACCESS_FETCH;
    if (constant) t += a->data[0][0];
    for (uint32_t i = 0; i < 4 && a->dst[i] != OPERAND_NONE; i++) {
        if (obey_loads(sm, w, a->dst[i])) continue;
        w->ready[a->dst[i]] = t;
        w->producer[a->dst[i]] = constant ? WAIT_SHARED : WAIT_GLOBAL;
    }
}

/* Has the warp's block a tile that may hold what this instruction loads? */
static bool has_tile(const struct memop *op) {
    const struct preload *p = op->sm->m->preload;
    return p && p->loads[op->pc] && op->sm->blocks[op->w->block].tile_lines;
}

/* The instruction has issued: its values come with what is pending, or are there at a cycle. */
static ALWAYS_INLINE void issued(struct memop *op, struct access *a, uint32_t pending,
                                 uint64_t ready) {
    if (pending) {
        await(op, a, pending);
    } else {
        set_ready(op->sm, a, ready);
        global_free_access(op->sm, a);
    }
    if (!op->follows) memop_next(op);
}

/* Issue an access without active lanes, which holds its unit and does nothing else. */
static bool issue_empty(struct memop *op) {
    lsu_charge(op, op->sm->m->cfg->issue_global, 1);
    memop_next(op);
    if (op->sm->m->preload) tiles_pass(op->sm, op->warp);
    return true;
}

/* What an access takes of the pipe: clocks in all; rounds of tags beside the first, and passes of
 * the banks, by which values come later. */
struct charge {
    uint32_t clocks, rounds, passes;
};

/* Lines are looked up in several banks of tags at once, beside the banks of their words. */
NOINLINE static struct charge l1_charge(const struct memop *op, uint32_t lanes,
                                        const struct segment *seg, uint32_t n) {
    const struct config *cfg = op->sm->m->cfg;
    const uint32_t line_shift = op->sm->caches[CACHE_DATA].cache.line_shift;
    if (n == 1 && op->u->width <= 4 && cfg->smem_rule == 9 && cfg->smem_banks << 2 >> line_shift)
        return (struct charge){1, 0, 1}; /* a line is no wider than a pass */
    const uint32_t rounds = coalesce_tags(seg, n),
                   passes = smem_recall_cached(&op->sm->patterns[op->pc % PATTERNS], cfg, op->addr,
                                               lanes, op->u->width);
    return (struct charge){rounds > passes ? rounds : passes, rounds - 1, passes};
}

/* How long lanes keep the pipe. */
static ALWAYS_INLINE struct charge charge_of(const struct memop *op, enum sm_cache_id cache,
                                             uint32_t lanes, const struct segment *seg,
                                             uint32_t n) {
    const struct config *cfg = op->sm->m->cfg;
    if (cache == CACHE_DATA && cfg->l1_tag_banks && n) return l1_charge(op, lanes, seg, n);
    const uint32_t clocks = cfg->lsu_queue && !op->u->dst_count && !op->copy
                                ? pipe_store_clocks(op, lanes)
                                : coalesce_clocks(cfg, op->addr, lanes, op->u->width, seg, n);
    return (struct charge){clocks, 0, clocks - cfg->issue_global + 1};
}

/* When values that a cache has are there: behind the passes of the last line. */
static ALWAYS_INLINE uint64_t hit_at(const struct memop *op, uint64_t begin,
                                     const struct charge *charge, enum sm_cache_id cache) {
    const struct config *cfg = op->sm->m->cfg;
    const uint64_t at = begin + (cache == CACHE_TEXTURE ? cfg->lat_tex : cfg->lat_l1);
    if (!cfg->lsu_queue) return at + charge->passes - 1;
    const uint32_t early = op->u->op == OP_LD_LOCAL ? cfg->local_early : 0;
    return at - early + charge->rounds + pipe_late(cfg, charge->passes, op->u->dst_count);
}

/* If their block has a tile, lanes whose lines that has, or is to have, are served from shared
 * memory, at its speed; the others behind them, by a cache or in transactions of their own. */
static ALWAYS_INLINE bool issue(struct memop *op, const struct buffer *buffer, const bool tiled) {
    struct sm *sm = op->sm;
    const struct config *cfg = sm->m->cfg;
    struct segment seg[COALESCE_MAX_SEGMENTS];
    struct tile_share share = {.lanes = 0};
    if (tiled) tiles_look(op, &share);
    enum sm_cache_id cache = (enum sm_cache_id)cache_of(op);
    const uint32_t rest = op->active & ~share.lanes;
    uint32_t n = segments_of(op, cache, rest, seg);
    const uint32_t fresh = is_store(op->u->op) ? send_fresh(sm, seg, n) : 0;
    if (!room_is_plenty(sm, cache, n + share.waits) || !send_has_room(sm, fresh)) {
        const uint32_t need = room_need(sm, cache, op->addr, seg, n);
        const bool suffices = room_suffices(sm, need, share.waits) && send_has_room(sm, fresh);
        if (!suffices && !op->more) return room_claim(op, cache, seg, n, need, fresh);
        if (need == CACHE_NONE) cache = (enum sm_cache_id)0, n = segments_of(op, cache, rest, seg);
    }
    struct access *a = describe(op, buffer);
    count_global(op, seg, n);
    if (op->u->op == OP_TEX) read_now(a);
    if (op->copy) copy_begin(op, a);
    if (sm->caches[CACHE_DATA].present && passes_l1(op))
        smcache_write(sm, a, seg, n, cfg->l1_keeps_local && op->u->op == OP_ST_LOCAL);
    const bool alone = !tiled || n; /* lanes are left for the cache or memory */
    struct charge charge = {.passes = 1 - cfg->issue_global};
    if (alone) charge = charge_of(op, cache, rest, seg, n);
    const uint32_t apart = n > 1 ? (charge.clocks - cfg->issue_global) / (n - 1) : 0;
    const uint64_t begin = op->t + share.busy, at = begin + cfg->lat_global;
    const uint32_t near = tiled ? tiles_read(op, a, &share) : 0;
    const uint32_t far =
        cache ? smcache_load(sm, cache, a, seg, n, at, apart) : send_all(op, a, seg, n, at, apart);
    if (cfg->l1_tag_banks && far > charge.clocks) charge.clocks = far; /* a miss goes out a clock */
    lsu_charge(op, share.busy + charge.clocks, share.busy + charge.passes);
    const uint64_t passed =
        op->t + share.busy; /* `begin`, but where the banks had others between */
    uint64_t ready = hit_at(op, passed, &charge, cache);
    if (share.lanes) {
        const uint64_t shared = passed - cfg->issue_shared + cfg->lat_shared;
        if (!n || shared > ready) ready = shared;
    }
    issued(op, a, near + far, ready);
    if (tiled) tiles_pass(sm, op->warp);
    return true;
}

NOINLINE static bool issue_tiled(struct memop *op, const struct buffer *buffer) {
    return issue(op, buffer, true);
}

/* Where only values count an access is served at once. */
NOINLINE static bool issue_now(struct memop *op, const struct buffer *buffer) {
    op->whole = false; /* not looked for here */
    struct access *a = describe(op, buffer);
    count_global(op, NULL, 0);
    access_perform(a, a->mask);
    global_free_access(op->sm, a);
    memop_next(op);
    return true;
}

bool global_issue(struct memop *op) {
    const struct buffer *buffer;
    if (!op->active) return issue_empty(op);
    if (!places_of(op, &buffer)) return false;
    if (op->sm->m->values) return issue_now(op, buffer);
    return has_tile(op) ? issue_tiled(op, buffer) : issue(op, buffer, false);
}

bool global_const(struct memop *op, uint32_t busy, uint32_t late) {
    struct sm *sm = op->sm;
    const struct config *cfg = sm->m->cfg;
    struct segment seg[COALESCE_MAX_SEGMENTS];
    const uint32_t line = 1u << sm->caches[CACHE_CONST].cache.line_shift;
    const uint32_t n = coalesce_lines(op->addr, op->active, line, seg);
    op->whole = false;
    const uint32_t need = room_need(sm, CACHE_CONST, op->addr, seg, n);
    if (!room_suffices(sm, need, 0)) return room_claim(op, CACHE_CONST, seg, n, need, 0);
    struct access *a = describe(op, NULL);
    const bool asks = ask_constants(cfg);
    uint32_t pending = 0;
    a->data[0][0] = late;
    if (asks) a->sink = SINK_CONSTANTS;
    else pending = smcache_load(sm, CACHE_CONST, a, seg, n, op->t, cfg->replay_global);
    if (sm->records) record_access(op, CONST_BASE);
    lsu_charge(op, busy, busy);
    if (asks) pending = !constants_go_on(sm, a, op->t);
    issued(op, a, pending, op->t);
    return true;
}

/* ---- replies ----------------------------------------------------------------------------- */

/* Let a warp go on that has waited for this reply: for a load, or at a fence. */
static void wake(struct sm *sm, uint32_t warp, uint64_t t) {
    struct warp *w = &sm->warps[warp];
    const enum wait kind = (enum wait)sm->wait[warp];
    if (w->state == WARP_RUNNING && sm->ready_at[warp] == NEVER &&
        (kind == WAIT_GLOBAL || kind == WAIT_SHARED)) {
        warp_refresh(sm, warp, t, kind);
    } else if (w->state == WARP_FENCE && w->accesses_pending == 0) {
        w->state = WARP_RUNNING;
        warp_refresh(sm, warp, t, WAIT_CREDITS);
    }
}

/* An answer to a block that has ended. */
NOINLINE static void answer_late(struct sm *sm, struct access *a, uint64_t t) {
    sm->credits++;
    sm->count.flight_cycles += t;
    if (--a->pending) return;
    assert(sm->late && a->dst[0] == OPERAND_NONE);
    sm->late--;
    global_free_access(sm, a);
}

void global_segment_done(struct sm *sm, struct access *a, uint64_t t) {
    struct warp *w = &sm->warps[a->warp];
    if (sm->late && a->tenant != sm->tenant[a->warp]) {
        answer_late(sm, a, t);
        return;
    }
    assert(a->pending && w->accesses_pending);
    sm->credits++;
    sm->count.flight_cycles += t;
    if (--a->pending) return;
    if (a->dst[0] != OPERAND_NONE) {
        assert(w->loads_pending);
        w->loads_pending--;
        obey_loaded(sm, w, a->dst, 4);
        set_ready(sm, a, t);
    }
    w->accesses_pending--;
    wake(sm, a->warp, t);
    global_free_access(sm, a);
    block_access_done(sm, w->block, t);
}

/* By enum sink. */
typedef void answered(struct sm *sm, struct access *a, uint64_t t);
static answered *const sinks[SINK_COUNT] = {
#define SINK(id, function, doc) function,
#include "tables/sinks.def"
};

void global_reply(struct sm *sm, const struct reply *r) {
    if (sm->stores.flying && r->access->kind == ACCESS_STORE) send_answered(sm, r);
    sinks[r->access->sink](sm, r->access, r->cycle);
    if (sm->starved && sm->credits >= sm->wake_credits) room_wake(sm, r->cycle);
}
