#include "sm/smem.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/bits.h"
#include "base/clones.h"
#include "base/hints.h"

_Static_assert(SMEM_MAX_BANKS == MOST_smem_banks, "as many as config.def allows");

/* How banks divide addresses. On CC 2.x and 3.x a request asks every bank for some rows, and takes
 * as many passes as the bank with the most distinct rows has. */
struct geometry {
    uint32_t bank_shift; /* byte address -> word of a bank */
    uint32_t row_shift;  /* byte address -> row: all a bank can deliver in one pass */
    uint32_t bank_mask;
};

static ALWAYS_INLINE struct geometry geometry_of(const struct config *cfg) {
    uint32_t log_banks = bits_lowest(cfg->smem_banks);
    struct geometry g;

    g.bank_shift = cfg->smem_rule == 3 ? bits_lowest(cfg->smem_bank_bytes) : 2;
    /* A 3.x bank is 8 bytes wide in both modes: in 4-byte mode words i and i+32 of a
     * 64-word segment are the two halves of one row. */
    g.row_shift = log_banks + (cfg->smem_rule == 3 ? 3 : 2);
    g.bank_mask = cfg->smem_banks - 1;
    return g;
}

/* How many half-warps have a lane that takes part. */
static uint32_t half_warps(uint32_t mask) {
    return (mask & 0xffffu ? 1u : 0u) + (mask & 0xffff0000u ? 1u : 0u);
}

/* What a glance at the addresses shows, half-warp by half-warp. */
struct glance {
    uint32_t apart; /* lanes that address another word than the lowest lane of their half-warp */
    uint32_t bent;  /* lanes that are not as many words further as they are lanes further */
};

/* Compare the addresses with those of a half-warp that asks for one word, or for consecutive ones.
 * base: where lane 0 of each half-warp were in the latter case. */
static ALWAYS_INLINE struct glance compare(const uint32_t addr[32], const uint32_t first[2],
                                           const uint32_t base[2]) {
    const uint32_t first0 = first[0], first1 = first[1], base0 = base[0], base1 = base[1];
    struct glance seen = {0, 0};

    for (uint32_t lane = 0; lane < 32; lane++) {
        const uint32_t word = lane < 16 ? first0 : first1;
        const uint32_t straight = (lane < 16 ? base0 : base1) + 4 * lane;

        seen.apart |= (addr[lane] ^ word) > 3 ? 1u << lane : 0;
        seen.bent |= addr[lane] != straight ? 1u << lane : 0;
    }
    return seen;
}

static ALWAYS_INLINE struct glance glance_at(const uint32_t addr[32], uint32_t mask) {
    const uint32_t lead0 = bits_lowest(mask | 1u << 15),
                   lead1 = bits_lowest(mask >> 16 | 1u << 15) + 16;
    const uint32_t first[2] = {addr[lead0], addr[lead1]};
    const uint32_t base[2] = {first[0] - 4 * lead0, first[1] - 4 * lead1};
    const struct glance seen = compare(addr, first, base);

    return (struct glance){seen.apart & mask, seen.bent & mask};
}

/* What a request asks for, if a lane's words lie in one row and in `ones` banks side by side. */
struct survey {
    uint32_t banks[2]; /* of each half-warp, a bit each, of at most 32 */
    uint32_t strayed;  /* address bits in which a lane differs from the lowest one */
};

/* Look at the lanes of a request, half-warp by half-warp. */
static ALWAYS_INLINE struct survey survey_of(const uint32_t addr[32], uint32_t lanes,
                                             const struct geometry *g, uint32_t ones) {
    const uint32_t shift = g->bank_shift, mask = g->bank_mask & 31,
                   first = addr[bits_lowest(lanes)];
    struct survey found = {{0, 0}, 0};

    for (uint32_t half = 0; half < 2; half++)
        for (uint32_t i = 0; i < 16; i++) {
            const uint32_t lane = 16 * half + i, on = lanes >> lane & 1 ? ~0u : 0;

            found.banks[half] |= (on & ones) << (addr[lane] >> shift & mask);
            found.strayed |= on & (addr[lane] ^ first);
        }
    return found;
}

