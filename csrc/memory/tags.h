/* What a completion of DRAM means, or what comes from the other half of the chip: in its tag, which
 * has a kind, a slice, and a payload. */
#ifndef SMMUX_TAGS_H
#define SMMUX_TAGS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

enum tag_kind { TAG_REQUEST, TAG_FILL, TAG_WRITEBACK, TAG_ATOM_WRITE };
#define TAG_KIND_SHIFT  30
#define TAG_SLICE_SHIFT 28
#define TAG_PAYLOAD     ((1u << TAG_SLICE_SHIFT) - 1)
/* Of a fill: sectors, pending miss, and whether it comes from DRAM for the half to which its line
 * does not belong. */
#define FILL_SHIFT   8
#define FILL_SECTORS ((1u << FILL_SHIFT) - 1)
#define FILL_ACROSS  (1u << 27)

static inline uint32_t make_tag(enum tag_kind kind, uint32_t slice, uint32_t payload) {
    assert(slice < 1u << (TAG_KIND_SHIFT - TAG_SLICE_SHIFT) && payload <= TAG_PAYLOAD);
    return (uint32_t)kind << TAG_KIND_SHIFT | slice << TAG_SLICE_SHIFT | payload;
}

/* Is it a fill from DRAM for the half to which its line does not belong? */
static inline bool tag_is_across(uint32_t tag) {
    return tag >> TAG_KIND_SHIFT == TAG_FILL && tag & FILL_ACROSS;
}

#endif
