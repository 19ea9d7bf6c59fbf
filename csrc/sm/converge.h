/* Independent thread scheduling of compiled code for CC 7.0 and above: the lanes of a warp form
 * groups, each at an instruction of its own. One group is active; the others lie in the warp's
 * stack, oldest first. Groups meet again at convergence barriers, which are registers (B0 to B15)
 * set by BSSY and awaited by BSYNC (US 10,067,768; spec/sass.md 4.6). */
#ifndef SMMUX_CONVERGE_H
#define SMMUX_CONVERGE_H

#include "kernel/decode.h"
#include "sm/warp.h"

/* What a group on the stack waits for; kept in `rpc` of its entry. */
enum group_state {
    GROUP_READY,        /* for its turn */
    GROUP_YIELDED,      /* for its turn; convergence barriers count it as arrived */
    GROUP_WARPSYNC,     /* for the lanes of `others` to come to a warpsync */
    GROUP_EXCLUSIVE,    /* the same, and to go on without lanes that name other lanes */
    GROUP_COLLECTIVE,   /* for the lanes of `others` to come to their copies of a collective */
    GROUP_COLLECTED,    /* for the end of the collective, in which its lanes take part */
    GROUP_BLOCK,        /* for the other lanes to come to the barrier of the block */
    GROUP_BARRIER = 16, /* + number of the barrier register: for the other lanes of its view */
};

/* What a warp of compiled code has in addition to struct warp.
 *
 * Each lane has its own view of a barrier register: the lanes that it will meet there. A function
 * that uses a register keeps the caller's view elsewhere (BMOV) and restores it at its end; lanes
 * that leave the barrier meanwhile are noted in `gone`, to be taken out of the kept views. */
struct convergence {
    uint32_t turns;  /* how often the active group has branched backward */
    uint32_t served; /* lanes of the current generic access that are done */
    uint64_t
        until; /* cycle up to which it waits for an asynchronous barrier; 0: it does not wait */
    uint32_t tries;    /* how often it has tried that barrier in vain */
    uint32_t reduced;  /* result of its last BAR.RED */
    bool deferred;     /* the newest ready group has just diverged from the active one */
    uint16_t restored; /* barrier registers that BMOV has written since their last BSYNC */
    uint16_t loading[MAX_REGS + MAX_UNIFORM_REGS]; /* per register: loads under way (obey.h) */
    uint32_t barriers[CONVERGENCE_BARRIERS][32];   /* per lane: its view, a mask of lanes */
    uint8_t kept[CONVERGENCE_BARRIERS][32];        /* per lane: how many views it has kept */
    uint32_t keepers[CONVERGENCE_BARRIERS];        /* lanes that have kept any */
    uint32_t gone[CONVERGENCE_BARRIERS][32];       /* lanes to be taken out of kept views */
    uint8_t first[CONVERGENCE_BARRIERS][32];       /* index of the lowest of those views */
    uint8_t last[CONVERGENCE_BARRIERS][32];        /* and of the highest */
};

/* Begin a warp: it has one group, its barrier registers are empty (the program uses `barriers` of
 * them), and PT and UPT, the predicates that are always true, are set. */
void converge_begin(struct warp *w, uint32_t barriers);
/* Branch: the active lanes in `taken` go on at target, the others behind the branch. */
void converge_branch(struct warp *w, uint32_t taken, uint32_t target);
/* Branch indirectly: each active lane goes on at its own instruction, given by its number. */
void converge_scatter(struct warp *w, const uint32_t target[32]);
/* Let only some of the active lanes execute the current instruction; the others go on behind it. */
void converge_leave(struct warp *w, uint32_t lanes);
/* BSSY: the active lanes will meet at a barrier register. Groups may use one register at the same
 * time, which is why each lane has its own view of it. */
void converge_enter(struct warp *w, uint32_t barrier);
/* BREAK: lanes will not come to a barrier register. */
void converge_break(struct warp *w, uint32_t barrier, uint32_t lanes);
/* BSYNC: the active lanes wait at a barrier register, and a group that can go on becomes active.
 * Here and in the functions below that may leave no group active: w->mask is 0 then. */
void converge_wait(struct warp *w, uint32_t barrier);
/* BMOV: lanes copy their views of a barrier register to a row of registers (or to none, if row is
 * NULL) and perhaps clear the register; or they copy their views back from the row. */
void converge_keep(struct warp *w, uint32_t barrier, uint32_t lanes, uint32_t *row, bool clear);
void converge_restore(struct warp *w, uint32_t barrier, uint32_t lanes, const uint32_t *row);
/* WARPSYNC: each active lane waits until the lanes that it names have come to a WARPSYNC, too.
 * Lanes that are freed at one instruction go on as one group; with `exclusive`, only those that
 * named the same lanes do. */
void converge_sync(struct warp *w, const uint32_t lanes[32], bool exclusive);
/* The active lanes, and all lanes that wait for the lanes of a mask. */
uint32_t converge_met(const struct warp *w, uint32_t named);
/* The same at a collective, of which compilers write a copy for each path: when all lanes named
 * have come to their copies, they execute one of the copies as one group, up to its end. */
void converge_collect(struct warp *w, const uint32_t lanes[32]);
/* The end of a collective: each lane goes on behind its own copy, at the target that the copy's
 * first instruction names. */
void converge_disperse(struct warp *w, const struct uop *code);
/* YIELD: let the other groups have their turn first. */
void converge_yield(struct warp *w);
/* The active group spins on what other lanes do: at its next backward branch the other groups have
 * their turn. */
void converge_tire(struct warp *w);
/* EXIT: some of the active lanes end; false if no lane of the warp is left. */
bool converge_exit(struct warp *w, uint32_t lanes);
/* BAR: the active lanes wait at a barrier of the block. */
void converge_block(struct warp *w);
/* With no group active: do all live lanes wait at a barrier of the block? If so, the warp's pc
 * becomes that of the first group, which becomes active, and every group goes on behind its own
 * barrier when the block's barrier lets the warp go. */
bool converge_gather(struct warp *w);

#endif
