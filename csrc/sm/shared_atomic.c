#include "sm/shared_atomic.h"

#include "base/bits.h"
#include "base/hints.h"
#include "kernel/control_bits.h"
#include "kernel/decoder.h"
#include "kernel/lanes.h"
#include "sm/exec.h"
#include "sm/lsu.h"
#include "sm/sass/mbarrier.h"
#include "sm/smem.h"

/* How many active lanes up to this one hit its word. */
static ALWAYS_INLINE uint32_t same_word(const struct memop *op, uint32_t lane) {
    uint32_t same = 0;
    for (uint32_t other = 0; other <= lane; other++)
        same += (op->active >> other & 1) && op->addr[other] == op->addr[lane];
    return same;
}

static uint32_t shared_wide_atomic(struct memop *op, uint8_t *shared) {
    const struct lanes lanes = memop_lanes(op);
    const struct uop *u = op->u;
    const uint32_t *b[2], *c[2];
    uint32_t most = 0;
    if (atom_is_barrier(u->sub)) return mbarrier_perform(op);
    for (uint32_t i = 0; i < 2; i++) {
        b[i] = operand_row(&lanes, u->data[2 + i]);
        c[i] = operand_row(&lanes, u->swap[i]);
    }
    for (uint32_t left = op->active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left), same = same_word(op, lane);
        most = same > most ? same : most;
        const uint64_t first = lane_pair(b[0], b[1], lane), second = lane_pair(c[0], c[1], lane);
        const uint64_t old =
            lane_wide_atomic(shared + op->addr[lane], (enum atom_op)u->sub, first, second);
        for (uint32_t i = 0; i < u->dst_count; i++)
            op->w->rows[u->data[i] * 32u + lane] = (uint32_t)(old >> 32 * i);
    }
    return most;
}

static uint32_t shared_quad_atomic(struct memop *op, uint8_t *shared) {
    const struct lanes lanes = memop_lanes(op);
    const struct uop *u = op->u;
    uint32_t most = 0;
    for (uint32_t left = op->active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left), same = same_word(op, lane);
        uint32_t first[4], second[4], old[4];
        most = same > most ? same : most;
        for (uint32_t i = 0; i < 4; i++) {
            first[i] = operand_row(&lanes, u->swap[0] + i)[lane];
            second[i] = operand_row(&lanes, u->swap[1] + i)[lane];
        }
        lane_quad_atomic(shared + op->addr[lane], (enum atom_op)u->sub, first, second, old);
        for (uint32_t i = 0; i < u->dst_count; i++) op->w->rows[u->data[i] * 32u + lane] = old[i];
    }
    return most;
}

uint32_t shared_atomic(struct memop *op) {
    uint8_t *shared = op->sm->shared;
    if (op->u->width == 8) return shared_wide_atomic(op, shared);
    if (op->u->width == 16) return shared_quad_atomic(op, shared);
    const struct lanes lanes = memop_lanes(op);
    const uint32_t *b = operand_row(&lanes, op->u->b), *c = operand_row(&lanes, op->u->c);
    uint32_t most = 0;
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (!(op->active >> lane & 1)) continue;
        const uint32_t same = same_word(op, lane);
        most = same > most ? same : most;
        const uint32_t first = b[lane], second = c[lane];
        const uint32_t old =
            lane_atomic(shared + op->addr[lane], (enum atom_op)op->u->sub, first, second);
        if (op->u->dst_count) op->w->rows[op->u->d * 32u + lane] = old;
    }
    return most;
}

/* Does it only ask whether it has won? */
static bool asks(const struct uop *u) { return u->sub == ATOM_CAST || u->sub == ATOM_CAST64; }

/* Does an operand come from registers? */
static bool in_registers(uint32_t row) { return !(row & ROW_UNIFORM); }

/* Does it count lanes (POPC), instead of adding what each of them has? */
static bool counts(const struct memop *op) {
    return op->u->sub == ATOM_ADD && op->sm->m->program->sass && !in_registers(op->u->b);
}

/* Where lanes are ways of a bank (CC 9.0; h200: shared_ways.csv), those that want one word count
 * once if it only asks whether it has won (CAST), since all others lose at once, or counts. */
uint32_t shared_atomic_passes(const struct memop *op, uint32_t load, uint32_t lanes) {
    const struct config *cfg = op->sm->m->cfg;
    const struct uop *u = op->u;
    const bool compares =
        asks(u) || u->sub == ATOM_CAS || u->sub == ATOM_CAS64 || u->sub == ATOM_CAS128;
    const uint32_t each = compares ? cfg->smem_cas_passes : cfg->smem_atomic_passes;
    if (asks(u)) return each * load;
    if (cfg->smem_rule != 9 || atom_is_barrier(u->sub)) return each * load * lanes;
    return each * (counts(op) ? load : smem_ways(cfg, op->addr, op->active, u->width));
}

/* The result comes later by the time in which the registers are read that have the data, as those
 * of stores. */
void shared_atomic_late(struct memop *op) {
    const struct config *cfg = op->sm->m->cfg;
    const struct uop *u = op->u;
    if (atom_is_barrier(u->sub)) {
        mbarrier_late(op);
        return;
    }
    if (!u->dst_count) return;
    const uint32_t words = in_registers(u->b) ? control_data(u) : 0,
                   reads = words ? cfg->read_data + (words - 1) * cfg->read_more : 0;
    lsu_set_ready(op, op->w->ready[u->data[0]] + (asks(u) ? cfg->smem_cast_late : reads),
                  WAIT_SHARED);
}
