#include "memory/cleaner.h"

#include <assert.h>
#include <stdlib.h>

#include "base/bits.h"

enum error cleaner_init(struct cleaner *c, const struct config *cfg) {
    /* A page has the bytes that the address bits of neither bank nor row number. */
    const uint32_t columns = bits_count(~(cfg->dram_bank_mask | cfg->dram_row_mask)),
                   line = bits_lowest(cfg->l2_line), most = bits_lowest(CLEANER_MAX_LINES),
                   lines = columns > line ? columns - line : 0;
    *c = (struct cleaner){.per_bank = cfg->l2_clean_pages,
                          .lines = 1u << (lines < most ? lines : most)};
    if (!c->per_bank) return OK;
    c->pages = calloc((size_t)cfg->dram_banks * c->per_bank, sizeof *c->pages);
    return c->pages ? OK : ERROR_NO_MEMORY;
}

void cleaner_free(struct cleaner *c) {
    free(c->pages);
    c->pages = NULL;
}

struct page *cleaner_place(const struct cleaner *c, uint32_t bank, uint32_t row) {
    struct page *first = c->pages + bank * c->per_bank, *oldest = first, *free = NULL;
    for (struct page *p = first; p < first + c->per_bank; p++) {
        if (p->count && p->row == row) return p;
        if (!p->count) free = p;
        if (p->since < oldest->since) oldest = p;
    }
    return free ? free : oldest;
}

void cleaner_note(struct cleaner *c, struct page *p, uint32_t row, uint32_t line) {
    if (cleaner_is_due(c, p, row)) p->count = 0;
    if (!p->count) {
        p->row = row;
        p->since = ++c->notices;
    }
    assert(p->count < c->lines);
    p->line[p->count++] = line;
}
