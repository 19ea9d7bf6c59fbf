/* The functional effect of a memory transaction. */
#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "base/clones.h"
#include "base/hints.h"
#include "kernel/lanes.h"
#include "memory/buffers.h"

static uint8_t *host_of(const struct access *a, uint32_t lane) {
    return a->buffer->host + (a->addr[lane] - a->buffer->address);
}

/* How many neighbouring lanes, whose addresses lie `step` bytes apart, these are; 0 if they are not
 * such ones. */
static ALWAYS_INLINE uint32_t run_of(const uint32_t addr[32], uint32_t lanes, uint32_t step) {
    const uint32_t first = bits_lowest(lanes), run = lanes >> first;
    const uint32_t base = addr[first] - step * first;
    uint32_t differ = run & (run + 1);
    for (uint32_t lane = 0; lane < 32; lane++)
        differ |= (addr[lane] ^ (base + step * lane)) & (0u - (lanes >> lane & 1));
    return differ ? 0 : bits_count(lanes);
}

CLONES static uint32_t consecutive_words(const uint32_t addr[32], uint32_t lanes) {
    return run_of(addr, lanes, 4);
}

CLONES static uint32_t equal_addresses(const uint32_t addr[32], uint32_t lanes) {
    return run_of(addr, lanes, 0);
}

/* A line may hold words of several views, and reach beyond them; what lies there is nobody's. */
NOINLINE static void fill(struct access *a) {
    const uint32_t bytes = a->addr[1];
    const uint64_t line = a->addr[0], end = line + bytes;
    const struct buffer *b = a->buffer;
    uint8_t *into = (uint8_t *)a->data[0];
    if (line >= b->address && end <= (uint64_t)b->address + b->bytes) {
        if (bytes == sizeof a->data[0])
            memcpy(into, b->host + (line - b->address), sizeof a->data[0]); /* as most are */
        else memcpy(into, b->host + (line - b->address), bytes);
        return;
    }
    memset(into, 0, bytes);
    do {
        const uint64_t low = b->address, high = low + b->bytes;
        const uint64_t from = line < low ? low : line, to = end > high ? high : end;
        if (from < to) memcpy(into + (from - line), b->host + (from - low), to - from);
        b = b->next_view;
    } while (b != a->buffer);
}

/* How many neighbouring lanes with consecutive words these are; 0 if they are not such ones. */
static uint32_t words_side_by_side(const struct access *a, uint32_t lanes) {
    const uint32_t run = lanes >> bits_lowest(lanes);
    if (!(a->flags & ACCESS_WHOLE)) return a->width == 4 ? consecutive_words(a->addr, lanes) : 0;
    return run & (run + 1) ? 0 : bits_count(run);
}

/* Consecutive words at once; false: they are not. */
static bool read_run(const struct access *a, uint32_t lanes, const uint8_t *from, uint32_t base) {
    const uint32_t run = words_side_by_side(a, lanes), first = bits_lowest(lanes);
    if (!run) return false;
    memcpy(access_row(a, 0) + first, from + (a->addr[first] - base), run * 4);
    return true;
}

/* Words at one address for all lanes; false: they ask for several. */
static bool read_equal(const struct access *a, uint32_t lanes, const uint8_t *from, uint32_t base) {
    const uint32_t count = a->width >= 4 ? equal_addresses(a->addr, lanes) : 0,
                   first = bits_lowest(lanes);
    for (uint32_t i = 0; count && i < a->width / 4u; i++) {
        uint32_t *row = access_row(a, i) + first;
        const uint32_t word = *(const loose_word *)(from + (a->addr[first] - base) + 4 * i);
        for (uint32_t lane = 0; lane < count; lane++) row[lane] = word;
    }
    return count;
}

/* How many lanes are too few to be looked at all at once. */
#define FEW_LANES 8u

static ALWAYS_INLINE void read_lane(const struct access *a, uint32_t lane, const uint8_t *from,
                                    uint32_t base) {
    const uint8_t *at = from + (a->addr[lane] - base);
    const uint32_t words = a->width <= 4 ? 1 : a->width / 4;
    for (uint32_t i = 0; i < words; i++)
        access_row(a, i)[lane] = lane_load(at + 4 * i, a->width, a->flags & INSN_SIGNED);
}

NOINLINE static void read_lanes(const struct access *a, uint32_t lanes, const uint8_t *from,
                                uint32_t base) {
    if (bits_count(lanes) > FEW_LANES && read_equal(a, lanes, from, base)) return;
    for (uint32_t left = lanes; left; left &= left - 1) read_lane(a, bits_lowest(left), from, base);
}

/* Words of lanes that nobody else reads for. */
CLONES static void gather(const struct access *a, uint32_t lanes, const uint8_t *from,
                          uint32_t base) {
    const uint32_t words = a->width / 4, first = a->addr[bits_lowest(lanes)];
    uint32_t apart = 0;
    for (uint32_t lane = 0; lane < 32; lane++)
        apart |= (a->addr[lane] ^ first) & (0u - (lanes >> lane & 1));
    for (uint32_t i = 0; i < words; i++) {
        uint32_t *row = access_row(a, i);
        if (apart) {
            gather_words(row, from + 4 * i, base, a->addr, lanes);
        } else { /* one word for all, as often */
            const uint32_t word = *(const loose_word *)(from + (first - base) + 4 * i);
            for (uint32_t lane = 0; lane < 32; lane++)
                row[lane] = lanes >> lane & 1 ? word : row[lane];
        }
    }
}

