#include "sm/lsu.h"

#include <string.h>

#include "base/bits.h"
#include "base/clones.h"
#include "base/hints.h"
#include "kernel/decoder.h"
#include "kernel/lanes.h"
#include "sm/check.h"
#include "sm/constants.h"
#include "sm/global.h"
#include "sm/obey.h"
#include "sm/patterns.h"
#include "sm/pipe.h"
#include "sm/record.h"
#include "sm/room.h"
#include "sm/sass/memory.h"
#include "sm/scheduler.h"
#include "sm/scoreboard.h"
#include "sm/shared_atomic.h"
#include "sm/smem.h"

void lsu_data_rows(const struct memop *op, const uint32_t *rows[4]) {
    const struct lanes lanes = memop_lanes(op);
    uint32_t i = 0; /* there is one at least */
    do rows[i] = operand_row(&lanes, op->u->data[i]);
    while (++i < memop_words(op->u->width));
}

/* ---- addresses --------------------------------------------------------------------------- */

bool lsu_fault(struct memop *op, uint32_t lane, enum error code, int64_t address) {
    sm_fault(op->sm, op->warp, lane, op->t, code);
    op->sm->fault.address = address;
    return false;
}

/* Where a warp's lanes may go: aligned, and inside [base, base + room). */
struct bounds {
    uint32_t base, room, width;
};

/* to = from + imm + shift; are all 32 addresses from + imm allowed? */
static ALWAYS_INLINE bool add_and_check(uint32_t to[32], const uint32_t *from, uint32_t imm,
                                        uint32_t shift, struct bounds in) {
    uint32_t bad = 0;
    for (uint32_t lane = 0; lane < 32; lane++) {
        const uint32_t address = from[lane] + imm, offset = address - in.base;
        to[lane] = address + shift;
        bad |= (offset >= in.room ? ~0u : 0) | (address & (in.width - 1));
    }
    return !bad;
}

/* Does an active lane go where it may not, if some lane does? The first one has faulted then. */
NOINLINE static bool strays(struct memop *op, uint32_t shift, struct bounds in, enum error code) {
    for (uint32_t left = op->active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left), address = op->addr[lane] - shift,
                       offset = address - in.base;
        if (offset < in.room && !(address & (in.width - 1))) continue;
        lsu_fault(op, lane, offset >= in.room ? code : ERROR_MISALIGNED, (int32_t)offset);
        return true;
    }
    return false;
}

/* placed: op->addr holds the lanes' addresses (sass_access). */
static ALWAYS_INLINE bool addresses(struct memop *op, uint32_t base, uint32_t bytes, uint32_t shift,
                                    enum error code, const bool placed) {
    const uint32_t width = op->u->width;
    const struct bounds in = {base, bytes >= width ? bytes - width + 1 : 0, width};
    const struct lanes lanes = memop_lanes(op);
    const uint32_t *from = placed ? op->addr : operand_row(&lanes, op->u->a);
    return add_and_check(op->addr, from, placed ? 0 : (uint32_t)op->u->imm, shift, in) ||
           !strays(op, shift, in, code);
}

CLONES static bool cloned_addresses(struct memop *op, uint32_t base, uint32_t bytes, uint32_t shift,
                                    enum error code) {
    return addresses(op, base, bytes, shift, code, op->u->flags & INSN_WIDE);
}

bool lsu_addresses(struct memop *op, uint32_t base, uint32_t bytes, uint32_t shift,
                   enum error code) {
    return cloned_addresses(op, base, bytes, shift, code);
}

/* ---- completion -------------------------------------------------------------------------- */

void lsu_charge(struct memop *op, uint32_t busy, uint32_t passes) {
    if (op->sm->m->cfg->lsu_queue) pipe_take(op, busy, passes);
    else subcore_take(op->sm, op->core, op->u->unit, op->t + busy);
}

static ALWAYS_INLINE void set_ready(struct memop *op, uint64_t at, enum wait kind) {
    const bool some = at != READY_PENDING && op->w->loads_pending;
    for (uint32_t i = 0; i < op->u->dst_count; i++) {
        const uint16_t id = op->u->data[i];
        if (some && obey_loads(op->sm, op->w, id)) continue;
        op->w->ready[id] = at;
        op->w->producer[id] = (uint8_t)kind;
    }
}