/* How many bank words a lane's access takes. */
static ALWAYS_INLINE uint32_t bank_words(const struct geometry *g, uint32_t width) {
    return width >> g->bank_shift ? width >> g->bank_shift : 1;
}

/* Do the lanes address banks of their own? */
static ALWAYS_INLINE bool distinct_banks(const struct geometry *g, uint32_t banks, uint32_t lanes,
                                         uint32_t each) {
    return g->bank_mask <= 31 && bits_count(banks) == each * bits_count(lanes);
}

/* Does a half-warp ask for one word, or for consecutive ones? */
static ALWAYS_INLINE bool one_pass(const struct geometry *g, const struct glance *seen,
                                   uint32_t half) {
    const uint32_t lanes = 0xffffu << 16 * half;

    return (seen->apart & lanes) == 0 || ((seen->bent & lanes) == 0 && g->bank_mask >= 15);
}

/* The lanes without those that ask for the word of a lower one, in a half-warp that asks for one.
 */
static ALWAYS_INLINE uint32_t without_copies(const struct glance *seen, uint32_t mask) {
    const uint32_t low = mask & 0xffffu, high = mask & 0xffff0000u;

    return (seen->apart & 0xffffu ? low : low & (0u - low)) |
           (seen->apart & 0xffff0000u ? high : high & (0u - high));
}

/* The passes of one 32-bit request of a half-warp on CC 1.x. Each pass picks one word for broadcast
 * and serves all lanes within it, and one lane of each other bank. The machine's choice of word and
 * lane is not documented; here both are the lowest lane still waiting. */
