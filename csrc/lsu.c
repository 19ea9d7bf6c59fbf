/* The load/store unit: addresses, checks, shared-memory banks, coalescing, packets. */
#include <string.h>

#include "coalesce.h"
#include "exec.h"
#include "lanes.h"
#include "sm.h"
#include "smem.h"

/* One memory instruction while it issues. */
struct memop {
    struct sm *sm;
    struct warp *w;
    const struct uop *u;
    uint32_t warp, pc, active, unit;
    uint64_t t;
    uint32_t addr[32]; /* per lane; inactive lanes hold an arbitrary value */
};

static uint32_t count_words(uint32_t width) { return width <= 4 ? 1 : width / 4; }

static struct lanes lanes_of(const struct memop *op) {
    return (struct lanes){op->w->rows, op->sm->m->program->uniforms, op->w->preds};
}

static void compute_addresses(struct memop *op) {
    const uint32_t imm = (uint32_t)op->u->imm;
    if (op->u->a == ROW_NONE) {
        for (uint32_t lane = 0; lane < 32; lane++) op->addr[lane] = imm;
        return;
    }
    const struct lanes lanes = lanes_of(op);
    const uint32_t *a = operand_row(&lanes, op->u->a);
    for (uint32_t lane = 0; lane < 32; lane++) op->addr[lane] = a[lane] + imm;
}

/* Rows of the data registers, in order. */
static void data_rows(const struct memop *op, const uint32_t *rows[4]) {
    const struct lanes lanes = lanes_of(op);
    const uint32_t words = count_words(op->u->width);
    rows[0] = operand_row(&lanes, op->u->d);
    rows[1] = words > 1 ? operand_row(&lanes, op->u->b) : NULL;
    rows[2] = words > 2 ? operand_row(&lanes, op->u->c) : NULL;
    rows[3] = words > 3 ? op->w->rows + op->sm->m->program->q[op->pc] * 32u : NULL;
}

/* Destination registers of a load (numbers), in order. */
static uint32_t destinations(const struct memop *op, uint16_t dst[4]) {
    const struct uop *u = op->u;
    const uint32_t words = u->dst_count;
    dst[0] = words > 0 ? (uint16_t)(u->d / 32) : OPERAND_NONE;
    dst[1] = words > 1 ? (uint16_t)(u->b / 32) : OPERAND_NONE;
    dst[2] = words > 2 ? (uint16_t)(u->c / 32) : OPERAND_NONE;
    dst[3] = words > 3 ? op->sm->m->program->q[op->pc] : OPERAND_NONE;
    return words;
}

/* ---- checks -------------------------------------------------------------------------------------- */

static bool fault(struct memop *op, uint32_t lane, enum error code, int64_t address) {
    sm_fault(op->sm, op->warp, lane, op->t, code);
    op->sm->fault.address = address;
    return false;
}

/* All active lanes inside [base, base + bytes) and aligned; else a fault that names the first. */
static bool check_bounds(struct memop *op, uint32_t base, uint32_t bytes, enum error code) {
    const uint32_t width = op->u->width;
    const uint32_t room = bytes >= width ? bytes - width + 1 : 0;
    uint32_t outside = 0, low = 0;
    for (uint32_t lane = 0; lane < 32; lane++) {
        const uint32_t on = 0u - (op->active >> lane & 1);
        outside |= (uint32_t)(op->addr[lane] - base >= room) & on;
        low |= op->addr[lane] & on;
    }
    if (!outside && !(low & (width - 1))) return true;
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (!(op->active >> lane & 1)) continue;
        const int64_t offset = (int32_t)(op->addr[lane] - base);
        if (op->addr[lane] - base >= room) return fault(op, lane, code, offset);
        if (op->addr[lane] & (width - 1)) return fault(op, lane, ERROR_MISALIGNED, offset);
    }
    return true;
}

/* ---- completion ------------------------------------------------------------------------------------ */

static void charge(struct memop *op, uint32_t busy) { op->sm->unit_free[op->unit] = op->t + busy; }

static void set_ready(struct memop *op, uint64_t at, enum wait kind) {
    uint16_t dst[4];
    const uint32_t n = destinations(op, dst);
    for (uint32_t i = 0; i < n; i++) {
        op->w->ready[dst[i]] = at;
        op->w->producer[dst[i]] = (uint8_t)kind;
    }
}

static void next_instruction(struct memop *op) {
    warp_goto(op->w, op->pc + 1);
    sm_refresh(op->sm, op->warp, op->t, WAIT_ALU);
}

/* ---- shared memory ----------------------------------------------------------------------------------- */