void lsu_set_ready(struct memop *op, uint64_t at, enum wait kind) { set_ready(op, at, kind); }

/* Without queues a pass keeps the next access, and the value, as long as the unit. */
static ALWAYS_INLINE void take_passes(struct memop *op, uint32_t passes, uint32_t words) {
    const struct config *cfg = op->sm->m->cfg;
    const uint32_t clocks = passes * cfg->smem_clk_per_way,
                   busy = clocks > cfg->issue_shared ? clocks : cfg->issue_shared,
                   late = cfg->lsu_queue ? pipe_late(cfg, passes, words) : busy - cfg->issue_shared;
    lsu_charge(op, busy, busy);
    set_ready(op, op->t + cfg->lat_shared + late, WAIT_SHARED);
}

void lsu_passes(struct memop *op, uint32_t passes, uint32_t words) {
    take_passes(op, passes, words);
}

/* ---- shared memory ----------------------------------------------------------------------- */

/* Half a row, moved as one vector: for a memcpy compilers emit slow string instructions. */
typedef uint32_t half_row __attribute__((vector_size(64), aligned(1), may_alias));

static ALWAYS_INLINE void copy_half(void *to, const void *from) {
    *(half_row *)to = *(const half_row *)from;
}

/* Load for a half-warp the same word for all lanes, or the words of a row. */
static ALWAYS_INLINE void load_half(uint32_t *d, const uint8_t *from, bool uniform) {
    uint32_t value;
    if (!uniform) {
        copy_half(d, from);
        return;
    }
    memcpy(&value, from, sizeof value);
    for (uint32_t lane = 0; lane < 16; lane++) d[lane] = value;
}

static ALWAYS_INLINE void load_words(struct memop *op, const uint8_t *shared,
                                     const uint8_t shape[2]) {
    const uint32_t scattered = op->active & ((shape[0] == HALF_ANY ? 0xffffu : 0) |
                                             (shape[1] == HALF_ANY ? 0xffff0000u : 0));
    for (uint32_t word = 0; word < op->u->dst_count; word++) {
        uint32_t *d = op->w->rows + op->u->data[word] * 32u;
        const uint8_t *at = shared + 4 * word;
        if (shape[0] != HALF_ANY) load_half(d, at + op->addr[0], shape[0] == HALF_UNIFORM);
        if (shape[1] != HALF_ANY) load_half(d + 16, at + op->addr[16], shape[1] == HALF_UNIFORM);
        if (scattered) gather_words(d, at, 0, op->addr, scattered);
    }
}

static ALWAYS_INLINE void shared_load(struct memop *op, const uint8_t *shared,
                                      const uint8_t shape[2]) {
    if (op->u->width >= 4) {
        load_words(op, shared, shape);
        return;
    }
    uint32_t *d = op->w->rows + op->u->d * 32u;
    for (uint32_t left = op->active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left);
        d[lane] = lane_load(shared + op->addr[lane], op->u->width, op->u->flags & INSN_SIGNED);
    }
}

NOINLINE static void store_bytes(struct memop *op, uint8_t *shared, const uint32_t *row) {
    for (uint32_t left = op->active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left);
        lane_store(shared + op->addr[lane], op->u->width, row[lane]);
    }
}

/* Store in order of the lanes: of those that store to one word the last wins. */
static ALWAYS_INLINE void store_half(uint8_t *shared, const uint32_t addr[16], const uint32_t *row,
                                     uint8_t shape) {
    if (shape == HALF_LINEAR) {
        copy_half(shared + addr[0], row);
        return;
    }
    for (uint32_t lane = 0; lane < 16; lane++) memcpy(shared + addr[lane], row + lane, sizeof *row);
}