NOINLINE static uint32_t broadcast_passes(const struct geometry *g, const uint32_t addr[32],
                                          uint32_t lanes) {
    uint32_t waiting[SMEM_MAX_BANKS]; /* lanes per bank, valid where `banks` has a bit */
    uint64_t banks = 0;
    uint32_t passes = 0;

    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        uint32_t lane = bits_lowest(rest);
        uint32_t bank = addr[lane] >> 2 & g->bank_mask;

        waiting[bank] = (banks >> bank & 1 ? waiting[bank] : 0) | 1u << lane;
        banks |= 1ull << bank;
    }
    while (lanes != 0) {
        uint32_t lead = bits_lowest(lanes);
        uint32_t word = addr[lead] >> 2;
        uint64_t pending = banks;
        uint32_t served = 0;

        for (uint32_t rest = waiting[word & g->bank_mask]; rest != 0; rest &= rest - 1) {
            uint32_t lane = bits_lowest(rest);

            served |= addr[lane] >> 2 == word ? 1u << lane : 0;
        }
        pending &= ~(1ull << (word & g->bank_mask));
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

/* The cost on CC 1.x. Wider accesses are split into 32-bit ones, word k of every lane together,
 * which shifts all lanes by k banks and changes nothing else. */
static ALWAYS_INLINE struct smem_cost cost_cc1(const struct geometry *g, const struct glance *seen,
                                               const uint32_t addr[32], uint32_t mask,
                                               uint32_t width) {
    const uint32_t words = width > 4 ? width >> 2 : 1;
    struct smem_cost cost = {.passes = 0};
    struct survey found = {{0, 0}, 0};

    if (!one_pass(g, seen, 0) || !one_pass(g, seen, 1)) found = survey_of(addr, mask, g, 1);
    for (uint32_t half = 0; half < 2; half++) {
        const uint32_t lanes = mask & 0xffffu << 16 * half;

        if (lanes == 0) continue;
        if (one_pass(g, seen, half) || distinct_banks(g, found.banks[half], lanes, 1))
            cost.passes += words;
        else cost.passes += words * broadcast_passes(g, addr, lanes);
        cost.ideal += words;
    }
    return cost;
}

/* The lanes whose word lies in that bank. */
static ALWAYS_INLINE uint32_t lanes_in_bank(const struct geometry *g, const uint32_t addr[32],
                                            uint32_t lanes, uint32_t bank) {
    const uint32_t shift = g->bank_shift, mask = g->bank_mask;
    uint32_t found = 0;

    for (uint32_t lane = 0; lane < 32; lane++)
        found |= (addr[lane] >> shift & mask) == bank ? 1u << lane : 0;
    return found & lanes;
}

/* Do a lane's words, of which this is the first one's address, lie in one row and several banks?
 * The first may stand for all then. */
static ALWAYS_INLINE bool is_whole(const struct geometry *g, uint32_t first, uint32_t width) {
    return bank_words(g, width) <= g->bank_mask + 1 && (first & (width - 1)) == 0;
}

/* The passes of a request that lies in one row, or whose half-warps take one each, as where a
 * kernel was laid out for the 16 banks of CC 1.x; 0: look closer. */
static ALWAYS_INLINE uint32_t few_passes(const struct geometry *g, const uint32_t addr[32],
                                         uint32_t lanes, uint32_t width) {
    const uint32_t each = bank_words(g, width), low = lanes & 0xffffu;

    if (!is_whole(g, addr[bits_lowest(lanes)], width)) return 0;
    const struct survey found = survey_of(addr, lanes, g, (1u << each) - 1);
    const uint32_t shared = found.banks[0] & found.banks[1];

    if (found.strayed >> g->row_shift == 0) return 1;
    if (!distinct_banks(g, found.banks[0], low, each)) return 0;
    if (!distinct_banks(g, found.banks[1], lanes ^ low, each)) return 0;
    if (!shared) return 1;
    const uint32_t both = lanes_in_bank(g, addr, lanes, bits_lowest(shared)); /* a lane of each */
    const uint32_t apart = addr[bits_lowest(both)] ^ addr[31 - (uint32_t)__builtin_clz(both)];
    return apart >> g->row_shift ? 2 : 0;
}

/* Bank words of a request at most: 32 lanes with 2 each, or 8 lanes with 4. */
#define REQUEST_WORDS 64u

/* How many rows the lanes ask of the bank of which they ask most. */
NOINLINE static uint32_t count_rows(const struct geometry *g, const uint32_t addr[32],
                                    uint32_t lanes, uint32_t width) {
    uint8_t head[SMEM_MAX_BANKS]; /* newest node of the bank's list + 1, 0: empty */
    uint8_t count[SMEM_MAX_BANKS];
    uint8_t next[REQUEST_WORDS];
    uint32_t row[REQUEST_WORDS];
    uint32_t nodes = 0, most = 0;
    uint32_t step = 1u << g->bank_shift;

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
            assert(nodes < REQUEST_WORDS);
            row[nodes] = key;
            next[nodes] = head[bank];
            head[bank] = (uint8_t)++nodes;
            if (++count[bank] > most) most = count[bank];
        }
    }
    return most;
}

/* The passes of a request on CC 2.x and 3.x. */
static ALWAYS_INLINE uint32_t row_passes(const struct geometry *g, const uint32_t addr[32],
                                         uint32_t lanes, uint32_t width) {
    const uint32_t quick = few_passes(g, addr, lanes, width);

    return quick ? quick : count_rows(g, addr, lanes, width);
}

/* Do both half-warps show a shape, and lie in one row? Their ends tell. */
static ALWAYS_INLINE bool in_one_row(const struct geometry *g, const uint8_t shape[2],
                                     const uint32_t addr[32], uint32_t width) {
    const uint32_t strayed = (addr[0] ^ addr[15]) | (addr[0] ^ addr[16]) | (addr[0] ^ addr[31]);

    return shape[0] != HALF_ANY && shape[1] != HALF_ANY && strayed >> g->row_shift == 0 &&
           is_whole(g, addr[0], width);
}