void access_read(const struct access *a, uint32_t lanes, const uint8_t *from, uint32_t base) {
    if (!(lanes & (lanes - 1))) {
        read_lane(a, bits_lowest(lanes), from, base);
        return;
    }
    if (read_run(a, lanes, from, base)) return;
    if (a->width >= 4 && bits_count(lanes) > FEW_LANES) gather(a, lanes, from, base);
    else read_lanes(a, lanes, from, base);
}

/* Other lanes of the row belong to other transactions, which other host threads may serve. */
static void load(struct access *a, uint32_t lanes) {
    const struct buffer *b = a->buffer;
    if (a->flags & ACCESS_FILL) fill(a);
    else if (!read_run(a, lanes, b->host, b->address)) read_lanes(a, lanes, b->host, b->address);
}

static void store(struct access *a, uint32_t lanes) {
    const uint32_t run = words_side_by_side(a, lanes), first = bits_lowest(lanes);
    if (run) {
        memcpy(host_of(a, first), a->data[0] + first, run * 4);
        return;
    }
    const uint32_t words = a->width <= 4 ? 1 : a->width / 4;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left);
        uint8_t *at = host_of(a, lane);
        for (uint32_t i = 0; i < words; i++) lane_store(at + 4 * i, a->width, a->data[i][lane]);
    }
}

NOINLINE static void atomic(struct access *a, uint32_t lanes) {
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left);
        const uint32_t old =
            lane_atomic(host_of(a, lane), (enum atom_op)a->sub, a->data[0][lane], a->data[1][lane]);
        if (a->dst[0] != OPERAND_NONE) access_row(a, 0)[lane] = old;
    }
}

NOINLINE static void wide_atomic(struct access *a, uint32_t lanes) {
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left);
        const uint64_t old = lane_wide_atomic(host_of(a, lane), (enum atom_op)a->sub,
                                              lane_pair(a->data[0], a->data[1], lane),
                                              lane_pair(a->data[2], a->data[3], lane));
        if (a->dst[0] == OPERAND_NONE) continue;
        access_row(a, 0)[lane] = (uint32_t)old;
        access_row(a, 1)[lane] = (uint32_t)(old >> 32);
    }
}

/* What is stored where the old value is equal stands where that goes (program.c). */
NOINLINE static void quad_atomic(struct access *a, uint32_t lanes) {
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left);
        const bool returns = a->dst[0] != OPERAND_NONE;
        uint32_t first[4], second[4], old[4];
        for (uint32_t i = 0; i < 4; i++) {
            first[i] = a->data[i][lane];
            second[i] = returns ? access_row(a, i)[lane] : 0;
        }
        lane_quad_atomic(host_of(a, lane), (enum atom_op)a->sub, first, second, old);
        for (uint32_t i = 0; i < 4 && returns; i++) access_row(a, i)[lane] = old[i];
    }
}

/* Array by array: lanes of one go to several. Other threads may serve other lanes of the access, so
 * each is written down anew. */
NOINLINE static void perform_mixed(const struct access *a, uint32_t lanes) {
    while (lanes) {
        const uint32_t first = a->addr[bits_lowest(lanes)];
        struct access part = {.rows = a->rows,
                              .buffer = buffers_find(a->buffer->all, first, a->width),
                              .kind = a->kind,
                              .width = a->width,
                              .sub = a->sub,
                              .flags = (uint8_t)(a->flags & ~ACCESS_WHOLE)};
        const struct buffer *b = part.buffer;
        assert(b); /* the access has issued */
        memcpy(part.dst, a->dst, sizeof part.dst);
        memcpy(part.addr, a->addr, sizeof part.addr);
        memcpy(part.data, a->data, sizeof part.data);
        for (uint32_t left = lanes; left; left &= left - 1) {
            const uint32_t offset = a->addr[bits_lowest(left)] - b->address;
            if (offset < b->bytes && b->bytes - offset >= a->width) part.mask |= left & (0 - left);
        }
        access_perform(&part, part.mask);
        lanes &= ~part.mask;
    }
}

void access_perform(struct access *a, uint32_t lanes) {
    if (!lanes || !a->buffer) return; /* what fetches has no array */
    assert(!(lanes & ~a->mask) || a->flags & ACCESS_FILL);
    if (a->buffer->all) {
        perform_mixed(a, lanes);
        return;
    }
    switch (a->kind) {
    case ACCESS_LOAD:
    case ACCESS_TEXTURE: load(a, lanes); break;
    case ACCESS_STORE: store(a, lanes); break;
    case ACCESS_ATOM:
        if (a->width == 16) quad_atomic(a, lanes);
        else if (a->width == 8) wide_atomic(a, lanes);
        else atomic(a, lanes);
        break;
    default: break;
    }
}
