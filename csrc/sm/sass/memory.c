#include "sm/sass/memory.h"

#include "base/bits.h"
#include "kernel/sass.h"
#include "sm/lsu.h"

static bool is_global(uint32_t op) {
    return op == OP_LD_GLOBAL || op == OP_ST_GLOBAL || op == OP_ATOM_GLOBAL;
}

/* How the instruction makes its addresses: SASS_GENERIC and so on. */
static uint32_t way_of(const struct uop *u) { return ~(uint32_t)u->aux; }

static uint32_t form_of(const struct uop *u) { return (way_of(u) & SASS_WAYS) >> SASS_FORM; }

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

/* Addresses of 64 bits: fills in their low words, and leaves their high ones in `high`. */
static void place_far(struct memop *op, uint32_t high[32]) {
    const struct lanes lanes = memop_lanes(op);
    const struct uop *u = op->u;
    const bool narrow = form_of(u);
    const uint32_t *a = operand_row(&lanes, u->a), *ah = a + 32, *b = added(&lanes, u);
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint64_t address = a[lane] + (uint64_t)(int64_t)u->imm;
        if (!narrow) address += (uint64_t)ah[lane] << 32;
        if (b) address += (uint64_t)b[lane + 32] << 32 | b[lane];
        op->addr[lane] = (uint32_t)address;
        high[lane] = (uint32_t)(address >> 32);
    }
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

bool sass_place(struct memop *op, struct uop *as) {
    uint32_t high[32];
    if (!is_global(op->u->op)) {
        place_near(op);
        return true;
    }
    place_far(op, high);
    const bool generic = way_of(op->u) & SASS_GENERIC;
    const uint32_t first = bits_lowest(op->active);
    const uint32_t found = in_space(op->u->op, generic ? high[first] : 0);
    for (uint32_t left = op->active; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left);
        if (high[lane] == (generic ? high[first] : 0) && found != OP_COUNT) continue;
        lsu_fault(op, lane, ERROR_GLOBAL_BOUNDS,
                  (int64_t)((uint64_t)high[lane] << 32 | op->addr[lane]));
        return false;
    }
    *as = *op->u;
    as->op = (uint8_t)found;
    as->aux = -1;
    op->u = as;
    return true;
}