/* The cost on CC 2.x: a warp's 32-bit access is one request, 64-bit two half-warps, 128-bit four
 * quarter-warps. For 128 bits "one must add 1" [PG55 G.4.3]; adding it per half-warp gives
 * 6 passes = 12 clk for a linear access, as measured (12.1 clk [GMB]). */
static ALWAYS_INLINE struct smem_cost cost_cc2(const struct geometry *g, const struct glance *seen,
                                               const uint32_t addr[32], uint32_t mask,
                                               uint32_t width, bool one_row) {
    uint32_t lanes_per_request = width <= 4 ? 32 : width == 8 ? 16 : 8;
    uint32_t group = 0xffffffffu >> (32 - lanes_per_request);
    struct smem_cost cost = {.passes = 0};

    for (uint32_t lane = 0; lane < 32; lane += lanes_per_request) {
        const uint32_t lanes = without_copies(seen, mask & group << lane);

        if (lanes == 0) continue;
        cost.passes += one_row ? 1 : row_passes(g, addr, lanes, width);
        cost.ideal++;
    }
    if (width == 16) {
        uint32_t halves = half_warps(mask);

        cost.passes += halves;
        cost.ideal += halves;
    }
    return cost;
}

/* The cost on CC 3.x: up to 64 bits an access is one request, of 128 bits two half-warps (256 bytes
 * a pass). */
static ALWAYS_INLINE struct smem_cost cost_cc3(const struct geometry *g, const struct glance *seen,
                                               const uint32_t addr[32], uint32_t mask,
                                               uint32_t width, bool one_row) {
    const uint32_t lanes = without_copies(seen, mask);
    const uint32_t request[2] = {width == 16 ? lanes & 0xffffu : lanes,
                                 width == 16 ? lanes & 0xffff0000u : 0};
    struct smem_cost cost = {.passes = 0};

    for (uint32_t r = 0; r < 2; r++) {
        if (request[r] == 0) continue;
        cost.passes += one_row ? 1 : row_passes(g, addr, request[r], width);
        cost.ideal++;
    }
    return cost;
}

/* What the lanes of a half-warp address, if all take part. */
static ALWAYS_INLINE uint8_t shape_of(const struct glance *seen, uint32_t mask, uint32_t half) {
    const uint32_t lanes = 0xffffu << 16 * half;

    if ((mask & lanes) != lanes) return HALF_ANY;
    if ((seen->apart & lanes) == 0) return HALF_UNIFORM;
    return (seen->bent & lanes) == 0 ? HALF_LINEAR : HALF_ANY;
}

CLONES static struct smem_cost cloned_passes(const struct config *cfg, const uint32_t addr[32],
                                             uint32_t mask, uint32_t width) {
    const struct geometry g = geometry_of(cfg);
    struct smem_cost cost;
    struct glance seen;

    assert(width != 0 && width <= 16 && (width & (width - 1)) == 0);
    assert(bits_is_power_of_two(cfg->smem_banks) && cfg->smem_banks <= SMEM_MAX_BANKS);
    if (mask == 0) return (struct smem_cost){.passes = 0};
    seen = glance_at(addr, mask);
    const uint8_t shape[2] = {shape_of(&seen, mask, 0), shape_of(&seen, mask, 1)};
    switch (cfg->smem_rule) {
    case 1: cost = cost_cc1(&g, &seen, addr, mask, width); break;
    case 2:
        cost = cost_cc2(&g, &seen, addr, mask, width, in_one_row(&g, shape, addr, width));
        break;
    default:
        cost = cost_cc3(&g, &seen, addr, mask, width, in_one_row(&g, shape, addr, width));
        break;
    }
    cost.shape[0] = shape[0];
    cost.shape[1] = shape[1];
    return cost;
}

struct smem_cost smem_passes(const struct config *cfg, const uint32_t addr[32], uint32_t mask,
                             uint32_t width) {
    return cloned_passes(cfg, addr, mask, width);
}
