/* The tag of an access to DRAM, or of a message from the other half of the chip (halves.h), which
 * says what is to be done when it is complete: two bits of kind, two of slice, 28 of payload. */
#ifndef SMMUX_TAGS_H
#define SMMUX_TAGS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

enum tag_kind {
    TAG_REQUEST,   /* answer a request; payload: its index in the pool */
    TAG_FILL,      /* sectors come into an L2; payload: see FILL_SHIFT */
    TAG_WRITEBACK, /* a write-back buffer is free again; payload, if not 0: what its line lacked has
                      come, which is held there, counted from 1 */
    TAG_ATOM_WRITE /* an atomic without an L2 has written: nothing to do */
};
#define TAG_KIND_SHIFT  30
#define TAG_SLICE_SHIFT 28
#define TAG_PAYLOAD     ((1u << TAG_SLICE_SHIFT) - 1)
/* The payload of a fill: a mask of sectors, above it the number of the pending miss, and a bit if
 * DRAM's answer goes on to the half that is not the line's home. */
#define FILL_SHIFT   8
#define FILL_SECTORS ((1u << FILL_SHIFT) - 1)
#define FILL_ACROSS  (1u << 27)

static inline uint32_t make_tag(enum tag_kind kind, uint32_t slice, uint32_t payload) {
    assert(slice < 1u << (TAG_KIND_SHIFT - TAG_SLICE_SHIFT) && payload <= TAG_PAYLOAD);
    return (uint32_t)kind << TAG_KIND_SHIFT | slice << TAG_SLICE_SHIFT | payload;
}

static inline enum tag_kind tag_kind(uint32_t tag) {
    return (enum tag_kind)(tag >> TAG_KIND_SHIFT);
}

static inline uint32_t tag_slice(uint32_t tag) {
    return tag >> TAG_SLICE_SHIFT & ((1u << (TAG_KIND_SHIFT - TAG_SLICE_SHIFT)) - 1);
}

/* Is it DRAM's answer to a fill of the half that is not the line's home? */
static inline bool tag_is_across(uint32_t tag) {
    return tag_kind(tag) == TAG_FILL && tag & FILL_ACROSS;
}

#endif
