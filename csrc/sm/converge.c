#include "sm/converge.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"

/* [EST] Backward branches of a group before the other groups have their turn: it may be spinning.
 */
#define PATIENCE 1024u

void converge_begin(struct warp *w, uint32_t barriers) {
    memset(w->own->barriers, 0, barriers * sizeof *w->own->barriers);
    memset(w->own->kept, 0, barriers * sizeof *w->own->kept);
    memset(w->own->keepers, 0, barriers * sizeof *w->own->keepers);
    memset(w->own->gone, 0, barriers * sizeof *w->own->gone);
    w->own->turns = w->own->served = w->own->reduced = 0;
    w->own->deferred = false;
    w->own->restored = 0;
    w->own->until = w->own->tries = 0;
    w->parted = false;
    w->preds[7] = w->preds[SASS_PREDS - 1] = ~0u;
}

/* Take group i off the stack. */
static void take(struct warp *w, uint32_t i) {
    w->depth--;
    memmove(w->stack + i, w->stack + i + 1, (w->depth - i) * sizeof *w->stack);
}

/* Take lanes that wait or diverge within a collective out of it: no lane is in two groups. */
static void abandon(struct warp *w, uint32_t mask) {
    for (uint32_t i = w->depth; i-- > 0;)
        if (w->stack[i].rpc == GROUP_COLLECTED && w->stack[i].mask & mask) take(w, i);
}

static void add(struct warp *w, uint32_t pc, uint32_t mask, uint32_t state, uint32_t others) {
    assert(w->depth < STACK_DEPTH);
    w->stack[w->depth++] = (struct stack_entry){pc, mask, state, others};
}

/* Push lanes on the stack as a ready group of their own, the newest. */
static void push(struct warp *w, uint32_t pc, uint32_t mask) {
    if (!mask) return;
    abandon(w, mask);
    add(w, pc, mask, GROUP_READY, 0);
}

/* Put lanes on the stack in a state. They join the group that waits at the same instruction for the
 * same, or, if they are ready, the group that has just been freed there. */
static void put(struct warp *w, uint32_t pc, uint32_t mask, uint32_t state, uint32_t others) {
    if (!mask) return;
    abandon(w, mask);
    for (uint32_t i = state == GROUP_READY && w->depth ? w->depth - 1 : 0; i < w->depth; i++) {
        struct stack_entry *g = &w->stack[i];
        if (g->pc != pc || g->rpc != state || g->others != others) continue;
        g->mask |= mask;
        return;
    }
    add(w, pc, mask, state, others);
}

/* The index of the newest ready group, or the depth if there is none. */
static uint32_t newest_ready(const struct warp *w) {
    for (uint32_t i = w->depth; i-- > 0;)
        if (w->stack[i].rpc == GROUP_READY) return i;
    return w->depth;
}

/* Let the newest ready group join an older ready one at the same instruction. */
static void join(struct warp *w) {
    const uint32_t last = newest_ready(w);
    for (uint32_t i = last; i-- > 0;) {
        const struct stack_entry g = w->stack[i];
        if (g.rpc != GROUP_READY || g.pc != w->stack[last].pc) continue;
        w->stack[last].mask |= g.mask;
        take(w, i);
        return;
    }
}

/* Push lanes that have just diverged from the active group. The group that did so before it may
 * join an older one only now, and not if its turn has come since, as on a card (h200:
 * group_orders.csv). */
static void defer(struct warp *w, uint32_t pc, uint32_t mask) {
    if (w->own->deferred) join(w);
    push(w, pc, mask);
    w->own->deferred = true;
}

/* The lanes whose value in a row equals that of the lowest one of them. */
static uint32_t like_lowest(uint32_t lanes, const uint32_t row[32]) {
    const uint32_t same = row[bits_lowest(lanes)];
    uint32_t found = 0;
    for (uint32_t lane = 0; lane < 32; lane++)
        found |= (lanes >> lane & 1) && row[lane] == same ? 1u << lane : 0;
    return found;
}

/* The lanes of all groups in that state. */
static uint32_t lanes_in(const struct warp *w, uint32_t state) {
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < w->depth; i++)
        if (w->stack[i].rpc == state) lanes |= w->stack[i].mask;
    return lanes;
}

/* Does a group wait in that state for these lanes, lanes that have ended apart? */
static bool names(const struct warp *w, const struct stack_entry *g, uint32_t state,
                  uint32_t others) {
    return g->rpc == state && !((g->others ^ others) & w->live);
}

/* The lanes of all groups that wait in that state for these lanes. */
static uint32_t lanes_naming(const struct warp *w, uint32_t state, uint32_t others) {
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < w->depth; i++)
        if (names(w, &w->stack[i], state, others)) lanes |= w->stack[i].mask;
    return lanes;
}

