/* Where an address lives: partition, L2 slice, DRAM bank and row (hw-parameters 7.3, 8).
 *
 * Device memory is dealt out to the partitions in blocks of partition_bytes. Linear maps
 * (GT200) take the block number modulo the partitions: strides that are multiples of
 * partitions * partition_bytes camp on one partition. Hashed maps (Fermi on [SDK-T]; NVIDIA
 * does not publish the function) take the sum of the block number's digits in base
 * `partitions`, with weights where that is odd: a permutation of every run of `partitions`
 * blocks, and strides of any power of two or of the base spread too.
 *
 * With partition_hash = 2 the 256 blocks of 128 kB are dealt out as on an H100 (docs/hopper.md,
 * slice_hash.py): sums of address bits modulo 2 choose one of eight groups of five partitions, and
 * a number from 0 to 7, to which 32 times the number of the 128 kB is added; the remainder by five
 * says whose turn it is. The quotient, and two address bits that no sum needs, say where in the
 * partition. For no place of it to stay empty, 8 times another number is added, with which the
 * remainder is the same: five 128 kB are counted 0, 4, 3, 2, 1.
 *
 * With partition_pairs a block is two runs of 256 bytes, as on the H100, where the lines 0, 1, 4
 * and 5 of 32 have one partition, 2, 3, 6 and 7 another, and so on (docs/hopper.md).
 *
 * Inside a partition blocks alternate between its L2 slices; bank and row are bits of the
 * partition's own address, as GPGPU-Sim's -gpgpu_mem_addr_mapping has them. With dram_bank_hash
 * banks are dealt out anew in every row: the row's number is added to the bank's. Rows that lie a
 * power of two apart are then in different banks, and a stream still goes through all other banks
 * before it comes back to one. NVIDIA has bank patterns [ENVY; PAT-BANK] but does not publish them;
 * the patterns of partitions that are known [ENVY] add, too. */
#ifndef SMMUX_ADDRMAP_H
#define SMMUX_ADDRMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "base/sums.h"

#define ADDRMAP_TURNS 5u /* partitions of a group under partition_hash = 2 */
#define ADDRMAP_TABLE 4096u
#define ADDRMAP_RUNS  16u /* of adjacent bits: a mask has no more */

/* How to gather the bits of a mask, lowest first: one shift to the right per run of adjacent bits,
 * up to a run without any. */
struct bit_field {
    struct bit_run {
        uint32_t mask, shift;
    } run[ADDRMAP_RUNS + 1];
};

struct addrmap {
    uint32_t partitions, block_shift;
    uint32_t slice_shift; /* 0 too where slices are not told apart by addresses, but by who asks */
    uint32_t pairs;       /* the two lowest bits above 256 bytes change places */
    uint32_t hashed;      /* else blocks are dealt out in order */
    uint32_t chunk;       /* size of the table in use, a power of `partitions` */
    uint64_t per_partition, per_chunk; /* 2^38 / partitions and / chunk, rounded up */
    uint8_t digit_sum[ADDRMAP_TABLE];  /* of the digits in base `partitions`, modulo that */
    bool summed;                       /* partition_hash = 2 */
    uint8_t sums[3][256]; /* what the second to the fourth byte of an address add to its sums */
    uint8_t block[256];   /* which block of the first 128 kB has a place (base/sums.h) */
    struct bit_field bank, row;
    uint32_t bank_bits, row_bits; /* of a bank's number; of the row's number that are added to it */
};

void addrmap_init(struct addrmap *m, const struct config *cfg);

/* The bits of the mask in an address, as a number. */
static inline uint32_t bit_field_of(const struct bit_field *f, uint32_t addr) {
    uint32_t value = 0;
    for (const struct bit_run *run = f->run; run->mask; run++)
        value |= (addr & run->mask) >> run->shift;
    return value;
}

/* The row of an address in a partition. */
static inline uint32_t addrmap_row(const struct addrmap *m, uint32_t local) {
    return bit_field_of(&m->row, local);
}

/* The bank of an address in a partition, which lies in that row. */
static inline uint8_t addrmap_bank(const struct addrmap *m, uint32_t local, uint32_t row) {
    return (uint8_t)((bit_field_of(&m->bank, local) + (row & m->row_bits)) & m->bank_bits);
}

/* n / d by multiplication: exact for n < 2^25 and d <= 4096, as n / 2^38 < 1 / d. */
#define ADDRMAP_RECIPROCAL_BITS 38

static inline uint32_t addrmap_divide(uint32_t n, uint64_t reciprocal) {
    return (uint32_t)(n * reciprocal >> ADDRMAP_RECIPROCAL_BITS);
}

