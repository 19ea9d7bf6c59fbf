/* How operations of compiled code name their predicates (tables/sass.def). */
#ifndef SMMUX_SASS_H
#define SMMUX_SASS_H

#include "kernel/decode.h"

#define SASS_PREDS           16u /* P0 to P6 and true, UP0 to UP6 and true */
#define CONVERGENCE_BARRIERS 16u
#define BARRIER_ALLOC                                                                              \
    14u                 /* of a block: smmux::alloc of smmux.cuh; the next one is smmux::release */
#define SASS_GENERIC 1u /* in ~aux of a global access: its address says which space */
#define SASS_FORM    1u /* shift in ~aux: how an address is made of its base register */
#define SASS_DONE    4u /* shift in ~aux: predicate that says where an atomic is done */
#define SASS_STRONG                                                                                \
    0x100u /* in ~aux of a global access: other SMs are meant to see it, or to be seen */
#define SASS_NEAR                                                                                  \
    0x200u /* in ~aux of a global access: other threads of the block are, which matters for shared \
              memory */
#define SASS_WAYS     0x3ffu /* bits of ~aux that the compiler fills in, */
#define SASS_ROW      10u    /* and shift of the row that the decoder puts behind them */
#define SHARED_HIGH   1u     /* high word of generic addresses of shared memory, */
#define LOCAL_HIGH    2u     /* and of local memory */
#define ROUTINE_HIGH  4u     /* high word of addresses of routines outside of the code */
#define INSN_BYTES    16u    /* what an address counts: an instruction has 128 bits */
#define LAST_ARGUMENT 21u    /* register of a call, the high word of where it returns */
#define SASS_NOT      16u    /* with the number of a predicate that is read: negated */

/* How a branch decides, in `q`. */
enum sass_branch { BRANCH_EACH, BRANCH_ANY, BRANCH_DIV, BRANCH_CONV, BRANCH_COUNT };
/* Where a jump through a register may go, in `q`: in the code; or to a routine outside of it, too;
 * a call that stays in the code. Neither call goes to where the kernel begins, which nobody calls.
 */
enum sass_jump { JUMP_INSIDE, JUMP_ANYWHERE, JUMP_CALL, JUMP_COUNT };
/* Which lanes a WARPSYNC waits for, in `q`: those that its register names; these, which go on
 * without lanes that name others; all. */
enum sass_sync { SYNC_NAMED, SYNC_EXCLUSIVE, SYNC_ALL, SYNC_COUNT };
/* How far a fence of compiled code reaches, in `imm`; those of Python kernels are plain. */
enum sass_fence { FENCE_PLAIN, FENCE_GPU, FENCE_SYSTEM };
/* Of a barrier of the block: its register has the threads alone. */
enum sass_bar { BAR_COUNT = 1 << 13 };
/* What else reading a barrier register does: clear it; keep nothing of it. */
enum sass_bmov { BMOV_CLEAR = 1, BMOV_DROPPED = 2 };

/* The predicate of an access of compiled code: where an atomic is done, or which lanes copy. */
static inline uint32_t sass_done(const struct uop *u) {
    return ~(uint32_t)u->aux >> SASS_DONE & 0xfu;
}

/* Does an instruction call a function? */
static inline bool sass_calls(const struct uop *u) {
    return u->op == OP_SASS_CONTROL &&
           (u->sub == SASS_CALL || (u->sub == SASS_JUMP && u->q != JUMP_INSIDE));
}

/* Is it an access whose address says which space it goes to? */
static inline bool sass_is_generic(const struct uop *u) {
    const bool global = u->op == OP_LD_GLOBAL || u->op == OP_ST_GLOBAL || u->op == OP_ATOM_GLOBAL;
    return global && (u->flags & INSN_WIDE) && (~(uint32_t)u->aux & SASS_GENERIC);
}

/* Does a load see what other SMs write meanwhile, or a store show it to them? So volatile ones do,
 * and those of atomic variables. */
static inline bool sass_is_strong(const struct uop *u) {
    return (u->flags & INSN_WIDE) && (~(uint32_t)u->aux & SASS_STRONG);
}

/* Does it speak to other threads of its block at least? */
static inline bool sass_is_told(const struct uop *u) {
    return (u->flags & INSN_WIDE) && (~(uint32_t)u->aux & (SASS_STRONG | SASS_NEAR));
}

/* Bits of `imm` that an operation's modifiers set: SASS_MOD(ISETP, EX) of MODIFIER(ISETP, "EX",
 * ...) is written out where the operation is, since names of several words are no names of C. */

/* The number of a predicate of the instruction, with SASS_NOT if it is read and negated. */
static inline uint32_t sass_pred(const struct uop *u, enum sass_predicates shift) {
    return (uint32_t)u->aux >> shift & (shift >= SHIFT_PS0 ? 0x1fu : 0xfu);
}

#endif
