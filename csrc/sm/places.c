#include "sm/places.h"

#include "base/bits.h"
#include "base/hints.h"
#include "sm/lsu.h"

/* Fill in the device addresses of a local access. The words of the 32 lanes lie side by side, so
 * that equal offsets coalesce. */
NOINLINE static bool local_addresses(struct memop *op) {
    const struct machine *m = op->sm->m;
    const uint32_t bytes = m->program->meta.local_bytes;
    if (!lsu_addresses(op, 0, bytes, 0, ERROR_LOCAL_BOUNDS)) return false;
    const uint32_t slot = op->sm->id * m->local_slots + op->warp;
    const uint32_t base = m->local_buffer.address + slot * bytes * 32;
    for (uint32_t lane = 0; lane < 32; lane++)
        op->addr[lane] = base + (op->addr[lane] & ~3u) * 32 + lane * 4 + (op->addr[lane] & 3u);
    return true;
}

/* Fault at the first lane that stores to an array that is read only. */
static bool refuse_store(struct memop *op, const struct buffer *b, int32_t array) {
    const struct lanes lanes = memop_lanes(op);
    const uint32_t lane = bits_lowest(op->active);
    const uint32_t address = operand_row(&lanes, op->u->a)[lane] + (uint32_t)op->u->imm;
    lsu_fault(op, lane, ERROR_READ_ONLY, (int32_t)(address - b->address));
    op->sm->fault.array = array;
    return false;
}

/* Fault at a lane whose address lies in no array, or in one where it may not. */
static bool refuse_pointer(struct memop *op, uint32_t lane, const struct buffer *b,
                           enum error code) {
    const int64_t address = (int64_t)op->addr[lane] - (b ? b->address : 0);
    lsu_fault(op, lane, code, address);
    if (b) op->sm->fault.array = (int32_t)(b - op->sm->m->buffers);
    return false;
}

/* The array to which all lanes go, as far as their span tells; NULL: look closer. */
static const struct buffer *spanned(const struct memop *op) {
    const uint32_t width = op->u->width;
    if (!op->spanned || op->odd & (width - 1)) return NULL;
    const struct buffer *b = buffers_find(&op->sm->m->all, op->lowest, width);
    const bool holds = b && op->highest - b->address <= b->bytes - width;
    return holds && (b->writable || places_load(op->u->op)) ? b : NULL;
}

/* Fill in the addresses of an access that names no array, and find the one it goes to: that of its
 * first lane, unless others go elsewhere. */
NOINLINE static bool pointer_addresses(struct memop *op, const struct buffer **buffer) {
    const struct machine *m = op->sm->m;
    const uint32_t width = op->u->width;
    const struct buffer *b = NULL;
    *buffer = spanned(op);
    if (*buffer) return true;
    if (!lsu_addresses(op, 0, UINT32_MAX, 0, ERROR_GLOBAL_BOUNDS)) return false;
    for (uint32_t left = op->active; left; left &= left - 1) {
        if (b && buffer_holds(b, op->addr, op->active, width)) break;
        const uint32_t lane = bits_lowest(left), offset = op->addr[lane] - (b ? b->address : 0);
        if (b && offset < b->bytes && b->bytes - offset >= width) continue;
        b = buffers_find(&m->all, op->addr[lane], width);
        if (!b) {
            const struct buffer *near = buffers_touching(&m->all, op->addr[lane], width);
            return refuse_pointer(op, lane, near, ERROR_GLOBAL_BOUNDS);
        }
        if (!b->writable && !places_load(op->u->op))
            return refuse_pointer(op, lane, b, ERROR_READ_ONLY);
        *buffer = *buffer ? &m->mixed : b;
    }
    return true;
}

bool places_of(struct memop *op, const struct buffer **buffer) {
    const struct machine *m = op->sm->m;
    const int32_t array = op->u->aux;
    if (op->u->op == OP_LD_LOCAL || op->u->op == OP_ST_LOCAL) {
        *buffer = &m->local_buffer;
        return local_addresses(op);
    }
    if (array < 0) return pointer_addresses(op, buffer);
    const struct buffer *b = *buffer = &m->buffers[array];
    if (!b->writable && !places_load(op->u->op)) return refuse_store(op, b, array);
    if (lsu_addresses(op, b->address, b->bytes, 0, ERROR_GLOBAL_BOUNDS)) return true;
    op->sm->fault.array = array;
    return false;
}
