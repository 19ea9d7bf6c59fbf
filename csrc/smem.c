#include "smem.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "bits.h"

/* CC 2.x and 3.x: one request asks every bank for some rows; it takes as many passes as
 * the bank with the most distinct rows has. */
struct geometry {
    uint32_t bank_shift; /* byte address -> word of a bank */
    uint32_t row_shift;  /* byte address -> row: all a bank can deliver in one pass */
    uint32_t bank_mask;
};

static struct geometry geometry_of(const struct config *cfg) {
    uint32_t log_banks = bits_lowest(cfg->smem_banks);
    struct geometry g;

    g.bank_shift = cfg->smem_rule == 3 ? bits_lowest(cfg->smem_bank_bytes) : 2;
    /* A 3.x bank is 8 bytes wide in both modes: in 4-byte mode words i and i+32 of a
     * 64-word segment are the two halves of one row. */
    g.row_shift = log_banks + (cfg->smem_rule == 3 ? 3 : 2);
    g.bank_mask = cfg->smem_banks - 1;
    return g;
}

/* Half-warps with a lane that takes part. */
static uint32_t half_warps(uint32_t mask) {
    return (mask & 0xffffu ? 1u : 0u) + (mask & 0xffff0000u ? 1u : 0u);
}

/* Does lane i address base + step i, up to the bits outside `keep`, for every lane that takes
 * part? Written so that compilers vectorise it. */
static bool arithmetic(const uint32_t addr[32], uint32_t mask, uint32_t base, uint32_t step,
                       uint32_t keep) {
    uint32_t differ = 0;

    if (mask == 0xffffffffu) {
        for (uint32_t lane = 0; lane < 32; lane++) differ |= addr[lane] ^ (base + step * lane);
    } else {
        for (uint32_t lane = 0; lane < 32; lane++)
            differ |= mask & (1u << lane) ? addr[lane] ^ (base + step * lane) : 0;
    }
    return (differ & keep) == 0;
}

/* Do the lanes address banks of their own? */
static bool distinct_banks(const uint32_t addr[32], uint32_t lanes, uint32_t offset,
                           uint32_t bank_shift, uint32_t bank_mask) {
    uint32_t count = bits_count(lanes);
    uint64_t seen = 0;

    for (; lanes != 0; lanes &= lanes - 1) {
        uint32_t bank = (addr[bits_lowest(lanes)] + offset) >> bank_shift & bank_mask;

        seen |= 1ull << bank;
    }
    return bits_count64(seen) == count;
}

/* CC 1.x, one 32-bit request of a half-warp. Each pass picks one word for broadcast and
 * serves all lanes within it, and one lane of each other bank. The machine's choice of word
 * and lane is not documented; here both are the lowest lane still waiting. */
static uint32_t broadcast_passes(const uint32_t addr[32], uint32_t lanes, uint32_t offset,
                                 uint32_t bank_mask) {
    uint32_t waiting[SMEM_MAX_BANKS]; /* lanes per bank, valid where `banks` has a bit */
    uint64_t banks = 0;
    uint32_t passes = 0;

    if (distinct_banks(addr, lanes, offset, 2, bank_mask)) return 1;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        uint32_t lane = bits_lowest(rest);
        uint32_t bank = ((addr[lane] + offset) >> 2) & bank_mask;

        waiting[bank] = (banks >> bank & 1 ? waiting[bank] : 0) | 1u << lane;
        banks |= 1ull << bank;
    }
    while (lanes != 0) {
        uint32_t lead = bits_lowest(lanes);
        uint32_t word = (addr[lead] + offset) >> 2;
        uint64_t pending = banks;
        uint32_t served = 0;

        for (uint32_t rest = waiting[word & bank_mask]; rest != 0; rest &= rest - 1) {
            uint32_t lane = bits_lowest(rest);

            served |= (addr[lane] + offset) >> 2 == word ? 1u << lane : 0;
        }
        pending &= ~(1ull << (word & bank_mask));
        for (; pending != 0; pending &= pending - 1) {
            uint32_t first = waiting[__builtin_ctzll(pending)];

            served |= first & (0u - first);
        }
        for (pending = banks; pending != 0; pending &= pending - 1) {
            uint32_t bank = (uint32_t)__builtin_ctzll(pending);

            waiting[bank] &= ~served;
            if (waiting[bank] == 0) banks &= ~(1ull << bank);
        }
        lanes &= ~served;
        passes++;
    }
    return passes;
}

static struct smem_cost cost_cc1(const struct config *cfg, const uint32_t addr[32], uint32_t mask,
                                 uint32_t width) {
    const uint32_t half[2] = {mask & 0xffffu, mask & 0xffff0000u};
    uint32_t words = width > 4 ? width >> 2 : 1;
    struct smem_cost cost = {0, 0};

    /* Wider accesses are split into 32-bit ones: word k of every lane together. */
    for (uint32_t k = 0; k < words; k++) {
        for (uint32_t h = 0; h < 2; h++) {
            if (half[h] == 0) continue;
            cost.passes += broadcast_passes(addr, half[h], 4 * k, cfg->smem_banks - 1);
            cost.ideal++;
        }
    }
    return cost;
}

