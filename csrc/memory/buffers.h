/* The arrays of a launch in order of address: where an access goes that names none of them. */
#ifndef SMMUX_BUFFERS_H
#define SMMUX_BUFFERS_H

#include "base/errors.h"
#include "memory/memsys.h"

struct buffers {
    const struct buffer **sorted; /* by address; views of one memory may overlap */
    uint64_t *reach;              /* the end of the one that reaches farthest, up to each */
    uint32_t count;
};

enum error buffers_init(struct buffers *all, const struct buffer *buffers, uint32_t count);
void buffers_free(struct buffers *all);
/* An array that holds so many bytes from an address on, if there is one a writable one; NULL: none
 * does. */
const struct buffer *buffers_find(const struct buffers *all, uint32_t address, uint32_t bytes);
/* Does the array hold what all these lanes go to, so many bytes each? It has as many. */
static inline bool buffer_holds(const struct buffer *b, const uint32_t addr[32], uint32_t lanes,
                                uint32_t bytes) {
    uint32_t astray = 0;
    for (uint32_t lane = 0; lane < 32; lane++)
        astray |= addr[lane] - b->address > b->bytes - bytes ? 1u << lane : 0;
    return !(astray & lanes);
}
/* An array that has some of these bytes, with those in its ring all others that do; NULL: none. */
const struct buffer *buffers_touching(const struct buffers *all, uint32_t address, uint32_t bytes);

#endif
