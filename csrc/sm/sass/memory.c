#include "sm/sass/memory.h"

#include "base/bits.h"
#include "base/clones.h"
#include "kernel/sass.h"
#include "sm/converge.h"
#include "sm/lsu.h"
#include "sm/sass/copy.h"
#include "sm/sass/matrix.h"
#include "sm/sass/mbarrier.h"
#include "sm/sass/sass.h"

static bool is_global(uint32_t op) {
    return op == OP_LD_GLOBAL || op == OP_ST_GLOBAL || op == OP_ATOM_GLOBAL;
}

/* How the instruction makes its addresses: SASS_GENERIC and so on. */
static uint32_t way_of(const struct uop *u) { return ~(uint32_t)u->aux; }

static uint32_t form_of(const struct uop *u) { return way_of(u) >> SASS_FORM & 7; }

/* The row that is added to addresses; NULL without one. */
static const uint32_t *added(const struct lanes *lanes, const struct uop *u) {
    const uint32_t row = way_of(u) >> SASS_ROW & 0xffffu;
    return row == ROW_NONE ? NULL : operand_row(lanes, (uint16_t)row);
}

/* Addresses of 32 bits, in spaces of their own. */
static void place_near(struct memop *op) {
    const struct lanes lanes = memop_lanes(op);
    const struct uop *u = op->u;
    const uint32_t *a = operand_row(&lanes, u->a), *b = added(&lanes, u), shift = form_of(u);
    for (uint32_t lane = 0; lane < 32; lane++)
        op->addr[lane] = (a[lane] << shift) + (b ? b[lane] : 0) + (uint32_t)u->imm;
}

/* Addresses of 64 bits: fills in their low words and the span of those of some lanes, and leaves
 * their high ones in `high`. Returns in which bits high words of these lanes differ. With `all` no
 * lane is masked; `plain` addresses are a pair of registers and a constant. */
static ALWAYS_INLINE uint32_t add_far(struct memop *op, uint32_t high[32], uint32_t lanes,
                                      const bool all, const bool plain) {
    const struct lanes state = memop_lanes(op);
    const struct uop *u = op->u;
    const uint32_t low_part = (uint32_t)u->imm, high_part = 0 - (low_part >> 31);
    const bool narrow = !plain && form_of(u); /* `a` has no second word */
    const uint32_t *a = operand_row(&state, u->a), *ah = narrow ? a : a + 32,
                   *b = plain ? NULL : added(&state, u), upper = narrow ? 0 : ~0u;
    uint32_t some = 0, every = ~0u, lowest = ~0u, highest = 0, odd = 0;
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t low = a[lane] + low_part;
        high[lane] = (ah[lane] & upper) + high_part + (low < low_part);
        if (!plain && b) {
            low += b[lane];
            high[lane] += b[lane + 32] + (low < b[lane]);
        }
        op->addr[lane] = low;
    }
    for (uint32_t lane = 0; lane < 32; lane++) {
        const uint32_t off = all ? 0 : (lanes >> lane & 1) - 1, address = op->addr[lane];
        some |= high[lane] & ~off;
        every &= high[lane] | off;
        lowest = lowest < (address | off) ? lowest : address | off;
        highest = highest > (address & ~off) ? highest : address & ~off;
        odd |= address & ~off;
    }
    op->lowest = lowest;
    op->highest = highest;
    op->odd = odd & 15;
    return some ^ every;
}

CLONES static uint32_t cloned_far(struct memop *op, uint32_t high[32], uint32_t lanes, bool plain) {
    if (plain && lanes == ~0u) return add_far(op, high, lanes, true, true);
    return add_far(op, high, lanes, false, false);
}

/* Are they a pair of registers and a constant? */
static bool is_pair(const struct uop *u) {
    return !form_of(u) && (way_of(u) >> SASS_ROW & 0xffffu) == ROW_NONE;
}

/* The operation of the same kind in the space of that high word; OP_COUNT without one. */
static uint32_t in_space(uint32_t op, uint32_t high) {
    static const uint8_t shared[] = {OP_LD_SHARED, OP_ST_SHARED, OP_ATOM_SHARED};
    static const uint8_t local[] = {OP_LD_LOCAL, OP_ST_LOCAL, OP_COUNT};
    const uint32_t kind = op == OP_LD_GLOBAL ? 0 : op == OP_ST_GLOBAL ? 1 : 2;
    return high == 0             ? op
           : high == SHARED_HIGH ? shared[kind]
           : high == LOCAL_HIGH  ? local[kind]
                                 : OP_COUNT;
}

/* Do the lanes of an access of several words go to multiples of its width? */
static bool is_aligned(struct memop *op) {
    for (uint32_t left = op->active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left);
        if (!(op->addr[lane] & (op->u->width - 1u))) continue;
        return lsu_fault(op, lane, ERROR_MISALIGNED, op->addr[lane]);
    }
    return true;
}

/* Local memory keeps the words of the lanes of a warp side by side: what is wider is as many
 * accesses, each of a word, under way at once. */
static bool serve_words(const struct memop *whole) {
    struct uop word = *whole->u;
    word.width = 4;
    word.dst_count = whole->u->dst_count ? 1 : 0;
    for (uint32_t i = 0; i < whole->u->width / 4u; i++) {
        struct memop part = *whole;
        part.u = &word;
        part.more = i > 0;
        part.follows = i + 1 < whole->u->width / 4u;
        word.data[0] = whole->u->data[i];
        for (uint32_t lane = 0; lane < 32; lane++) part.addr[lane] += 4 * i;
        if (!lsu_serve(&part)) return false;
    }
    return true;
}