static void shared_load(struct memop *op, const uint8_t *shared) {
    const uint32_t width = op->u->width, words = count_words(width);
    uint16_t dst[4];
    destinations(op, dst);
    for (uint32_t word = 0; word < words; word++) {
        uint32_t *d = op->w->rows + dst[word] * 32u;
        for (uint32_t lane = 0; lane < 32; lane++)
            if (op->active >> lane & 1)
                d[lane] = lane_load(shared + op->addr[lane] + 4 * word, width, op->u->flags & INSN_SIGNED);
    }
}

static void shared_store(struct memop *op, uint8_t *shared) {
    const uint32_t width = op->u->width, words = count_words(width);
    const uint32_t *rows[4];
    data_rows(op, rows);
    for (uint32_t word = 0; word < words; word++)
        for (uint32_t lane = 0; lane < 32; lane++)
            if (op->active >> lane & 1) lane_store(shared + op->addr[lane] + 4 * word, width, rows[word][lane]);
}

/* Lanes one after another; returns the largest number of lanes that hit one word. */
static uint32_t shared_atomic(struct memop *op, uint8_t *shared) {
    const struct lanes lanes = lanes_of(op);
    const uint32_t *b = operand_row(&lanes, op->u->b), *c = operand_row(&lanes, op->u->c);
    uint32_t most = 0;
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (!(op->active >> lane & 1)) continue;
        uint32_t same = 0;
        for (uint32_t other = 0; other <= lane; other++)
            same += (op->active >> other & 1) && op->addr[other] == op->addr[lane];
        most = same > most ? same : most;
        const uint32_t first = b[lane], second = c[lane];
        const uint32_t old = lane_atomic(shared + op->addr[lane], (enum atom_op)op->u->sub, first, second);
        if (op->u->dst_count) op->w->rows[op->u->d + lane] = old;
    }
    return most;
}

static void count_shared(struct memop *op, struct smem_cost cost) {
    struct counters *n = &op->sm->count;
    const uint32_t bytes = (uint32_t)__builtin_popcount(op->active) * op->u->width;
    const uint32_t extra = cost.passes - cost.ideal;
    n->shared_accesses++;
    n->shared_passes += cost.passes;
    n->shared_conflicts += extra;
    n->shared_bytes += bytes;
    if (op->sm->pc_count) {
        op->sm->pc_count[op->pc].passes += cost.passes;
        op->sm->pc_count[op->pc].conflicts += extra;
        op->sm->pc_count[op->pc].bytes += bytes;
    }
}

/* Atomics read and write, once per lane of the most wanted word (no source: an estimate). */
static bool issue_shared(struct memop *op) {
    const struct machine *m = op->sm->m;
    const struct block *b = &op->sm->blocks[op->w->block];
    const bool dynamic = op->u->flags & INSN_DYNAMIC;
    const bool away = dynamic && m->dynamic && !b->holds;
    const uint32_t bytes = away ? 0 : dynamic ? m->program->meta.dynamic_bytes : m->program->meta.shared_bytes;
    const uint32_t base = dynamic ? b->dynamic_base : b->static_base;
    uint32_t busy = m->cfg->issue_shared;
    if (op->active) {
        if (!check_bounds(op, 0, bytes, away ? ERROR_SHARED_NOT_HELD : ERROR_SHARED_BOUNDS)) return false;
        for (uint32_t lane = 0; lane < 32; lane++) op->addr[lane] += base;
        struct smem_cost cost = smem_passes(m->cfg, op->addr, op->active, op->u->width);
        if (op->u->op == OP_LD_SHARED) shared_load(op, op->sm->shared);
        else if (op->u->op == OP_ST_SHARED) shared_store(op, op->sm->shared);
        else cost.passes *= 2 * shared_atomic(op, op->sm->shared);
        count_shared(op, cost);
        const uint32_t passes = cost.passes * m->cfg->smem_clk_per_way;
        if (passes > busy) busy = passes;
    }
    charge(op, busy);
    set_ready(op, op->t + m->cfg->lat_shared + busy - m->cfg->issue_shared, WAIT_SHARED);
    next_instruction(op);
    return true;
}

/* ---- constant memory ----------------------------------------------------------------------------------- */

/* One pass per distinct address (seed 004: best if all threads of a warp read the same item). */
static uint32_t distinct_addresses(const struct memop *op) {
    uint32_t left = op->active, n = 0;
    for (; left; n++) {
        const uint32_t address = op->addr[__builtin_ctz(left)];
        for (uint32_t lane = 0; lane < 32; lane++)
            if (op->addr[lane] == address) left &= ~(1u << lane);
    }
    return n;
}

