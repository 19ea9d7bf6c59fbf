#include "memory/addrmap.h"

#include <assert.h>

#include "base/bits.h"

/* The runs of adjacent bits of a mask, and where each goes. */
static struct bit_field bit_field(uint32_t mask) {
    struct bit_field f = {0};
    uint32_t count = 0, gathered = 0;
    while (mask) {
        assert(count < ADDRMAP_RUNS);
        uint32_t low = bits_lowest(mask), length = 0;
        while (low + length < 32 && (mask >> (low + length) & 1u)) length++;
        uint32_t bits = length == 32 ? UINT32_MAX : ((1u << length) - 1) << low;
        f.run[count++] = (struct bit_run){.mask = bits, .shift = low - gathered};
        gathered += length;
        mask &= ~bits;
    }
    return f;
}

/* What addrmap_divide multiplies by to divide by d. */
static uint64_t reciprocal(uint32_t d) { return ((1ull << ADDRMAP_RECIPROCAL_BITS) + d - 1) / d; }

void addrmap_init(struct addrmap *m, const struct config *cfg) {
    assert(bits_is_power_of_two(cfg->partition_bytes) && bits_is_power_of_two(cfg->l2_slices));
    *m = (struct addrmap){
        .partitions = cfg->partitions,
        .block_shift = bits_lowest(cfg->partition_bytes),
        .slice_shift = cfg->l2_sides > 1 ? 0 : bits_lowest(cfg->l2_slices),
        .pairs = cfg->partition_pairs,
        .hashed = cfg->partition_hash && cfg->partitions > 1,
        .chunk = 1,
        .bank = bit_field(cfg->dram_bank_mask),
        .row = bit_field(cfg->dram_row_mask),
        .bank_bits = cfg->dram_banks - 1,
        .row_bits = cfg->dram_bank_hash ? cfg->dram_banks - 1 : 0,
    };
    m->summed = cfg->partition_hash == 2;
    for (uint32_t byte = 0; m->summed && byte < 256; byte++) {
        for (uint32_t i = 0; i < 3; i++)
            m->sums[i][byte] = (uint8_t)sums_of(cfg, byte << 8 * (i + 1));
        m->block[sums_place(cfg, sums_block(byte))] = (uint8_t)byte;
    }
    m->per_partition = reciprocal(m->partitions);
    if (m->partitions < 2) return; /* there is nothing to hash */
    /* The table sums the digits of a chunk of a block number at once: as many as it has room for.
     */
    while (m->chunk * m->partitions <= ADDRMAP_TABLE) m->chunk *= m->partitions;
    m->per_chunk = reciprocal(m->chunk);
    /* A sum of digits has the number's remainder by base - 1, which is even where the base is odd:
     * strides of powers of two would camp. Digits of an odd base count twice as much from each to
     * the next; then no remainder by a small number is left. */
    const uint32_t weight = m->partitions % 2 ? 2 : 1;
    for (uint32_t i = 1; i < m->chunk; i++) {
        uint32_t sum = weight * m->digit_sum[i / m->partitions] + i % m->partitions;
        m->digit_sum[i] = (uint8_t)(sum % m->partitions);
    }
}
