/* The shared-memory management (SMM) table of one SM (paper, section 5, Figures 7 and 10).
 *
 * Static entries are made when a block is dispatched and placed first fit from address 0
 * up; dynamic entries are made by bar.sync +1 and placed at the highest free address.
 * Sizes are rounded up to `unit`. Entries are released by their start address. */
#ifndef SMMUX_SMM_H
#define SMMUX_SMM_H

#include <stdbool.h>
#include <stdint.h>

#define SMM_ENTRIES 96u /* 32 blocks, each with a static and a dynamic entry, and a tile */

struct smm_entry {
    bool valid;
    bool dynamic;
    uint32_t block; /* thread block id */
    uint32_t size;  /* bytes, rounded up */
    uint32_t start; /* bytes */
};

struct smm {
    struct smm_entry entry[SMM_ENTRIES];
    uint32_t used;     /* entries from here on have never been valid */
    uint32_t capacity; /* bytes, a multiple of unit */
    uint32_t unit;     /* bytes */
    uint32_t reserved; /* bytes at the top where no static entry may lie */
};

/* Make an empty table; the unit is at least 1. */
void smm_init(struct smm *smm, uint32_t capacity, uint32_t unit);

/* Keep `dynamic_bytes` at the top free of static entries, so that whatever the history the
 * memory holds one dynamic allocation of that size once no other is outstanding: no
 * deadlock. Call it before the first allocation. */
void smm_reserve(struct smm *smm, uint32_t dynamic_bytes);

/* Can so many bytes from `start` be taken? If they overlap others, *other says whose these are,
 * unless `other` is NULL. */
enum smm_fit { SMM_FITS, SMM_UNALIGNED, SMM_OUTSIDE, SMM_RESERVED, SMM_OVERLAPS, SMM_FULL };
enum smm_fit smm_fits(const struct smm *smm, uint32_t size, bool dynamic, uint32_t start,
                      const struct smm_entry **other);

/* How many bytes an allocation takes: rounded up, a dynamic one at least one unit, so that its
 * release has something to match. */
uint32_t smm_rounded(const struct smm *smm, uint32_t size, bool dynamic);
/* Find where an allocation would lie: first fit from below if static, the highest place if dynamic.
 * False when there is no place now. A static one of 0 bytes is said to start at 0. */
bool smm_find(const struct smm *smm, uint32_t size, bool dynamic, uint32_t *start);
/* Find the highest place of a static allocation that lies at or above `floor`, at a multiple of
 * `align`. */
bool smm_find_above(const struct smm *smm, uint32_t size, uint32_t floor, uint32_t align,
                    uint32_t *start);
/* Find the first free range at or above *start, for any allocation (dynamic) or for a static one.
 * False if there is none. */
bool smm_hole(const struct smm *smm, bool dynamic, uint32_t *start, uint32_t *bytes);
/* Take bytes that fit from `start`. A static allocation of 0 bytes holds no entry: do not release
 * it. */
void smm_take(struct smm *smm, uint32_t block, uint32_t size, bool dynamic, uint32_t start);
/* Find a place and take it; false when there is none now, or the table is full. */
bool smm_alloc(struct smm *smm, uint32_t block, uint32_t size, bool dynamic, uint32_t *start);

/* Release the entry that starts there; false when none does. */
bool smm_release(struct smm *smm, uint32_t start);

#endif