/* Make the groups in a state that have only lanes of `of` ready behind their instruction; those at
 * one instruction become one group. */
static void free_groups(struct warp *w, uint32_t state, uint32_t of) {
    for (uint32_t i = 0; i < w->depth;) {
        const struct stack_entry g = w->stack[i];
        if (g.rpc != state || g.mask & ~of) {
            i++;
            continue;
        }
        take(w, i);
        put(w, g.pc + 1, g.mask, GROUP_READY, 0);
    }
}

/* Take lanes out of the views of a barrier register: those of lanes that have kept it (BMOV) as
 * often as these, so are as deep in functions. Views that functions further in keep change when
 * they are restored (`gone`). Lanes further out wait on: there these lanes are still to come. */
static void forget(struct warp *w, uint32_t barrier, uint32_t lanes) {
    struct convergence *own = w->own;
    const uint8_t level = lanes ? own->kept[barrier][bits_lowest(lanes)] : 0;
    for (uint32_t lane = 0; lane < 32; lane++)
        if (own->kept[barrier][lane] == level) own->barriers[barrier][lane] &= ~lanes;
    for (uint32_t left = own->keepers[barrier] & ~lanes; left; left &= left - 1) {
        const uint32_t lane = bits_lowest(left);
        if (own->kept[barrier][lane] <= level) continue;
        uint8_t *first = &own->first[barrier][lane], *last = &own->last[barrier][lane];
        if (!own->gone[barrier][lane]) *first = *last = level;
        if (level < *first) *first = level;
        if (level > *last) *last = level;
        own->gone[barrier][lane] |= lanes;
    }
}

/* The lanes of a mask, and those that wait at a barrier register for one of them. Further lanes may
 * wait at the same register for others, in functions that have kept their callers' views. */
static uint32_t lanes_meeting(const struct warp *w, uint32_t barrier, uint32_t mask) {
    const uint32_t *view = w->own->barriers[barrier];
    uint32_t lanes = mask;
    for (uint32_t i = 0; i < w->depth; i++) {
        const struct stack_entry *g = &w->stack[i];
        if (g->rpc == GROUP_BARRIER + barrier && view[bits_lowest(g->mask)] & mask)
            lanes |= g->mask;
    }
    return lanes;
}

/* Free the groups at a barrier register whose view has no lane missing, `excused` ones apart.
 * Excused lanes that come later do not wait for those that have gone. */
static void free_barrier(struct warp *w, uint32_t barrier, uint32_t excused) {
    const uint32_t state = GROUP_BARRIER + barrier;
    for (uint32_t i = 0; i < w->depth; i++) {
        const struct stack_entry g = w->stack[i];
        if (g.rpc != state) continue;
        const uint32_t there = lanes_meeting(w, barrier, g.mask),
                       wanted = w->own->barriers[barrier][bits_lowest(g.mask)] & w->live;
        if (wanted & ~there & ~excused) continue;
        free_groups(w, state, (wanted & there) | g.mask);
        forget(w, barrier, (wanted & there) | g.mask);
        i = UINT32_MAX; /* begin anew: other groups may be free now */
    }
}

/* Free the groups at a WARPSYNC whose named lanes have all come. Groups that are freed together go
 * on as one, whichever lanes they named: compilers restrict what only some of them do by masks. At
 * an exclusive one, the lanes of each mask go on as a group of their own. */
static void free_warpsync(struct warp *w, uint32_t state) {
    for (uint32_t i = 0; i < w->depth; i++) {
        const struct stack_entry g = w->stack[i];
        if (g.rpc != state || g.others & w->live & ~lanes_naming(w, state, g.others)) continue;
        for (uint32_t k = 0; k < w->depth;) {
            const struct stack_entry there = w->stack[k];
            if (!names(w, &there, state, g.others)) {
                k++;
                continue;
            }
            take(w, k);
            put(w, there.pc + 1, there.mask, GROUP_READY,
                state == GROUP_EXCLUSIVE ? there.others : 0);
        }
        i = UINT32_MAX;
    }
}

/* If all lanes of a collective have come, make them the active group, at the copy of the oldest
 * group; false if there is no such collective. */
static bool gather(struct warp *w) {
    for (uint32_t i = 0; i < w->depth; i++) {
        const struct stack_entry g = w->stack[i];
        if (g.rpc != GROUP_COLLECTIVE) continue;
        const uint32_t lanes = lanes_naming(w, GROUP_COLLECTIVE, g.others);
        if (g.others & w->live & ~lanes) continue;
        for (uint32_t k = 0; k < w->depth; k++)
            if (names(w, &w->stack[k], GROUP_COLLECTIVE, g.others))
                w->stack[k].rpc = GROUP_COLLECTED;
        w->pc = g.pc + 1;
        w->mask = lanes;
        return true;
    }
    return false;
}

