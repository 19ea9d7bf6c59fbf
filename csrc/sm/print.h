/* What kernels print: values with a number that says what text stands around them, of which the
 * core knows nothing. */
#ifndef SMMUX_PRINT_H
#define SMMUX_PRINT_H

#include "sm/sm.h"

/* One value, or a text alone, of one thread. Python reads it: no padding. */
struct printed {
    uint64_t cycle;
    uint32_t block, thread; /* numbers in the grid and in the block */
    uint32_t text;          /* the immediate of the instruction; of compiled code, the number of an
                               argument, or PRINT_FORMAT with the address of their format */
    uint32_t low, high;     /* words of the value */
    uint32_t reserved;      /* 0 */
};

_Static_assert(sizeof(struct printed) == 32, "no padding");

/* What an SM keeps, 1 MB as the buffer of a card; what is printed then is lost, and counted. */
#define PRINTED_MOST 32768u

struct prints {
    uint32_t count;
    uint64_t lost;
    struct printed row[PRINTED_MOST];
};

#define PRINT_FORMAT UINT32_MAX
#define PRINT_STRING (UINT32_MAX - 1) /* of the argument in front: its next eight characters */

/* Is there room for so many values? If not, something is lost. */
bool print_room(const struct sm *sm, uint32_t rows);
/* Keep a value that a thread prints. */
void print_row(struct sm *sm, uint32_t warp, uint32_t lane, uint64_t t, uint32_t text,
               uint64_t value);
/* Keep what the active lanes of a warp print at cycle t. */
void print_issue(struct sm *sm, uint32_t warp, const struct uop *u, uint32_t active, uint64_t t);

#endif
