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

/* What is found for each half-warp. */
struct pair {
    uint32_t half[2];
};

/* The address bits in which lanes differ from addresses that begin with `first` and lie `step`
 * bytes apart, in each half-warp. With `all` known at compile time no lane is masked. */
static ALWAYS_INLINE struct pair differing(const uint32_t addr[32], uint32_t lanes, bool all,
                                           struct pair first, uint32_t step) {
    const uint32_t low = first.half[0], high = first.half[1];
    struct pair bits = {{0, 0}};

    for (uint32_t lane = 0; lane < 32; lane++) {
        const uint32_t expected = (lane < 16 ? low : high) + step * (lane & 15);
        const uint32_t found = all || lanes >> lane & 1 ? addr[lane] ^ expected : 0;

        bits.half[0] |= lane < 16 ? found : 0;
        bits.half[1] |= lane < 16 ? 0 : found;
    }
    return bits;
}

/* `ones` shifted to the bank of each lane's word, for at most 32 banks. */
static ALWAYS_INLINE struct pair shifted(const struct geometry *g, const uint32_t addr[32],
                                         uint32_t lanes, bool all, uint32_t ones) {
    const uint32_t shift = g->bank_shift, mask = g->bank_mask & 31;
    struct pair banks = {{0, 0}};

    for (uint32_t lane = 0; lane < 32; lane++) {
        const uint32_t bits = (all || lanes >> lane & 1 ? ones : 0) << (addr[lane] >> shift & mask);

        banks.half[0] |= lane < 16 ? bits : 0;
        banks.half[1] |= lane < 16 ? 0 : bits;
    }
    return banks;
}

/* What the lanes of a warp that take part ask for, half-warp by half-warp. */
struct glance {
    uint32_t lanes;
    struct pair first; /* address of the lowest lane */
    struct pair apart; /* address bits in which others differ from it */
    uint8_t shape[2];  /* enum half_shape */
};

/* Do the lanes of each half-warp ask for words that follow one another? */
static ALWAYS_INLINE bool is_linear(const uint32_t addr[32]) {
    if (addr[15] != addr[0] + 60 || addr[31] != addr[16] + 60) return false;
    const struct pair other = differing(addr, ~0u, true, (struct pair){{addr[0], addr[16]}}, 4);
    return !(other.half[0] | other.half[1]);
}

static ALWAYS_INLINE struct glance glance_at(const uint32_t addr[32], uint32_t mask) {
    const uint32_t lead[2] = {bits_lowest(mask | 1u << 15), bits_lowest(mask >> 16 | 1u << 15)};
    struct glance seen = {.lanes = mask, .first = {{addr[lead[0]], addr[16 + lead[1]]}}};

    if (mask == 0xffffffffu && is_linear(addr)) {
        seen.shape[0] = seen.shape[1] = HALF_LINEAR;
        seen.apart = (struct pair){{addr[0] ^ addr[15], addr[16] ^ addr[31]}}; /* no lane differs
                                                                                  higher up */
        return seen;
    }
    if (mask == 0xffffffffu) seen.apart = differing(addr, mask, true, seen.first, 0);
    else seen.apart = differing(addr, mask, false, seen.first, 0);
    for (uint32_t half = 0; half < 2; half++) {
        if ((mask >> 16 * half & 0xffffu) != 0xffffu) continue;
        if (seen.apart.half[half] <= 3) seen.shape[half] = HALF_UNIFORM;
        else if (addr[16 * half + 15] == seen.first.half[half] + 60 &&
                 !differing(addr, mask, true, seen.first, 4).half[half])
            seen.shape[half] = HALF_LINEAR;
    }
    return seen;
}

/* Do all lanes of a half-warp that take part ask for one word? */
static ALWAYS_INLINE bool is_uniform(const struct glance *seen, uint32_t half) {
    return seen->apart.half[half] <= 3;
}

/* The lanes without those that ask for the word of a lower one, in a half-warp that asks for one.
 */
static ALWAYS_INLINE uint32_t without_copies(const struct glance *seen, uint32_t lanes) {
    const uint32_t low = lanes & 0xffffu, high = lanes & 0xffff0000u;

    return (is_uniform(seen, 0) ? low & (0u - low) : low) |
           (is_uniform(seen, 1) ? high & (0u - high) : high);
}

