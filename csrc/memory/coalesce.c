#include "memory/coalesce.h"

#include <assert.h>

#include "base/bits.h"
#include "base/clones.h"
#include "base/hints.h"
#include "memory/sets.h"

/* The lanes of one segment, and the address bits in which they differ from one of them. */
struct group {
    uint32_t lanes, differ;
};

/* The lanes whose addresses lie in the first one's aligned segment of ~keep + 1 bytes. Compilers
 * vectorise the loop as it is written. */
CLONES static struct group segment_of(const uint32_t addr[32], uint32_t lanes, uint32_t first,
                                      uint32_t keep) {
    struct group found = {0, 0};

    for (uint32_t lane = 0; lane < 32; lane++) {
        const uint32_t apart = addr[lane] ^ first;
        const bool inside = (apart & keep) == 0 && (lanes & 1u << lane) != 0;

        found.lanes |= inside ? 1u << lane : 0;
        found.differ |= inside ? apart : 0;
    }
    return found;
}

/* CC 1.2/1.3: half of the segment where that is enough, 128 -> 64 -> 32 bytes. */
static uint32_t shrunk(uint32_t bytes, uint32_t differ) {
    while (bytes > 32 && (differ & bytes / 2) == 0) bytes /= 2;
    return bytes;
}

/* The segment of the lowest of the lanes, with all lanes that it serves. */
static struct segment next_segment(const uint32_t addr[32], uint32_t lanes, uint32_t bytes,
                                   bool shrink) {
    const uint32_t first = addr[bits_lowest(lanes)];
    const struct group found = segment_of(addr, lanes, first, ~(bytes - 1));

    if (shrink) bytes = shrunk(bytes, found.differ);
    return (struct segment){first & ~(bytes - 1), bytes, found.lanes};
}

#define SLOT_BITS 6 /* twice as many as lanes */

/* All segments of the lanes, in order of their lowest one, where these are many: lane by lane, each
 * finds its segment by a hash of the address. */
static uint32_t scattered(const uint32_t addr[32], uint32_t lanes, uint32_t bytes, bool shrink,
                          struct segment *out) {
    uint8_t slots[1 << SLOT_BITS] = {0}; /* number of a segment, from 1 on */
    uint32_t differ[32], count = 0;

    for (; lanes != 0; lanes &= lanes - 1) {
        const uint32_t own = addr[bits_lowest(lanes)], base = own & ~(bytes - 1);
        uint32_t slot = bits_spread(base) >> (32 - SLOT_BITS);

        while (slots[slot] != 0 && out[slots[slot] - 1].addr != base)
            slot = (slot + 1) & ((1u << SLOT_BITS) - 1);
        if (slots[slot] == 0) {
            differ[count] = own;
            out[count] = (struct segment){base, bytes, 0};
            slots[slot] = (uint8_t)++count;
        }
        out[slots[slot] - 1].lanes |= lanes & (0 - lanes);
    }
    for (uint32_t i = 0; shrink && i < count; i++) {
        const uint32_t first = differ[i];
        uint32_t apart = 0;

        for (uint32_t left = out[i].lanes; left != 0; left &= left - 1)
            apart |= addr[bits_lowest(left)] ^ first;
        out[i].bytes = shrunk(bytes, apart);
        out[i].addr = first & ~(out[i].bytes - 1);
    }
    return count;
}

/* Lanes of few segments are compared with the first lane of each, all at once. */
#define FEW_SEGMENTS 2u

/* The segments of the lanes, in order of their lowest one; returns how many. */
NOINLINE static uint32_t segments(const uint32_t addr[32], uint32_t lanes, uint32_t bytes,
                                  bool shrink, struct segment out[COALESCE_MAX_SEGMENTS]) {
    uint32_t count = 0;

    for (; lanes != 0 && count < FEW_SEGMENTS; lanes &= ~out[count++].lanes)
        out[count] = next_segment(addr, lanes, bytes, shrink);
    return lanes == 0 ? count : count + scattered(addr, lanes, bytes, shrink, out + count);
}

uint32_t coalesce_lines(const uint32_t addr[32], uint32_t mask, uint32_t bytes,
                        struct segment out[COALESCE_MAX_SEGMENTS]) {
    return segments(addr, mask, bytes, false, out);
}

static bool is_cc1(const struct config *cfg) { return cfg->coalesce_rule <= 13; }

/* How large a segment is before it shrinks. */
static uint32_t segment_bytes(const struct config *cfg, uint32_t width, bool store) {
    if (cfg->coalesce_rule == 90) return 128;
    if (is_cc1(cfg)) return width == 1 ? 32 : width == 2 ? 64 : 128;
    return cfg->coalesce_rule == 20 && cfg->coalesce_l1 && !store ? 128 : 32;
}

/* How many lanes' addresses the machine looks at together. */
static uint32_t lanes_per_request(const struct config *cfg, uint32_t width) {
    if (is_cc1(cfg)) return 16;
    return width <= 4 ? 32 : width == 8 ? 16 : 8;
}

/* Most accesses are such. */
CLONES static bool aligned_line(const uint32_t addr[32]) {
    uint32_t differ = addr[0] & 127;

    for (uint32_t lane = 0; lane < 32; lane++) differ |= addr[lane] ^ (addr[0] + 4 * lane);
    return differ == 0;
}

bool coalesce_is_line(const uint32_t addr[32]) { return aligned_line(addr); }

