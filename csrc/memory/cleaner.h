/* Which dirty lines of an L2 slice lie in one page of the DRAM, a row of a bank, so that they can
 * be written back together: activates are dear, and victims of the cache come in no order of rows.
 *
 * NVIDIA's patents of the time have it in the frame buffer's logic [PAT-CLEAN]. The L2 gives notice
 * of a line that becomes dirty. Notices are sorted by page, a few pages per bank; the lines of a
 * page are written when its notices are as many as it holds, or when another page of the bank needs
 * the place and this one is the oldest. Lines stay in the L2, clean. */
#ifndef SMMUX_CLEANER_H
#define SMMUX_CLEANER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "base/errors.h"

#define CLEANER_MAX_LINES 64u /* of a page */

/* Notices of one page. */
struct page {
    uint32_t row, count; /* count 0: of none */
    uint64_t since;      /* what notice of the slice was its first one */
    uint32_t line[CLEANER_MAX_LINES];
};

struct cleaner {
    struct page *pages; /* bank by bank */
    uint32_t per_bank;  /* 0: dirty lines are written only when they are replaced */
    uint32_t lines;     /* of a page */
    uint64_t notices;
};

enum error cleaner_init(struct cleaner *c, const struct config *cfg);
void cleaner_free(struct cleaner *c);

/* Where a notice of that page goes: to its own place, a free one, or that of the bank's oldest
 * page. There is a place: per_bank is not 0. */
struct page *cleaner_place(const struct cleaner *c, uint32_t bank, uint32_t row);

/* Must the lines that the place has been told of be written first? */
static inline bool cleaner_is_due(const struct cleaner *c, const struct page *p, uint32_t row) {
    return p->count && (p->row != row || p->count == c->lines);
}

/* Give notice of a line; what the place held before has been written if it was due. */
void cleaner_note(struct cleaner *c, struct page *p, uint32_t row, uint32_t line);

#endif