/* The banks that lanes address, each one `each` of them side by side; copies of an address count
 * once. */
static ALWAYS_INLINE struct pair banks_of(const struct geometry *g, const uint32_t addr[32],
                                          uint32_t lanes, uint32_t each) {
    const uint32_t ones = (1u << each) - 1;

    if (lanes == 0xffffffffu) return shifted(g, addr, lanes, true, ones);
    return shifted(g, addr, lanes, false, ones);
}

/* Do so many lanes address banks of their own? */
static ALWAYS_INLINE bool are_distinct(const struct geometry *g, uint32_t banks, uint32_t lanes,
                                       uint32_t each) {
    return g->bank_mask <= 31 && bits_count(banks) == each * bits_count(lanes);
}

/* How many bank words a lane's access takes. */
static ALWAYS_INLINE uint32_t bank_words(const struct geometry *g, uint32_t width) {
    return width >> g->bank_shift ? width >> g->bank_shift : 1;
}

/* The passes of one 32-bit request of a half-warp on CC 1.x. Each pass picks one word for broadcast
 * and serves all lanes within it, and one lane of each other bank. The machine's choice of word and
 * lane is not documented; here both are the lowest lane still waiting. */
NOINLINE static uint32_t broadcast_passes(const struct geometry *g, const uint32_t addr[32],
                                          uint32_t lanes) {
    uint32_t passes = 0;

    for (; lanes != 0; passes++) {
        const uint32_t broadcast = addr[bits_lowest(lanes)] >> 2;
        uint64_t taken = 0; /* bit per bank */
        uint32_t served = 0;

        for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
            const uint32_t lane = bits_lowest(rest), word = addr[lane] >> 2;
            const uint64_t bank = 1ull << (word & g->bank_mask);

            served |= !(taken & bank) || word == broadcast ? 1u << lane : 0;
            taken |= bank;
        }
        lanes &= ~served;
    }
    return passes;
}

/* The cost on CC 1.x. Wider accesses are split into 32-bit ones, word k of every lane together,
 * which shifts all lanes by k banks and changes nothing else. */