static bool issue_const(struct memop *op) {
    const struct machine *m = op->sm->m;
    const uint32_t words = count_words(op->u->width);
    uint32_t busy = m->cfg->issue_const;
    if (op->active) {
        if (!check_bounds(op, 0, m->program->constant_bytes, ERROR_CONST_BOUNDS)) return false;
        uint16_t dst[4];
        destinations(op, dst);
        for (uint32_t word = 0; word < words; word++)
            for (uint32_t lane = 0; lane < 32; lane++)
                if (op->active >> lane & 1)
                    op->w->rows[dst[word] * 32u + lane] = lane_load(m->program->constants + op->addr[lane] + 4 * word,
                                                                    op->u->width, op->u->flags & INSN_SIGNED);
        busy += (distinct_addresses(op) - 1) * m->cfg->const_clk_per_way;
        op->sm->count.const_accesses++;
    }
    charge(op, busy);
    set_ready(op, op->t + m->cfg->lat_const + busy - m->cfg->issue_const, WAIT_SHARED);
    next_instruction(op);
    return true;
}

/* ---- global and local memory --------------------------------------------------------------------------- */

static bool is_load(uint32_t op) { return op == OP_LD_GLOBAL || op == OP_LD_LOCAL || op == OP_TEX; }
static bool is_store(uint32_t op) { return op == OP_ST_GLOBAL || op == OP_ST_LOCAL; }

/* Local words of the 32 lanes lie side by side, so that equal offsets coalesce. */
static bool local_addresses(struct memop *op) {
    const struct machine *m = op->sm->m;
    const uint32_t bytes = m->program->meta.local_bytes;
    if (!check_bounds(op, 0, bytes, ERROR_LOCAL_BOUNDS)) return false;
    const uint32_t slot = op->sm->id * m->cfg->max_warps_sm + op->warp;
    const uint32_t base = m->local_buffer.address + slot * bytes * 32;
    for (uint32_t lane = 0; lane < 32; lane++)
        op->addr[lane] = base + (op->addr[lane] & ~3u) * 32 + lane * 4 + (op->addr[lane] & 3u);
    return true;
}

static bool global_addresses(struct memop *op, const struct buffer **buffer) {
    const struct machine *m = op->sm->m;
    if (op->u->op == OP_LD_LOCAL || op->u->op == OP_ST_LOCAL) {
        *buffer = &m->local_buffer;
        return local_addresses(op);
    }
    *buffer = &m->buffers[op->u->aux];
    bool fine;
    if (!(*buffer)->writable && !is_load(op->u->op)) {
        const uint32_t lane = (uint32_t)__builtin_ctz(op->active);
        fine = fault(op, lane, ERROR_READ_ONLY, (int32_t)(op->addr[lane] - (*buffer)->address));
    } else {
        fine = check_bounds(op, (*buffer)->address, (*buffer)->bytes, ERROR_GLOBAL_BOUNDS);
    }
    if (!fine) op->sm->fault.array = op->u->aux;
    return fine;
}

static struct access *new_access(struct memop *op, const struct buffer *buffer, uint32_t packets) {
    struct sm *sm = op->sm;
    struct access *a = &sm->accesses[sm->access_free];
    sm->access_free = a->next_free;
    memcpy(a->addr, op->addr, sizeof a->addr);
    a->buffer = buffer;
    a->mask = op->active;
    a->pc = op->pc;
    a->warp = (uint16_t)op->warp;
    a->pending = (uint16_t)packets;
    a->width = op->u->width;
    a->sub = op->u->sub;
    a->flags = op->u->flags;
    a->kind = is_load(op->u->op) ? ACCESS_LOAD : is_store(op->u->op) ? ACCESS_STORE : ACCESS_ATOM;
    destinations(op, a->dst);
    if (a->kind == ACCESS_STORE) {
        const uint32_t *rows[4];
        data_rows(op, rows);
        for (uint32_t i = 0; i < count_words(a->width); i++) memcpy(a->data[i], rows[i], sizeof a->data[i]);
    } else if (a->kind == ACCESS_ATOM) {
        const struct lanes lanes = lanes_of(op);
        memcpy(a->data[0], operand_row(&lanes, op->u->b), sizeof a->data[0]);
        memcpy(a->data[1], operand_row(&lanes, op->u->c), sizeof a->data[1]);
    }
    return a;
}

static void count_global(struct memop *op, const struct segment *seg, uint32_t n) {
    struct counters *c = &op->sm->count;
    const uint32_t bytes = (uint32_t)__builtin_popcount(op->active) * op->u->width;
    uint64_t moved = 0;
    for (uint32_t i = 0; i < n; i++) moved += seg[i].bytes;
    if (op->u->op == OP_LD_LOCAL || op->u->op == OP_ST_LOCAL) c->local_accesses++;
    else if (is_load(op->u->op)) c->global_loads++, c->global_bytes += bytes;
    else if (is_store(op->u->op)) c->global_stores++, c->global_bytes += bytes;
    else c->atomics++, c->global_bytes += bytes;
    c->transactions += n;
    c->transaction_bytes += moved;
    if (op->sm->pc_count) {
        op->sm->pc_count[op->pc].transactions += n;
        op->sm->pc_count[op->pc].bytes += bytes;
    }
}

