/* A warp: registers, active mask, reconvergence stack. */
#ifndef SMMUX_WARP_H
#define SMMUX_WARP_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/program.h"
#include "kernel/sass.h"

#define NO_RPC UINT32_MAX /* reconvergence only at thread exit */

/* Every push but that of a reconvergence entry splits the active lanes, and each of those
 * comes with at most one such entry: 32 lanes can be split 31 times. */
#define STACK_DEPTH 64u

enum warp_state {
    WARP_FREE,
    WARP_STARTING,
    WARP_RUNNING,
    WARP_BARRIER,
    WARP_FENCE,
    WARP_NAMED,
    WARP_COPIES,
    WARP_EXITED
};

/* Lanes that wait, the pc at which they go on, and that at which they meet the lanes of the entry
 * below. */
struct stack_entry {
    uint32_t pc, mask, rpc;
    uint32_t others; /* of compiled code (converge.h) */
};

struct convergence;

/* A warp slot of an SM. */
struct warp {
    uint32_t pc;
    uint32_t mask;             /* active lanes */
    uint32_t rpc;              /* where the active lanes meet those on the stack */
    uint32_t live;             /* lanes that have not exited */
    uint16_t loads_pending;    /* loads (and atomics with result) not yet back */
    uint16_t accesses_pending; /* all accesses not yet answered */
    uint8_t block;             /* block slot in the SM */
    uint8_t state;             /* enum warp_state */
    uint8_t depth;             /* of the stack */
    bool parted;               /* some lanes of its next instruction are done (own->served) */
    uint32_t *rows;            /* [row_count][32] */
    uint64_t *ready;           /* per register, then predicate: cycle of the value, READY_PENDING */
    uint8_t *producer; /* per register and predicate: enum wait of the operation that writes it */
    struct stack_entry *stack; /* [STACK_DEPTH] */
    struct convergence *own;   /* further state of compiled code (converge.h) */
    uint32_t preds[MAX_PREDS];
};

_Static_assert(sizeof(struct warp) == 192, "what every instruction touches is one cache line");

/* The active lanes have come to their reconvergence point, or have all exited: go on with the lanes
 * on the stack. False when no lane of the warp is left. */
bool warp_reconverge(struct warp *w);

/* Go to pc, or wherever reconvergence leads from there. False when no lane is left. */
static inline bool warp_goto(struct warp *w, uint32_t pc) {
    w->pc = pc;
    return (w->mask && pc != w->rpc) || warp_reconverge(w);
}

/* Let the lanes `taken`, some of the active ones, branch; true if the warp diverged. */
bool warp_branch(struct warp *w, uint32_t taken, uint32_t target, uint32_t reconvergence);
/* Let some of the active lanes exit; false when no lane of the warp is left. */
bool warp_exit(struct warp *w, uint32_t lanes);

#endif
