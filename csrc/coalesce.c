#include "coalesce.h"

#include <assert.h>

#include "bits.h"

/* Which of the lanes address the aligned segment of `bytes` bytes at `base`. */
static uint32_t lanes_in_segment(const uint32_t addr[32], uint32_t lanes, uint32_t base,
                                 uint32_t bytes) {
    uint32_t inside = 0;

    for (; lanes != 0; lanes &= lanes - 1) {
        uint32_t lane = bits_lowest(lanes);

        inside |= ((addr[lane] & ~(bytes - 1)) == base ? 1u : 0u) << lane;
    }
    return inside;
}

/* CC 1.2/1.3: use half of the segment where that is enough, 128 -> 64 -> 32 bytes. */
static struct segment shrink(const uint32_t addr[32], struct segment s) {
    while (s.bytes > 32) {
        uint32_t half = s.bytes / 2;
        uint32_t low = lanes_in_segment(addr, s.lanes, s.addr, half);

        if (low != 0 && low != s.lanes) break;
        if (low == 0) s.addr += half;
        s.bytes = half;
    }
    return s;
}

static uint32_t segment_bytes(const struct config *cfg, uint32_t width, bool store) {
    if (cfg->coalesce_rule == 13) return width == 1 ? 32 : width == 2 ? 64 : 128;
    return cfg->coalesce_rule == 20 && cfg->coalesce_l1 && !store ? 128 : 32;
}

/* Lanes whose addresses the machine looks at together. */
static uint32_t lanes_per_request(const struct config *cfg, uint32_t width) {
    if (cfg->coalesce_rule == 13) return 16;
    return width <= 4 ? 32 : width == 8 ? 16 : 8;
}

/* All 32 lanes read consecutive words from a 128-byte boundary on. */
static bool aligned_line(const uint32_t addr[32], uint32_t mask, uint32_t width) {
    uint32_t differ = addr[0] & 127;

    if (width != 4 || mask != 0xffffffffu) return false;
    for (uint32_t lane = 1; lane < 32; lane++) differ |= addr[lane] ^ (addr[0] + 4 * lane);
    return differ == 0;
}

/* The transactions of an aligned line: one line, two half-warps or four sectors. */
static uint32_t coalesce_line(uint32_t base, uint32_t bytes, struct segment out[64]) {
    uint32_t lanes = 0xffffffffu >> (32 - bytes / 4);
    uint32_t count = 0;

    for (uint32_t offset = 0; offset < 128; offset += bytes)
        out[count++] = (struct segment){base + offset, bytes, lanes << offset / 4};
    return count;
}

uint32_t coalesce(const struct config *cfg, const uint32_t addr[32], uint32_t mask, uint32_t width,
                  bool store, struct segment out[64]) {
    uint32_t bytes = segment_bytes(cfg, width, store);
    uint32_t step = lanes_per_request(cfg, width);
    uint32_t group = 0xffffffffu >> (32 - step);
    uint32_t count = 0;

    assert(width != 0 && width <= 16 && (width & (width - 1)) == 0);
    if (aligned_line(addr, mask, width))
        return coalesce_line(addr[0], cfg->coalesce_rule == 13 ? 64 : bytes, out);
    for (uint32_t first = 0; first < 32; first += step) {
        uint32_t lanes = mask & group << first;

        /* The next transaction serves the segment of the lowest lane still waiting. */
        while (lanes != 0) {
            struct segment s = {addr[bits_lowest(lanes)] & ~(bytes - 1), bytes, 0};

            s.lanes = lanes_in_segment(addr, lanes, s.addr, bytes);
            assert(count < COALESCE_MAX_SEGMENTS);
            out[count++] = cfg->coalesce_rule == 13 ? shrink(addr, s) : s;
            lanes &= ~s.lanes;
        }
    }
    return count;
}