static ALWAYS_INLINE void shared_store(struct memop *op, uint8_t *shared, const uint8_t shape[2]) {
    const uint32_t width = op->u->width;
    const struct lanes lanes = memop_lanes(op);
    const uint32_t *row = operand_row(&lanes, op->u->data[0]);
    if (width < 4) {
        store_bytes(op, shared, row);
    } else if (width == 4 && op->active == 0xffffffffu) {
        store_half(shared, op->addr, row, shape[0]);
        store_half(shared, op->addr + 16, row + 16, shape[1]);
    } else {
        for (uint32_t word = 0; word < memop_words(width); word++) {
            row = operand_row(&lanes, op->u->data[word]);
            for (uint32_t left = op->active; left; left &= left - 1) {
                const uint32_t lane = bits_lowest(left);
                memcpy(shared + op->addr[lane] + 4 * word, &row[lane], 4);
            }
        }
    }
}

/* Does a load only say what a swap behind it compares? */
static bool tries(const struct memop *op) {
    const struct program *p = op->sm->m->program;
    return op->u->op == OP_LD_SHARED && p->sass && sass_feeds_swap(p, op->pc);
}

/* Tell the counts per instruction, the checks and the records of an access. */
NOINLINE static void note_shared(struct memop *op, uint32_t passes, uint32_t ideal, uint32_t low,
                                 uint32_t high) {
    const uint8_t shape[2] = {(uint8_t)low, (uint8_t)high};
    if (op->sm->pc_count) {
        struct pc_counters *n = &op->sm->pc_count[op->pc];
        n->passes += passes;
        n->conflicts += passes - ideal;
        n->bytes += bits_count(op->active) * op->u->width;
    }
    if (op->sm->check && !tries(op)) check_access(op, shape);
    if (op->sm->records) {
        const struct block *b = &op->sm->blocks[op->w->block];
        record_access(op, op->u->flags & INSN_DYNAMIC ? b->dynamic_base : b->static_base);
    }
}

static ALWAYS_INLINE void count_shared(struct memop *op, struct smem_cost cost) {
    struct counters *n = &op->sm->count;
    n->shared_accesses++;
    n->shared_passes += cost.passes;
    n->shared_conflicts += cost.passes - cost.ideal;
    n->shared_bytes += bits_count(op->active) * op->u->width;
    if (op->sm->observed) note_shared(op, cost.passes, cost.ideal, cost.shape[0], cost.shape[1]);
}

/* Note when the block uses shared memory: first store and last load bound what the regions of
 * Figure 1 would be without barriers around them. */
static ALWAYS_INLINE void note_use(struct block *b, const struct memop *op) {
    if (op->u->op != OP_LD_SHARED && b->first_define == NEVER) b->first_define = op->t;
    if (op->u->op != OP_ST_SHARED) b->last_use = op->t;
}

/* Does a whole warp ask for words that lie as those that were looked at last? Then they are all
 * inside, and nothing is left to be found out. Loads of half-warps that each move as one need no
 * addresses but the first ones. */
static ALWAYS_INLINE bool recalls(struct memop *op, const struct smem_pattern *known,
                                  uint32_t bytes, uint32_t shift, const bool placed) {
    const struct lanes lanes = memop_lanes(op);
    const struct uop *u = op->u;
    const uint32_t *from = placed ? op->addr : operand_row(&lanes, u->a);
    const uint32_t first = from[0] + (placed ? 0 : (uint32_t)u->imm), begin = first + shift;
    const int64_t lowest = (int64_t)first + known->lowest,
                  end = (int64_t)first + known->highest + u->width;
    uint32_t apart = (known->mask & op->active) ^ ~0u;
    apart |= (known->width ^ u->width) | ((begin & known->row) ^ known->in_row) |
             ((first | known->low_bits) & (u->width - 1u));
    if (apart || lowest < 0 || end > bytes) return false;
    for (uint32_t lane = 0; lane < 32; lane++)
        apart |= (from[lane] - from[0]) ^ known->from_first[lane];
    if (apart) return false;
    op->addr[0] = begin;
    op->addr[16] = begin + known->from_first[16];
    if (u->op == OP_LD_SHARED && !op->sm->observed && known->cost.shape[0] != HALF_ANY &&
        known->cost.shape[1] != HALF_ANY && u->width >= 4)
        return true;
    for (uint32_t lane = 0; lane < 32; lane++) op->addr[lane] = begin + known->from_first[lane];
    return true;
}