/* All groups that could go on have yielded: make them all ready, and return the index of the one
 * with the lowest lane, even if it yielded last (h200: yield_turns.csv); the depth if there is
 * none. */
static uint32_t first_yielded(struct warp *w) {
    uint32_t first = w->depth;
    for (uint32_t i = 0; i < w->depth; i++) {
        struct stack_entry *g = &w->stack[i];
        if (g->rpc != GROUP_YIELDED) continue;
        g->rpc = GROUP_READY;
        if (first == w->depth || bits_lowest(g->mask) < bits_lowest(w->stack[first].mask))
            first = i;
    }
    return first;
}

/* Free all groups that need not wait any longer, and make the newest ready one active, as a card
 * does (h200: group_orders.csv); false if there is none. */
static bool go_on(struct warp *w, uint32_t excused) {
    for (uint32_t barrier = 0; barrier < CONVERGENCE_BARRIERS; barrier++)
        free_barrier(w, barrier, excused);
    free_warpsync(w, GROUP_WARPSYNC);
    free_warpsync(w, GROUP_EXCLUSIVE);
    if (gather(w)) return true;
    uint32_t next = newest_ready(w);
    if (next == w->depth) next = first_yielded(w);
    if (next == w->depth) return false;
    w->pc = w->stack[next].pc;
    w->mask = w->stack[next].mask;
    w->own->deferred = false;
    take(w, next);
    return true;
}

/* No group is active: choose the next one. Convergence barriers do not wait for lanes that have
 * yielded. If no group can go on then, they do not wait for lanes at a WARPSYNC or a collective
 * either, since compilers write loops that lanes leave past the barrier, and a card goes on (random
 * PTX, seeds 105079 and 106653). If still no group can, groups wait for each other in a circle:
 * then barriers wait for no lane but those at a barrier of the block. */
static void settle(struct warp *w) {
    w->mask = 0;
    w->own->turns = 0;
    if (go_on(w, lanes_in(w, GROUP_YIELDED))) return;
    const uint32_t met = lanes_in(w, GROUP_WARPSYNC) | lanes_in(w, GROUP_EXCLUSIVE);
    if (go_on(w, met | lanes_in(w, GROUP_COLLECTIVE))) return;
    go_on(w, ~lanes_in(w, GROUP_BLOCK));
}

/* The active group has run for long: put it at the bottom of the stack, so that all others come
 * first. */
static void let_others(struct warp *w) {
    push(w, w->pc, w->mask);
    const struct stack_entry own = w->stack[w->depth - 1];
    memmove(w->stack + 1, w->stack, (w->depth - 1) * sizeof *w->stack);
    w->stack[0] = own;
    settle(w);
}

/* Split the active group: `taken` goes on at target, the rest at pc. The smaller part goes on
 * first, as on a card (h200: group_orders.csv); of equal parts the rest, if `stays`, else the taken
 * one. */
static void part(struct warp *w, uint32_t taken, uint32_t target, uint32_t pc, bool stays) {
    const uint32_t rest = w->mask & ~taken;
    if (bits_count(rest) < bits_count(taken) + stays) {
        defer(w, target, taken);
        w->mask = rest;
        w->pc = pc;
    } else {
        defer(w, pc, rest);
        w->mask = taken;
        w->pc = target;
    }
}

void converge_branch(struct warp *w, uint32_t taken, uint32_t target) {
    const uint32_t next = w->pc + 1;
    const bool back = target <= w->pc;
    if (taken && taken != w->mask && target != next) part(w, taken, target, next, true);
    else w->pc = taken ? target : next;
    if (!back || !w->depth || ++w->own->turns < PATIENCE) return;
    let_others(w);
}

void converge_scatter(struct warp *w, const uint32_t target[32]) {
    const uint32_t first = target[bits_lowest(w->mask)], taken = like_lowest(w->mask, target);
    if (taken == w->mask) w->pc = first;
    else part(w, taken, first, w->pc, false); /* the rest executes the branch again */
}

void converge_leave(struct warp *w, uint32_t lanes) {
    push(w, w->pc + 1, w->mask & ~lanes);
    w->mask = lanes;
}

void converge_enter(struct warp *w, uint32_t barrier) {
    for (uint32_t lane = 0; lane < 32; lane++)
        if (w->mask >> lane & 1) w->own->barriers[barrier][lane] = w->mask;
    w->pc++;
}