static bool serve(struct memop *op) {
    const bool local = op->u->op == OP_LD_LOCAL || op->u->op == OP_ST_LOCAL;
    if (!local || op->u->width <= 4) return lsu_serve(op);
    return is_aligned(op) && serve_words(op);
}

/* The lanes of a generic access, or one of global memory, that go where the first of `left` goes.
 */
static uint32_t alike(const uint32_t high[32], uint32_t left) {
    const uint32_t first = high[bits_lowest(left)];
    uint32_t lanes = 0;
    for (uint32_t lane = 0; lane < 32; lane++) lanes |= (high[lane] == first ? 1u : 0) << lane;
    return lanes & left;
}

/* The lanes for which the instruction is not done. */
static uint32_t left_of(const struct memop *op) {
    return op->w->parted ? op->active & ~op->w->own->served : op->active;
}

/* It is done for all of them. */
static void done(struct warp *w) {
    w->own->served = 0;
    w->parted = false;
}

/* The other lanes go elsewhere: the same instruction issues again for them. */
static bool again(struct memop *op, uint32_t served) {
    op->w->own->served |= served;
    op->w->parted = true;
    op->w->pc = op->pc;
    warp_refresh(op->sm, op->warp, op->sm->now + op->sm->m->cfg->issue_interval, WAIT_UNIT);
    return false;
}

/* Lanes whose atomic is on local memory, which is theirs alone: the code does it then, for which a
 * predicate asks. Returns which are left. */
static uint32_t leave_local(const struct memop *op, const uint32_t high[32], uint32_t number) {
    struct warp *w = op->w;
    uint32_t local = 0;
    for (uint32_t lane = 0; lane < 32; lane++)
        local |= (high[lane] == LOCAL_HIGH ? 1u : 0u) << lane;
    w->preds[number] = (w->preds[number] & ~op->active) | (op->active & ~local);
    w->ready[op->sm->m->program->registers + number] = op->t;
    return op->active & ~local;
}

/* Lanes of an access to shared memory go on together that go to the part which a block holds from
 * its start to its end, or to that which it holds from smmux::alloc to smmux::release. That lies
 * behind the other one for the code, and anywhere for the machine. */
static void choose_part(struct memop *op, struct uop *as) {
    const struct program *p = op->sm->m->program;
    uint32_t dynamic = 0;
    if (!p->meta.dynamic_bytes || !op->active) return;
    for (uint32_t lane = 0; lane < 32; lane++)
        dynamic |= (op->addr[lane] >= p->meta.shared_bytes ? 1u : 0) << lane;
    if (!(dynamic >> bits_lowest(op->active) & 1)) {
        op->active &= ~dynamic;
        return;
    }
    op->active &= dynamic;
    as->flags |= INSN_DYNAMIC;
    for (uint32_t lane = 0; lane < 32; lane++) op->addr[lane] -= p->meta.shared_bytes;
}

static bool serve_far(struct memop *op) {
    uint32_t high[32];
    struct uop as = *op->u; /* the instruction, in the space that its address names */
    const bool generic = sass_is_generic(op->u);
    const uint32_t number = sass_done(op->u);
    const uint32_t differ = cloned_far(op, high, left_of(op), is_pair(op->u));
    if (op->u->op == OP_LD_GLOBAL && op->u->sub) return copy_issue(op);
    if ((number & 7) != 7) op->active = leave_local(op, high, number);
    if (!op->active) return lsu_serve(op);
    const uint32_t left = left_of(op), lane = bits_lowest(left);
    op->active = differ ? alike(high, left) : left;
    op->spanned = !high[lane]; /* local memory lies elsewhere */
    as.op = (uint8_t)in_space(op->u->op, high[lane]);
    as.aux |= (int32_t) ~(SASS_STRONG | SASS_NEAR); /* it names no array */
    if (as.op == OP_COUNT || (high[lane] && !generic))
        return lsu_fault(op, lane, ERROR_GLOBAL_BOUNDS,
                         (int64_t)((uint64_t)high[lane] << 32 | op->addr[lane]));
    if (high[lane] == SHARED_HIGH) choose_part(op, &as);
    else op->sm->accessed |= 1ull << op->warp;
    op->u = &as;
    if (!serve(op)) return false;
    if (op->active != left) return again(op, op->active);
    if (op->w->parted) done(op->w);
    return true;
}

/* An access to shared memory of a program that holds a part of it for a while. */
static bool serve_parts(struct memop *op) {
    struct uop as = *op->u;
    const uint32_t left = left_of(op);
    op->active = left;
    choose_part(op, &as);
    op->u = &as;
    if (!serve(op)) return false;
    if (op->active != left) return again(op, op->active);
    if (op->w->parted) done(op->w);
    return true;
}

bool sass_access(struct memop *op) {
    if (is_global(op->u->op)) return serve_far(op);
    place_near(op);
    const bool plain = op->u->op == OP_LD_SHARED || op->u->op == OP_ST_SHARED;
    if (op->u->sub && plain) return matrix_issue(op);
    const bool barrier = op->u->op == OP_ATOM_SHARED && atom_is_barrier(op->u->sub);
    if (barrier && mbarrier_waits(op)) return false;
    const bool shared = plain || op->u->op == OP_ATOM_SHARED;
    return shared && op->sm->m->program->meta.dynamic_bytes ? serve_parts(op) : serve(op);
}

/* Does a generic address lie in a space: 0 global, 1 shared, 2 local? */
SASS_FN(QSPC) {
    SASS_ROWS
    const uint32_t space = sass_mod(u, 9, 3);
    uint32_t inside[32];
    EACH_LANE {
        const uint32_t high = ra[lane + 32];
        inside[lane] = space ? high == space : high != SHARED_HIGH && high != LOCAL_HIGH;
    }
    sass_write(u, w, SHIFT_PD0, sass_lanes(inside), mask);
}