/* One line, two half-warps or four sectors. */
uint32_t coalesce_whole(const struct config *cfg, uint32_t base, bool store,
                        struct segment out[COALESCE_MAX_SEGMENTS]) {
    const uint32_t bytes = is_cc1(cfg) ? 64 : segment_bytes(cfg, 4, store);
    uint32_t lanes = 0xffffffffu >> (32 - bytes / 4);
    uint32_t count = 0;

    for (uint32_t offset = 0; offset < 128; offset += bytes)
        out[count++] = (struct segment){base + offset, bytes, lanes << offset / 4};
    return count;
}

/* Take a line apart into runs of sectors of 32 bytes that its lanes touch; returns how many. */
static uint32_t sector_runs(const uint32_t addr[32], struct segment line, struct segment *out) {
    uint32_t of_sector[4] = {0}, count = 0;

    if ((line.lanes & (line.lanes - 1)) == 0) {
        *out = (struct segment){addr[bits_lowest(line.lanes)] & ~31u, 32, line.lanes};
        return 1;
    }
    for (uint32_t left = line.lanes; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left);
        of_sector[addr[lane] >> 5 & 3] |= 1u << lane;
    }
    for (uint32_t i = 0; i < 4; i++) {
        if (!of_sector[i]) continue;
        if (i && of_sector[i - 1]) {
            out[count - 1].bytes += 32;
            out[count - 1].lanes |= of_sector[i];
        } else {
            out[count++] = (struct segment){line.addr + 32 * i, 32, of_sector[i]};
        }
    }
    return count;
}

/* CC 1.0/1.1: do the lanes of a half-warp ask for words in its order, from a segment's start on? */
static bool in_sequence(const uint32_t addr[32], uint32_t lanes, uint32_t width) {
    const uint32_t lowest = bits_lowest(lanes), start = addr[lowest] - (lowest & 15) * width;
    bool kept = width >= 4 && start % (width == 4 ? 64 : 128) == 0;

    for (uint32_t left = lanes; left && kept; left &= left - 1) {
        const uint32_t lane = bits_lowest(left);
        kept = addr[lane] == start + (lane & 15) * width;
    }
    return kept;
}

/* CC 1.0/1.1: the segments of a half-warp in sequence, or else 32 bytes for each lane. */
static uint32_t strict(const uint32_t addr[32], uint32_t lanes, uint32_t width,
                       struct segment *out) {
    uint32_t count = 0;

    if (!lanes) return 0;
    if (in_sequence(addr, lanes, width))
        return segments(addr, lanes, width == 4 ? 64 : 128, false, out);
    for (; lanes; lanes &= lanes - 1) {
        const uint32_t lane = bits_lowest(lanes);
        out[count++] = (struct segment){addr[lane] & ~31u, 32, 1u << lane};
    }
    return count;
}

uint32_t coalesce(const struct config *cfg, const uint32_t addr[32], uint32_t mask, uint32_t width,
                  bool store, struct segment out[COALESCE_MAX_SEGMENTS]) {
    uint32_t bytes = segment_bytes(cfg, width, store);
    uint32_t step = lanes_per_request(cfg, width);
    uint32_t group = 0xffffffffu >> (32 - step);
    uint32_t count = 0;
    struct segment line[COALESCE_MAX_SEGMENTS];

    assert(width != 0 && width <= 16 && (width & (width - 1)) == 0);
    for (uint32_t first = 0; first < 32; first += step) {
        const uint32_t lanes = mask & group << first;

        if (cfg->coalesce_rule == 10) {
            count += strict(addr, lanes, width, out + count);
            continue;
        }
        if (cfg->coalesce_rule != 90) {
            count += segments(addr, lanes, bytes, cfg->coalesce_rule == 13, out + count);
            continue;
        }
        const uint32_t n = segments(addr, lanes, bytes, false, line);
        for (uint32_t i = 0; i < n; i++) count += sector_runs(addr, line[i], &out[count]);
    }
    return count;
}

/* Do all segments lie in one line of 128 bytes? */
static bool in_one_line(const struct segment *seg, uint32_t n) {
    uint32_t differ = seg[0].bytes - 1;

    for (uint32_t i = 1; i < n; i++) differ |= seg[i].addr ^ seg[0].addr;
    return differ < 128;
}

uint32_t coalesce_clocks(const struct config *cfg, const uint32_t addr[32], uint32_t mask,
                         uint32_t width, const struct segment *seg, uint32_t n) {
    if (cfg->replay_global == cfg->issue_global) return n * cfg->issue_global;
    const uint32_t step = lanes_per_request(cfg, width), group = 0xffffffffu >> (32 - step);
    struct segment line[COALESCE_MAX_SEGMENTS];
    uint32_t requests = 0, lines = 0;

    if (n == 1 && step == 32) return cfg->issue_global;
    const bool one_line = in_one_line(seg, n);

    for (uint32_t first = 0; first < 32; first += step) {
        const uint32_t lanes = mask & group << first;

        if (!lanes) continue;
        requests++;
        lines += one_line ? 1 : coalesce_lines(addr, lanes, 128, line);
    }
    if (cfg->coalesce_rule == 10) lines = n; /* words of one line too, where they do not coalesce */
    return requests * cfg->issue_global + (lines - requests) * cfg->replay_global;
}

uint32_t coalesce_tags(const struct segment *line, uint32_t n) {
    uint32_t count[SET_BANKS] = {0}, most = 0;

    if (n == 1) return 1;
    for (uint32_t i = 0; i < n; i++) {
        if (++count[sets_bank(line[i].addr >> 7)] > most) most++;
    }
    return most;
}