/* Groups that waited for these lanes alone go on before the active one. */
void converge_break(struct warp *w, uint32_t barrier, uint32_t lanes) {
    forget(w, barrier, lanes);
    w->pc++;
    const uint32_t waiting = lanes_in(w, GROUP_BARRIER + barrier);
    if (!waiting) return;
    push(w, w->pc, w->mask);
    free_barrier(w, barrier, 0);
    if (lanes_in(w, GROUP_BARRIER + barrier) == waiting) w->depth--;
    else settle(w);
}

void converge_keep(struct warp *w, uint32_t barrier, uint32_t lanes, uint32_t *row, bool clear) {
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (!(lanes >> lane & 1)) continue;
        uint32_t *view = &w->own->barriers[barrier][lane];
        if (row) row[lane] = *view, w->own->kept[barrier][lane]++;
        if (clear) *view = 0;
    }
    if (row) w->own->keepers[barrier] |= lanes;
}

void converge_restore(struct warp *w, uint32_t barrier, uint32_t lanes, const uint32_t *row) {
    struct convergence *own = w->own;
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (!(lanes >> lane & 1)) continue;
        uint32_t *view = &own->barriers[barrier][lane], *gone = &own->gone[barrier][lane];
        *view = row[lane];
        if (own->kept[barrier][lane]) own->kept[barrier][lane]--;
        if (!own->kept[barrier][lane]) own->keepers[barrier] &= ~(1u << lane);
        if (own->kept[barrier][lane] <= own->last[barrier][lane]) *view &= ~*gone;
        if (own->kept[barrier][lane] <= own->first[barrier][lane]) *gone = 0;
    }
}

/* Put the active lanes on the stack, as a group for each value that a row has for them. */
static void put_apart(struct warp *w, const uint32_t said[32], uint32_t state) {
    for (uint32_t left = w->mask, mine; left; left &= ~mine) {
        mine = like_lowest(left, said);
        put(w, w->pc, mine, state, said[bits_lowest(left)]);
    }
    settle(w);
}

/* Put the active lanes on the stack that have the same value in a row as the lowest one; the others
 * execute the instruction again. */
static void put_first(struct warp *w, const uint32_t said[32], uint32_t state) {
    const uint32_t mine = like_lowest(w->mask, said);
    push(w, w->pc, w->mask & ~mine);
    put(w, w->pc, mine, state, said[bits_lowest(mine)]);
    settle(w);
}

void converge_wait(struct warp *w, uint32_t barrier) {
    put_apart(w, w->own->barriers[barrier], GROUP_BARRIER + barrier);
}

void converge_sync(struct warp *w, const uint32_t lanes[32], bool exclusive) {
    if (exclusive) put_first(w, lanes, GROUP_EXCLUSIVE);
    else put_apart(w, lanes, GROUP_WARPSYNC);
}

uint32_t converge_met(const struct warp *w, uint32_t named) {
    return w->mask | lanes_naming(w, GROUP_WARPSYNC, named) |
           lanes_naming(w, GROUP_EXCLUSIVE, named) | lanes_naming(w, GROUP_COLLECTIVE, named);
}

void converge_collect(struct warp *w, const uint32_t lanes[32]) {
    put_first(w, lanes, GROUP_COLLECTIVE);
}

void converge_disperse(struct warp *w, const struct uop *code) {
    for (uint32_t i = 0; i < w->depth;) {
        const struct stack_entry g = w->stack[i];
        if (g.rpc != GROUP_COLLECTED || g.mask & ~w->mask) {
            i++;
            continue;
        }
        take(w, i);
        w->mask &= ~g.mask;
        push(w, (uint32_t)code[g.pc].imm, g.mask);
    }
    if (w->mask) w->pc++; /* lanes that were not collected go on */
    else settle(w);
}

void converge_yield(struct warp *w) {
    const bool others = lanes_in(w, GROUP_YIELDED) != 0;
    put(w, w->pc + 1, w->mask, GROUP_YIELDED, 0);
    if (others) {
        w->mask = w->own->turns = 0;
        if (go_on(w, 0)) return;
    }
    settle(w);
}

void converge_tire(struct warp *w) { w->own->turns = PATIENCE; }

bool converge_exit(struct warp *w, uint32_t lanes) {
    w->live &= ~lanes;
    w->mask &= ~lanes;
    w->pc++;
    if (!w->mask) settle(w);
    return w->live != 0;
}

void converge_block(struct warp *w) {
    put(w, w->pc, w->mask, GROUP_BLOCK, 0);
    settle(w);
}

bool converge_gather(struct warp *w) {
    if (lanes_in(w, GROUP_BLOCK) != w->live) return false;
    w->pc = w->stack[0].pc;
    free_groups(w, GROUP_BLOCK, ~0u);
    w->mask = w->stack[0].mask;
    take(w, 0);
    return true;
}