/* Packets leave in order, one per issue interval. */
static void send(struct memop *op, struct access *a, const struct segment *seg, uint32_t n) {
    struct sm *sm = op->sm;
    const struct config *cfg = sm->m->cfg;
    uint64_t at = op->t + cfg->lat_global;
    if (sm->port_free > at) at = sm->port_free;
    for (uint32_t i = 0; i < n; i++, at += cfg->issue_global)
        sm->port->out[sm->port->out_count++] = (struct packet){.cycle = at, .access = a, .addr = seg[i].addr, .lanes = seg[i].lanes,
                                                             .seq = sm->seq++, .bytes = (uint16_t)seg[i].bytes,
                                                             .sm = (uint16_t)sm->id};
    sm->port_free = at;
    charge(op, n * cfg->issue_global);
}

static bool issue_global(struct memop *op) {
    struct sm *sm = op->sm;
    const struct config *cfg = sm->m->cfg;
    const struct buffer *buffer;
    struct segment seg[64];
    if (!op->active) {
        charge(op, cfg->issue_global);
        next_instruction(op);
        return true;
    }
    if (!global_addresses(op, &buffer)) return false;
    const uint32_t n = coalesce(cfg, op->addr, op->active, op->u->width, !is_load(op->u->op), seg);
    if (sm->credits < (int32_t)(n < cfg->credits ? n : cfg->credits)) {
        sm->ready_at[op->warp] = NEVER;
        sm->wait[op->warp] = WAIT_CREDITS;
        return false;
    }
    sm->credits -= (int32_t)n;
    struct access *a = new_access(op, buffer, n);
    count_global(op, seg, n);
    send(op, a, seg, n);
    op->w->accesses_pending++;
    sm->blocks[op->w->block].accesses_pending++;
    if (op->u->dst_count) op->w->loads_pending++;
    set_ready(op, READY_PENDING, WAIT_GLOBAL);
    next_instruction(op);
    return true;
}

bool lsu_issue(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active, uint32_t unit, uint64_t t) {
    struct memop op = {.sm = sm, .w = &sm->warps[warp], .u = u, .warp = warp, .pc = sm->warps[warp].pc,
                       .active = active, .unit = unit, .t = t};
    compute_addresses(&op);
    switch (u->op) {
    case OP_LD_SHARED: case OP_ST_SHARED: case OP_ATOM_SHARED: return issue_shared(&op);
    case OP_LD_CONST: return issue_const(&op);
    default: return issue_global(&op);
    }
}

/* ---- replies ---------------------------------------------------------------------------------------------- */

static void write_back(struct sm *sm, const struct access *a, uint64_t t) {
    struct warp *w = &sm->warps[a->warp];
    for (uint32_t i = 0; i < 4 && a->dst[i] != OPERAND_NONE; i++) {
        uint32_t *d = w->rows + a->dst[i] * 32u;
        for (uint32_t lane = 0; lane < 32; lane++)
            if (a->mask >> lane & 1) d[lane] = a->data[i][lane];
        w->ready[a->dst[i]] = t;
    }
}

/* A reply frees a credit; every warp that found too few looks again. */
static void wake_credit_waiters(struct sm *sm, uint64_t t) {
    for (uint32_t w = 0; w < sm->warp_limit; w++)
        if (sm->warps[w].state == WARP_RUNNING && sm->ready_at[w] == NEVER && sm->wait[w] == WAIT_CREDITS)
            sm_refresh(sm, w, t, WAIT_CREDITS);
}

void lsu_reply(struct sm *sm, const struct reply *r) {
    struct access *a = r->access;
    struct warp *w = &sm->warps[a->warp];
    const uint64_t t = r->cycle;
    if (++sm->credits <= (int32_t)COALESCE_MAX_SEGMENTS) wake_credit_waiters(sm, t);
    if (--a->pending) return;
    const uint32_t block = w->block;
    if (a->dst[0] != OPERAND_NONE) {
        w->loads_pending--;
        write_back(sm, a, t);
    }
    w->accesses_pending--;
    if (w->state == WARP_RUNNING && sm->ready_at[a->warp] == NEVER && sm->wait[a->warp] == WAIT_GLOBAL) {
        sm_refresh(sm, a->warp, t, WAIT_GLOBAL);
    } else if (w->state == WARP_FENCE && w->accesses_pending == 0) {
        w->state = WARP_RUNNING;
        sm_refresh(sm, a->warp, t, WAIT_CREDITS);
    }
    a->next_free = (uint16_t)sm->access_free;
    sm->access_free = (uint32_t)(a - sm->accesses);
    block_access_done(sm, block, t);
}
