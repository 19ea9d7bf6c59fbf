/* Sums of address bits modulo 2, by which partition_hash = 2 deals out blocks (memory/addrmap.h).
 */
#ifndef SMMUX_SUMS_H
#define SMMUX_SUMS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/config.h"

#define SUMS       6u
#define SUM_BLOCKS 256u /* of 512 bytes in 128 kB: */
#define SUM_CHUNK  17u  /* the address bits above these count as they are */

/* The sums of an address: three for the group, and above them three for the turn. */
static inline uint32_t sums_of(const struct config *c, uint32_t address) {
    const uint32_t masks[SUMS] = {c->group_mask_0, c->group_mask_1, c->group_mask_2,
                                  c->turn_mask_0,  c->turn_mask_1,  c->turn_mask_2};
    uint32_t sums = 0;
    for (uint32_t i = 0; i < SUMS; i++) sums |= (uint32_t)__builtin_parity(address & masks[i]) << i;
    return sums;
}

/* The address of a block in 128 kB: bit 9 lies within it. */
static inline uint32_t sums_block(uint32_t number) {
    return (number & 1) << 8 | (number >> 1) << 10;
}

/* What a partition has of a block: its sums, and above them two bits that no sum needs to tell. */
static inline uint32_t sums_place(const struct config *c, uint32_t address) {
    return sums_of(c, address) | (address >> 12 & 3) << SUMS;
}

/* Does each block of 128 kB have a place of its own? */
static inline bool sums_tell_apart(const struct config *c) {
    bool taken[SUM_BLOCKS] = {false};
    for (uint32_t number = 0; number < SUM_BLOCKS; number++) {
        bool *place = &taken[sums_place(c, sums_block(number))];
        if (*place) return false;
        *place = true;
    }
    return true;
}

#endif
