/* Accesses to global memory, each held against the marks of those before it. */
#ifndef SMMUX_EXAMINE_H
#define SMMUX_EXAMINE_H

#include "chip/marks.h"
#include "sm/findings.h"

struct examiner {
    const struct machine *machine;
    struct order order;
    struct marks marks;
    struct findings findings;
    bool strict; /* lockstep is no order */
};

enum error examiner_init(struct examiner *x, const struct machine *m, struct fault *fault);
void examiner_free(struct examiner *x);

/* A warp hands on what it knows by an access to shared memory. */
void examine_flag(struct examiner *x, const struct event *e, uint32_t sm);

/* Look at an access of an SM, and mark it. */
void examine_access(struct examiner *x, const struct event *e, uint32_t sm);
/* Forget who accessed memory of the heap that is given back: malloc orders its users, but not an
 * access that follows the free. */
void examine_heap_free(struct examiner *x, const struct event *e);

#endif