/* The address with its bits 8 and 9 in each other's place. */
static inline uint32_t addrmap_swapped(uint32_t addr) {
    return addr ^ ((addr >> 8 ^ addr >> 9) & 1) * 0x300u;
}

/* The sums of an address. */
static inline uint32_t addrmap_sums(const struct addrmap *m, uint32_t addr) {
    return m->sums[0][addr >> 8 & 255] ^ m->sums[1][addr >> 16 & 255] ^ m->sums[2][addr >> 24];
}

/* The number of 128 kB in another order, and back. */
static inline uint32_t addrmap_turned(uint32_t chunk) {
    const uint32_t turn = chunk % ADDRMAP_TURNS;
    return turn ? chunk + ADDRMAP_TURNS - 2 * turn : chunk;
}

static inline uint32_t addrmap_by_sums(const struct addrmap *m, uint32_t addr, uint32_t *local) {
    const uint32_t sums = addrmap_sums(m, addr);
    const uint32_t turn = 8 * addrmap_turned(addr >> SUM_CHUNK) + (sums >> 3);
    const uint32_t block = turn / ADDRMAP_TURNS * 4 + (addr >> 12 & 3);
    *local = block << 9 | (addr >> 9 & 1) << 8 | (addr & 255);
    return (sums & 7) * ADDRMAP_TURNS + turn % ADDRMAP_TURNS;
}

static inline uint32_t addrmap_of_sums(const struct addrmap *m, uint32_t partition,
                                       uint32_t local) {
    const uint32_t block = local >> 9, group = partition / ADDRMAP_TURNS;
    const uint32_t turn = block / 4 * ADDRMAP_TURNS + partition % ADDRMAP_TURNS;
    const uint32_t chunk = addrmap_turned(turn / 8) << SUM_CHUNK;
    const uint32_t sums = (group | turn % 8 << 3) ^ addrmap_sums(m, chunk);
    return chunk | sums_block(m->block[sums | (block & 3) << SUMS]) | (local >> 8 & 1) << 9 |
           (local & 255);
}

/* The partition of a device address; *local is the address in it. */
static inline uint32_t addrmap_partition(const struct addrmap *m, uint32_t addr, uint32_t *local) {
    if (m->summed) return addrmap_by_sums(m, addr, local);
    if (m->pairs) addr = addrmap_swapped(addr);
    uint32_t block = addr >> m->block_shift, inside = addr & ((1u << m->block_shift) - 1);
    uint32_t quotient = addrmap_divide(block, m->per_partition);
    uint32_t partition = block - quotient * m->partitions;
    for (uint32_t rest = m->hashed ? quotient : 0; rest;) {
        const uint32_t upper = addrmap_divide(rest, m->per_chunk);
        partition += m->digit_sum[rest - upper * m->chunk];
        if (partition >= m->partitions) partition -= m->partitions;
        rest = upper;
    }
    *local = quotient << m->block_shift | inside;
    return partition;
}

/* The device address of one in a partition. */
static inline uint32_t addrmap_address(const struct addrmap *m, uint32_t partition,
                                       uint32_t local) {
    if (m->summed) return addrmap_of_sums(m, partition, local);
    const uint32_t quotient = local >> m->block_shift,
                   inside = local & ((1u << m->block_shift) - 1);
    uint32_t sum = 0;
    for (uint32_t rest = m->hashed ? quotient : 0; rest;) {
        const uint32_t upper = addrmap_divide(rest, m->per_chunk);
        sum += m->digit_sum[rest - upper * m->chunk];
        rest = upper;
    }
    const uint32_t first = (partition + m->partitions - sum % m->partitions) % m->partitions;
    const uint32_t addr = (quotient * m->partitions + first) << m->block_shift | inside;
    return m->pairs ? addrmap_swapped(addr) : addr;
}

/* The slice of an address in a partition; *in_slice is the address in it. */
static inline uint32_t addrmap_slice(const struct addrmap *m, uint32_t local, uint32_t *in_slice) {
    uint32_t block = local >> m->block_shift, inside = local & ((1u << m->block_shift) - 1);
    *in_slice = block >> m->slice_shift << m->block_shift | inside;
    return block & ((1u << m->slice_shift) - 1);
}

/* The address in the partition of one in a slice: the slice number is put in again. */
static inline uint32_t addrmap_local(const struct addrmap *m, uint32_t in_slice, uint32_t slice) {
    uint32_t block = in_slice >> m->block_shift, inside = in_slice & ((1u << m->block_shift) - 1);
    return (block << m->slice_shift | slice) << m->block_shift | inside;
}

#endif
