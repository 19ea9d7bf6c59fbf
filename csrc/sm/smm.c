#include "sm/smm.h"

#include <assert.h>
#include <string.h>

/* So many bytes rounded up to the unit. */
static uint32_t rounded(const struct smm *smm, uint32_t bytes) {
    uint32_t excess = bytes % smm->unit;

    return excess == 0 ? bytes : bytes - excess + smm->unit;
}

void smm_init(struct smm *smm, uint32_t capacity, uint32_t unit) {
    assert(unit != 0);
    memset(smm, 0, sizeof(*smm));
    smm->unit = unit;
    smm->capacity = capacity - capacity % unit;
}

void smm_reserve(struct smm *smm, uint32_t dynamic_bytes) {
    uint32_t bytes = rounded(smm, dynamic_bytes);

    assert(smm->used == 0);
    smm->reserved = bytes < smm->capacity ? bytes : smm->capacity;
}

/* An entry that shares a byte with [start, start + size), or NULL. */
static const struct smm_entry *overlapping(const struct smm *smm, uint32_t start, uint32_t size) {
    for (uint32_t i = 0; i < smm->used; i++) {
        const struct smm_entry *e = &smm->entry[i];

        if (e->valid && e->start < start + size && start < e->start + e->size) return e;
    }
    return NULL;
}

/* Find the lowest place for so many bytes below a limit. */
static bool first_fit(const struct smm *smm, uint32_t size, uint32_t limit, uint32_t *start) {
    uint32_t low = 0;

    while (size <= limit && low <= limit - size) {
        const struct smm_entry *e = overlapping(smm, low, size);

        if (e == NULL) {
            *start = low;
            return true;
        }
        low = e->start + e->size;
    }
    return false;
}

/* Find the highest place for so many bytes between two addresses, at a multiple of `align`. */
static bool highest_fit(const struct smm *smm, uint32_t size, uint32_t floor, uint32_t high,
                        uint32_t align, uint32_t *start) {
    while (high >= size && high - size >= floor) {
        const uint32_t low = (high - size) / align * align;
        const struct smm_entry *e = overlapping(smm, low, size);

        if (low < floor) return false;
        if (e == NULL) {
            *start = low;
            return true;
        }
        high = e->start;
    }
    return false;
}

/* Check that entries are disjoint, rounded and inside the memory. */
#ifdef SMMUX_CHECK
static void check(const struct smm *smm) {
    assert(smm->used <= SMM_ENTRIES && smm->capacity % smm->unit == 0);
    for (uint32_t i = 0; i < smm->used; i++) {
        const struct smm_entry *a = &smm->entry[i];

        if (!a->valid) continue;
        assert(a->size != 0 && a->size % smm->unit == 0 && a->start % smm->unit == 0);
        assert(a->size <= smm->capacity && a->start <= smm->capacity - a->size);
        assert(a->dynamic || a->start + a->size <= smm->capacity - smm->reserved);
        for (uint32_t j = i + 1; j < smm->used; j++) {
            const struct smm_entry *b = &smm->entry[j];

            assert(!b->valid || a->start + a->size <= b->start || b->start + b->size <= a->start);
            (void)b;
        }
    }
}
#else
static void check(const struct smm *smm) { (void)smm; }
#endif

uint32_t smm_rounded(const struct smm *smm, uint32_t size, bool dynamic) {
    return rounded(smm, dynamic && size == 0 ? 1 : size);
}

bool smm_find(const struct smm *smm, uint32_t size, bool dynamic, uint32_t *start) {
    if (size > smm->capacity) return false;
    size = smm_rounded(smm, size, dynamic);
    if (dynamic) return highest_fit(smm, size, 0, smm->capacity, 1, start);
    if (size != 0) return first_fit(smm, size, smm->capacity - smm->reserved, start);
    *start = 0;
    return true;
}

/* The least multiple of both. */
static uint32_t common_multiple(uint32_t a, uint32_t b) {
    uint32_t divisor = a;
    for (uint32_t rest = b; rest;) {
        const uint32_t next = divisor % rest;
        divisor = rest;
        rest = next;
    }
    return a / divisor * b;
}

bool smm_find_above(const struct smm *smm, uint32_t size, uint32_t floor, uint32_t align,
                    uint32_t *start) {
    if (size > smm->capacity) return false;
    return highest_fit(smm, rounded(smm, size), floor, smm->capacity - smm->reserved,
                       common_multiple(align, smm->unit), start);
}

/* The lowest start of an entry at or above an address, or the end of the memory. */
static uint32_t next_entry(const struct smm *smm, uint32_t from) {
    uint32_t start = smm->capacity;

    for (uint32_t i = 0; i < smm->used; i++) {
        const struct smm_entry *e = &smm->entry[i];

        if (e->valid && e->start >= from && e->start < start) start = e->start;
    }
    return start;
}

bool smm_hole(const struct smm *smm, bool dynamic, uint32_t *start, uint32_t *bytes) {
    const uint32_t top = dynamic ? smm->capacity : smm->capacity - smm->reserved;

    while (*start < top) {
        const struct smm_entry *e = overlapping(smm, *start, 1);

        if (e == NULL) {
            const uint32_t end = next_entry(smm, *start);

            *bytes = (end < top ? end : top) - *start;
            return true;
        }
        *start = e->start + e->size;
    }
    return false;
}

/* The first entry that is not valid; SMM_ENTRIES: the table is full. */
static uint32_t vacancy(const struct smm *smm) {
    uint32_t i = 0;

    while (i < smm->used && smm->entry[i].valid) i++;
    return i;
}

enum smm_fit smm_fits(const struct smm *smm, uint32_t size, bool dynamic, uint32_t start,
                      const struct smm_entry **other) {
    const uint32_t top = dynamic ? smm->capacity : smm->capacity - smm->reserved;

    if (size > smm->capacity) return SMM_OUTSIDE;
    size = smm_rounded(smm, size, dynamic);
    if (start % smm->unit != 0) return SMM_UNALIGNED;
    if (start > smm->capacity - size) return SMM_OUTSIDE;
    if (size > top || start > top - size) return SMM_RESERVED;
    const struct smm_entry *found = overlapping(smm, start, size);
    if (other != NULL) *other = found;
    if (found != NULL) return SMM_OVERLAPS;
    return vacancy(smm) == SMM_ENTRIES ? SMM_FULL : SMM_FITS;
}

void smm_take(struct smm *smm, uint32_t block, uint32_t size, bool dynamic, uint32_t start) {
    const uint32_t i = vacancy(smm);

    if (size == 0 && !dynamic) return;
    assert(smm_fits(smm, size, dynamic, start, NULL) == SMM_FITS);
    if (i == smm->used) smm->used++;
    smm->entry[i] =
        (struct smm_entry){true, dynamic, block, smm_rounded(smm, size, dynamic), start};
    check(smm);
}

bool smm_alloc(struct smm *smm, uint32_t block, uint32_t size, bool dynamic, uint32_t *start) {
    if (!smm_find(smm, size, dynamic, start)) return false;
    if (vacancy(smm) == SMM_ENTRIES && (size != 0 || dynamic)) return false;
    smm_take(smm, block, size, dynamic, *start);
    return true;
}

bool smm_release(struct smm *smm, uint32_t start) {
    for (uint32_t i = 0; i < smm->used; i++) {
        struct smm_entry *e = &smm->entry[i];

        if (!e->valid || e->start != start) continue;
        e->valid = false;
        check(smm);
        return true;
    }
    return false;
}