/* Issue an access to shared memory. Compilers load up to 16 bytes of which they need some, where
 * these are aligned and a card has room for all. An atomic takes its passes once per lane of the
 * word that most lanes want, and on machines that nobody has measured twice, to read and to write.
 */
static ALWAYS_INLINE bool issue_shared(struct memop *op, const bool placed) {
    const struct machine *m = op->sm->m;
    struct block *b = &op->sm->blocks[op->w->block];
    const bool dynamic = op->u->flags & INSN_DYNAMIC;
    const bool away = dynamic && m->dynamic && !b->holds;
    const uint32_t bytes = away         ? 0
                           : !dynamic   ? m->program->meta.shared_bytes
                           : m->dynamic ? b->dynamic_bytes
                                        : m->program->meta.dynamic_bytes;
    const uint32_t base = dynamic ? b->dynamic_base : b->static_base;
    const bool beside = op->u->op == OP_LD_SHARED && op->u->width > 4 && m->program->sass;
    const uint32_t room = beside ? (bytes + SMEM_BESIDE - 1) & ~(SMEM_BESIDE - 1) : bytes;
    uint32_t passes = 0;
    if (op->active) {
        const enum error code = away ? ERROR_SHARED_NOT_HELD : ERROR_SHARED_BOUNDS;
        struct smem_pattern *known = &op->sm->patterns[op->pc % PATTERNS];
        struct smem_cost cost;
        if (recalls(op, known, room, base, placed)) {
            cost = known->cost;
        } else if (!addresses(op, 0, room, base, code, placed)) {
            if (away && op->sm->check) check_away(op);
            return false;
        } else {
            cost = smem_recall(known, m->cfg, op->addr, op->active, op->u->width);
        }
        if (op->u->op == OP_ATOM_SHARED)
            cost.passes = shared_atomic_passes(op, cost.passes, shared_atomic(op));
        count_shared(op, cost);
        if (op->u->op == OP_LD_SHARED) shared_load(op, op->sm->shared, cost.shape);
        else if (op->u->op == OP_ST_SHARED) shared_store(op, op->sm->shared, cost.shape);
        note_use(b, op);
        passes = cost.passes;
    }
    take_passes(op, passes, op->u->dst_count);
    if (op->u->op == OP_ATOM_SHARED) shared_atomic_late(op);
    memop_next(op);
    return true;
}

/* ---- issue ------------------------------------------------------------------------------- */

/* Within both of its callers, so that the common access is one function. */
static ALWAYS_INLINE bool serve(struct memop *op, const bool placed) {
    switch (op->u->op) {
    case OP_LD_SHARED:
    case OP_ST_SHARED:
    case OP_ATOM_SHARED: return issue_shared(op, placed);
    case OP_LD_CONST: return constants_issue(op);
    default: return global_issue(op);
    }
}

CLONES static bool cloned_serve(struct memop *op) { return serve(op, true); }

bool lsu_serve(struct memop *op) { return cloned_serve(op); }

CLONES static bool cloned_issue(struct sm *sm, const struct subcore *core, uint32_t warp,
                                const struct uop *u, uint32_t active, uint64_t t) {
    if ((sm->claiming >> warp & 1) && room_starves(sm, warp, t)) return false;
    struct memop op; /* not initialised as a whole: the addresses need no zeros */
    op.sm = sm;
    op.core = core;
    op.w = &sm->warps[warp];
    op.u = u;
    op.warp = warp;
    op.pc = op.w->pc;
    op.active = active;
    op.t = sm->m->cfg->lsu_queue ? pipe_begin(sm, sm->subcore_of[warp], u, t) : t;
    op.more = op.follows = op.spanned = false;
    op.copy = NULL;
    if (u->flags & INSN_WIDE && active && !sass_is_near(sm, u)) return sass_access(&op);
    return serve(&op, false);
}

bool lsu_issue(struct sm *sm, const struct subcore *core, uint32_t warp, const struct uop *u,
               uint32_t active, uint64_t t) {
    return cloned_issue(sm, core, warp, u, active, t);
}