/* Most distinct rows that the lanes' accesses ask of one bank. */
static uint32_t row_passes(const struct geometry *g, const uint32_t addr[32], uint32_t lanes,
                           uint32_t width) {
    uint8_t head[SMEM_MAX_BANKS]; /* newest node of the bank's list + 1, 0: empty */
    uint8_t count[SMEM_MAX_BANKS];
    uint8_t next[64]; /* at most 32 lanes x 2 bank words, or 8 lanes x 4 */
    uint32_t row[64];
    uint32_t nodes = 0, most = 0;
    uint32_t step = 1u << g->bank_shift;

    if (width <= step && distinct_banks(addr, lanes, 0, g->bank_shift, g->bank_mask)) return 1;
    memset(head, 0, g->bank_mask + 1);
    memset(count, 0, g->bank_mask + 1);
    for (; lanes != 0; lanes &= lanes - 1) {
        uint32_t first = addr[bits_lowest(lanes)];

        for (uint32_t offset = 0; offset < width; offset += step) {
            uint32_t bank = ((first + offset) >> g->bank_shift) & g->bank_mask;
            uint32_t key = (first + offset) >> g->row_shift;
            uint32_t node = head[bank];

            while (node != 0 && row[node - 1] != key) node = next[node - 1];
            if (node != 0) continue;
            assert(nodes < 64);
            row[nodes] = key;
            next[nodes] = head[bank];
            head[bank] = (uint8_t)++nodes;
            if (++count[bank] > most) most = count[bank];
        }
    }
    return most;
}

/* CC 2.x: a warp's 32-bit access is one request, 64-bit two half-warps, 128-bit four
 * quarter-warps. For 128 bits "one must add 1" [PG55 G.4.3]; adding it per half-warp gives
 * 6 passes = 12 clk for a linear access, as measured (12.1 clk [GMB]). */
static struct smem_cost cost_cc2(const struct config *cfg, const uint32_t addr[32], uint32_t mask,
                                 uint32_t width) {
    const struct geometry g = geometry_of(cfg);
    uint32_t lanes_per_request = width <= 4 ? 32 : width == 8 ? 16 : 8;
    uint32_t group = 0xffffffffu >> (32 - lanes_per_request);
    struct smem_cost cost = {0, 0};

    for (uint32_t lane = 0; lane < 32; lane += lanes_per_request) {
        uint32_t lanes = mask & group << lane;

        if (lanes == 0) continue;
        cost.passes += row_passes(&g, addr, lanes, width);
        cost.ideal++;
    }
    if (width == 16) {
        uint32_t halves = half_warps(mask);

        cost.passes += halves;
        cost.ideal += halves;
    }
    return cost;
}

/* CC 3.x: one request up to 64 bits, two half-warps for 128 bits (256 bytes a pass). */
static struct smem_cost cost_cc3(const struct config *cfg, const uint32_t addr[32], uint32_t mask,
                                 uint32_t width) {
    const struct geometry g = geometry_of(cfg);
    const uint32_t request[2] = {width == 16 ? mask & 0xffffu : mask,
                                 width == 16 ? mask & 0xffff0000u : 0};
    struct smem_cost cost = {0, 0};

    for (uint32_t r = 0; r < 2; r++) {
        if (request[r] == 0) continue;
        cost.passes += row_passes(&g, addr, request[r], width);
        cost.ideal++;
    }
    return cost;
}

/* Nearly all accesses are 32-bit and either linear or a broadcast: no conflict. The first two
 * lanes tell which of them it can be. */
static bool conflict_free(const struct config *cfg, const uint32_t addr[32], uint32_t mask,
                          uint32_t width) {
    uint32_t lanes_per_request = cfg->smem_rule == 1 ? 16 : 32;
    uint32_t first = bits_lowest(mask);
    uint32_t rest = mask & (mask - 1);
    uint32_t second = rest != 0 ? bits_lowest(rest) : first;

    if (width > 4) return false;
    if (addr[first] >> 2 == addr[second] >> 2) return arithmetic(addr, mask, addr[first], 0, ~3u);
    if (addr[second] - addr[first] != 4 * (second - first)) return false;
    return cfg->smem_banks >= lanes_per_request && width == 4 &&
           arithmetic(addr, mask, addr[first] - 4 * first, 4, ~0u);
}

struct smem_cost smem_passes(const struct config *cfg, const uint32_t addr[32], uint32_t mask,
                             uint32_t width) {
    assert(width != 0 && width <= 16 && (width & (width - 1)) == 0);
    assert(bits_is_power_of_two(cfg->smem_banks) && cfg->smem_banks <= SMEM_MAX_BANKS);
    if (mask == 0) return (struct smem_cost){0, 0};
    if (conflict_free(cfg, addr, mask, width)) {
        uint32_t requests = cfg->smem_rule == 1 ? half_warps(mask) : 1;

        return (struct smem_cost){requests, requests};
    }
    switch (cfg->smem_rule) {
    case 1: return cost_cc1(cfg, addr, mask, width);
    case 2: return cost_cc2(cfg, addr, mask, width);
    default: return cost_cc3(cfg, addr, mask, width);
    }
}