static ALWAYS_INLINE struct smem_cost cost_cc1(const struct geometry *g, const struct glance *seen,
                                               const uint32_t addr[32], uint32_t width) {
    const uint32_t words = width > 4 ? width >> 2 : 1;
    struct smem_cost cost = {.passes = 0};
    struct pair banks = {{0, 0}};
    bool one_pass[2];

    for (uint32_t half = 0; half < 2; half++)
        one_pass[half] =
            is_uniform(seen, half) || (seen->shape[half] == HALF_LINEAR && g->bank_mask >= 15);
    if (!one_pass[0] || !one_pass[1]) banks = banks_of(g, addr, seen->lanes, 1);
    for (uint32_t half = 0; half < 2; half++) {
        const uint32_t lanes = seen->lanes & 0xffffu << 16 * half;

        if (lanes == 0) continue;
        if (one_pass[half] || are_distinct(g, banks.half[half], lanes, 1)) cost.passes += words;
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

/* The address bits in which lanes of a request may differ: it has some of each half-warp, or of
 * one. */
static ALWAYS_INLINE uint32_t strayed(const struct glance *seen, uint32_t lanes) {
    const uint32_t *apart = seen->apart.half, *first = seen->first.half;

    if (lanes <= 0xffffu) return apart[0];
    return (lanes & 0xffffu ? apart[0] | (first[0] ^ first[1]) : 0) | apart[1];
}

/* Do both half-warps ask for the same? */
static ALWAYS_INLINE bool is_twice(const uint32_t addr[32], uint32_t lanes) {
    uint32_t apart = 0;

    for (uint32_t lane = 0; lane < 16; lane++) apart |= addr[lane] ^ addr[lane + 16];
    return lanes == 0xffffffffu && !apart;
}

/* The passes of a request that lies in one row, or whose half-warps take one each, as where a
 * kernel was laid out for the 16 banks of CC 1.x; 0: look closer. */
static ALWAYS_INLINE uint32_t few_passes(const struct geometry *g, const struct glance *seen,
                                         const uint32_t addr[32], uint32_t lanes, uint32_t width) {
    const uint32_t each = bank_words(g, width), single = without_copies(seen, lanes),
                   low = single & 0xffffu;

    if (!is_whole(g, addr[bits_lowest(lanes)], width)) return 0;
    if (strayed(seen, lanes) >> g->row_shift == 0) return 1;
    const struct pair banks = banks_of(g, addr, lanes, each);
    const uint32_t shared = banks.half[0] & banks.half[1];
    if (!are_distinct(g, banks.half[0], low, each)) return 0;
    if (!are_distinct(g, banks.half[1], single ^ low, each)) return 0;
    if (!shared || is_twice(addr, lanes)) return 1;
    const uint32_t both = lanes_in_bank(g, addr, single, bits_lowest(shared)); /* a lane of each */
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
    /* Words of a lane side by side in one row: the first stands for all. */
    const uint32_t step =
        is_whole(g, addr[bits_lowest(lanes)], width) ? width : 1u << g->bank_shift;

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
static ALWAYS_INLINE uint32_t row_passes(const struct geometry *g, const struct glance *seen,
                                         const uint32_t addr[32], uint32_t lanes, uint32_t width) {
    const uint32_t quick = few_passes(g, seen, addr, lanes, width);

    return quick ? quick : count_rows(g, addr, without_copies(seen, lanes), width);
}

/* The cost on CC 2.x and 3.x, where so many lanes' words of 32 bits make a request, and those of
 * 128 bits may cost half-warps a further pass. */
static ALWAYS_INLINE struct smem_cost cost_rows(const struct geometry *g, const struct glance *seen,
                                                const uint32_t addr[32], uint32_t width,
                                                uint32_t lanes_per_request, bool further) {
    const uint32_t group = 0xffffffffu >> (32 - lanes_per_request);
    struct smem_cost cost = {.passes = 0};

    for (uint32_t lane = 0; lane < 32; lane += lanes_per_request) {
        const uint32_t lanes = seen->lanes & group << lane;

        if (lanes == 0) continue;
        cost.passes += row_passes(g, seen, addr, lanes, width);
        cost.ideal++;
    }
    if (further) {
        const uint32_t halves = (seen->lanes & 0xffffu ? 1u : 0u) + (seen->lanes >> 16 ? 1u : 0u);

        cost.passes += halves;
        cost.ideal += halves;
    }
    return cost;
}

/* On CC 2.x a warp's 32-bit access is one request, 64-bit two half-warps, 128-bit four
 * quarter-warps. For 128 bits "one must add 1" [PG55 G.4.3]; adding it per half-warp gives
 * 6 passes = 12 clk for a linear access, as measured (12.1 clk [GMB]). */
static ALWAYS_INLINE struct smem_cost cost_cc2(const struct geometry *g, const struct glance *seen,
                                               const uint32_t addr[32], uint32_t width) {
    if (width <= 4) return cost_rows(g, seen, addr, width, 32, false);
    return cost_rows(g, seen, addr, width, width == 8 ? 16 : 8, width == 16);
}

/* On CC 3.x an access of up to 64 bits is one request, of 128 bits two half-warps (256 bytes a
 * pass). */
static ALWAYS_INLINE struct smem_cost cost_cc3(const struct geometry *g, const struct glance *seen,
                                               const uint32_t addr[32], uint32_t width) {
    return cost_rows(g, seen, addr, width, width <= 8 ? 32 : 16, false);
}

/* Is each lane's neighbour, that of number xor 1 or for all of them xor 2, off or at the same
 * address?
 */
static bool neighbours_agree(const uint32_t addr[32], uint32_t lanes) {
    for (uint32_t step = 1; step <= 2; step++) {
        uint32_t apart = 0;
        for (uint32_t lane = 0; lane < 32; lane++)
            apart |= (addr[lane] != addr[lane ^ step] ? 1u : 0u) << lane;
        uint32_t both = 0; /* lanes whose neighbours are on */
        for (uint32_t lane = 0; lane < 32; lane++) both |= (lanes >> (lane ^ step) & 1) << lane;
        if (!(apart & lanes & both)) return true;
    }
    return false;
}

/* On CC 9.0 a 32-bit access is one request; 64-bit are two half-warps and 128-bit four quarters;
 * half as many, twice as large, where neighbours agree. So many passes are the least, whoever takes
 * part (docs/hopper.md). */
static struct smem_cost cost_cc9(const struct geometry *g, const struct glance *seen,
                                 const uint32_t addr[32], uint32_t width) {
    if (width <= 4) return cost_rows(g, seen, addr, width, 32, false);
    const uint32_t lanes = (width == 8 ? 16u : 8u) << neighbours_agree(addr, seen->lanes);
    struct smem_cost cost = cost_rows(g, seen, addr, width, lanes, false);
    const uint32_t least = 32 / lanes;
    if (cost.passes < least) cost.passes = least;
    cost.ideal = least;
    return cost;
}

/* Most accesses: one request, all in one row. */
static ALWAYS_INLINE bool is_plain(const struct config *cfg, const struct geometry *g,
                                   const struct glance *seen, uint32_t width) {
    return width <= 4 && cfg->smem_rule != 1 && seen->lanes &&
           strayed(seen, seen->lanes) >> g->row_shift == 0;
}

CLONES static struct smem_cost cloned_passes(const struct config *cfg, const uint32_t addr[32],
                                             uint32_t mask, uint32_t width) {
    const struct geometry g = geometry_of(cfg);
    struct smem_cost cost;

    assert(width != 0 && width <= 16 && (width & (width - 1)) == 0);
    assert(bits_is_power_of_two(cfg->smem_banks) && cfg->smem_banks <= SMEM_MAX_BANKS);
    const struct glance seen = glance_at(addr, mask);
    if (is_plain(cfg, &g, &seen, width))
        return (struct smem_cost){1, 1, {seen.shape[0], seen.shape[1]}};
    switch (cfg->smem_rule) {
    case 1: cost = cost_cc1(&g, &seen, addr, width); break;
    case 2: cost = cost_cc2(&g, &seen, addr, width); break;
    case 9: cost = cost_cc9(&g, &seen, addr, width); break;
    default: cost = cost_cc3(&g, &seen, addr, width); break;
    }
    cost.shape[0] = seen.shape[0];
    cost.shape[1] = seen.shape[1];
    return cost;
}

struct smem_cost smem_look(const struct config *cfg, const uint32_t addr[32], uint32_t mask,
                           uint32_t width) {
    return cloned_passes(cfg, addr, mask, width);
}

CLONES static uint32_t cloned_cached(const struct config *cfg, const uint32_t addr[32],
                                     uint32_t mask, uint32_t width) {
    const struct geometry g = geometry_of(cfg);
    const struct glance seen = glance_at(addr, mask);
    const uint32_t lanes = width <= 4 ? 32 : width == 8 ? 16 : 8, least = 32 / lanes;
    if (is_plain(cfg, &g, &seen, width)) return 1;
    const uint32_t passes = cost_rows(&g, &seen, addr, width, lanes, false).passes;
    return passes > least ? passes : least;
}

uint32_t smem_cached(const struct config *cfg, const uint32_t addr[32], uint32_t mask,
                     uint32_t width) {
    return cloned_cached(cfg, addr, mask, width);
}

uint32_t smem_ways(const struct config *cfg, const uint32_t addr[32], uint32_t mask,
                   uint32_t width) {
    const struct geometry g = geometry_of(cfg);
    const uint32_t lanes = width <= 4 ? 32 : 128 / width;
    uint32_t passes = 0;

    for (uint32_t begin = 0; begin < 32; begin += lanes) {
        uint8_t count[SMEM_MAX_BANKS] = {0};
        uint32_t most = 1;

        for (uint32_t lane = begin; lane < begin + lanes; lane++) {
            if (!(mask >> lane & 1)) continue;
            const uint8_t ways = ++count[addr[lane] >> g.bank_shift & g.bank_mask];
            if (ways > most) most = ways;
        }
        passes += most;
    }
    return passes;
}

struct smem_cost smem_matrix(const struct config *cfg, const uint32_t addr[32], uint32_t mask) {
    if (cfg->smem_rule != 9) return smem_passes(cfg, addr, mask, 16);
    const struct geometry g = geometry_of(cfg);
    const struct glance seen = glance_at(addr, mask);
    return cost_rows(&g, &seen, addr, 16, 8, false);
}
