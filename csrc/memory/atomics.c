#include "memory/atomics.h"

#include "base/bits.h"
#include "kernel/program.h"

/* How many lanes have the most frequent address: an atomic takes these one by one. */
static uint32_t contention(const struct access *a, uint32_t lanes) {
    uint32_t most = 0;
    while (lanes) {
        uint32_t addr = a->addr[bits_lowest(lanes)], same = 0;
        for (uint32_t m = lanes; m; m &= m - 1)
            if (a->addr[bits_lowest(m)] == addr) {
                same++;
                lanes &= ~(m & (0u - m));
            }
        most = same > most ? same : most;
    }
    return most;
}

/* Those of the lanes whose address lies in the same sector as that of the first one. */
static uint32_t in_first_sector(const struct access *a, uint32_t lanes) {
    const uint32_t sector = a->addr[bits_lowest(lanes)] >> ATOM_LOCK_SHIFT;
    uint32_t inside = 0;
    for (uint32_t left = lanes; left; left &= left - 1)
        if (a->addr[bits_lowest(left)] >> ATOM_LOCK_SHIFT == sector) inside |= left & (0u - left);
    return inside;
}

uint32_t atomics_flits(const struct access *a, uint32_t lanes) {
    const uint32_t same = contention(a, lanes);
    if (a->dst[0] == OPERAND_NONE && same == bits_count(lanes)) return same;
    uint32_t packets = 0, sectors = 0;
    while (lanes) {
        const uint32_t inside = in_first_sector(a, lanes), each = contention(a, inside);
        packets = each > packets ? each : packets;
        sectors += each;
        lanes &= ~inside;
    }
    return packets + sectors;
}

static inline uint32_t first_lock(const struct request *r) { return r->addr >> ATOM_LOCK_SHIFT; }

static inline uint32_t last_lock(const struct request *r) {
    return (r->addr + r->bytes - 1u) >> ATOM_LOCK_SHIFT;
}

uint64_t atomics_unlocked(const struct slice *s, const struct request *r) {
    uint64_t tick = 0;
    for (uint32_t i = first_lock(r); i <= last_lock(r); i++)
        if (s->unlocked[i % ATOM_LOCKS] > tick) tick = s->unlocked[i % ATOM_LOCKS];
    return tick;
}

/* Note that a sector has an atomic; was it noted already? A sector with the same hash replaces it.
 */
static bool note_sector(struct slice *s, uint32_t sector) {
    uint32_t *at = &s->recent[bits_spread(sector) >> (32 - ATOM_RECENT_BITS)];
    const bool known = *at == sector + 1;
    *at = sector + 1;
    return known;
}

/* Sums of floats on one word take longer than others (h200: atomic_kinds.csv). */
static bool is_float(enum atom_op op) {
    return op == ATOM_ADD_F32 || op == ATOM_ADD_FTZ_F32 || op == ATOM_ADD_F16X2 ||
           op == ATOM_ADD_BF16X2;
}

/* Do all words of a sector take twice as long as those of others? There is twice as much to send of
 * what compares, and sums of doubles come half as often (h200: atomic_kinds.csv). */
static bool is_slow(enum atom_op op) { return op == ATOM_CAS || op == ATOM_CAS64; }

/* How long lanes of one sector hold a slice's pipeline, in hundredths of a clock. */
static uint32_t sector_time(const struct partition *p, struct slice *s, const struct access *a,
                            uint32_t lanes) {
    const bool known = note_sector(s, a->addr[bits_lowest(lanes)] >> ATOM_LOCK_SHIFT);
    const uint32_t same = contention(a, lanes);
    const bool whole = bits_count(lanes) * a->width == same << ATOM_LOCK_SHIFT;
    const uint32_t fresh = known || a->dst[0] == OPERAND_NONE ? 0 : p->atom_sector;
    const uint32_t all = p->atom_whole << is_slow((enum atom_op)a->sub);
    return same * ((whole ? all : p->atom_unit) + fresh);
}

uint32_t atomics_clocks(const struct partition *p, struct slice *s, const struct request *r) {
    for (uint32_t lanes = r->lanes; lanes;) {
        const uint32_t inside = in_first_sector(r->access, lanes);
        s->atom_left += sector_time(p, s, r->access, inside);
        lanes &= ~inside;
    }
    const uint32_t clocks = s->atom_left / 100;
    s->atom_left %= 100;
    return clocks;
}

uint64_t atomics_lock(struct partition *p, struct slice *s, const struct request *r,
                      uint64_t tick) {
    const enum atom_op op = (enum atom_op)r->access->sub;
    const uint64_t each = is_float(op) && p->atom_float ? p->atom_float : p->atom_interval;
    const uint64_t done = tick + each * contention(r->access, r->lanes);
    for (uint32_t i = first_lock(r); i <= last_lock(r); i++) s->unlocked[i % ATOM_LOCKS] = done;
    p->stats.atomics++;
    return done;
}
