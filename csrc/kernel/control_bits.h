/* What the control bits of compiled code say of an instruction, on a machine that obeys them. */
#ifndef SMMUX_CONTROL_BITS_H
#define SMMUX_CONTROL_BITS_H

#include "kernel/decode.h"

#define NAMED_COUNTERS      6u /* dependence counters that control bits can name */
#define ALONE               6u /* the counter of instructions that the next one must not overlap */
#define DEPENDENCE_COUNTERS 7u
#define NO_COUNTER          DEPENDENCE_COUNTERS
#define MOST_COUNTED        63u /* the most instructions that a counter counts at a time */
#define REGISTER_BANKS      2u
#define OPERAND_LINES                                                                              \
    64u /* lines of constant operands that are fetched; further lines count as there */

#define NAMED_ROWS 6u /* registers of an instruction that are kept in `rows` */
#define USUAL_ROWS 3u /* the first places of `rows`, which always hold one, if need be twice */

/* The control bits of one instruction, decoded for the issue logic. */
struct control_bits {
    uint8_t stall;         /* clocks from its issue to the next one of its warp */
    uint8_t wait;          /* a bit per counter that must be 0 before it issues */
    uint8_t counter, left; /* it issues when `counter` is at most `left`; NO_COUNTER: none */
    uint8_t write, read;   /* counters that rise at issue, and drop when the result is there or the
                              sources are read; or NO_COUNTER */
    uint16_t read_clocks;  /* clocks from issue until its sources have been read */
    uint8_t reads[REGISTER_BANKS]; /* reads of each bank of registers that compete for its port */
    uint8_t kept[REGISTER_BANKS];  /* of these, reads that the operand cache saves behind the
                                      instruction in front */
    uint8_t line;                  /* line of its constant operand, counted from 1; 0: none */
    bool loads : 1;   /* memory gives its result: struct warp's `ready` says when it comes */
    bool alone : 1;   /* the next instruction must wait for its result */
    bool counts : 1;  /* some counter rises when it issues */
    bool opens : 1;   /* it is a barrier that may allocate shared memory */
    bool simple : 1;  /* arithmetic that cannot fail, always on the same unit */
    bool follows : 1; /* behind a simple instruction it waits for no more than its stall count */
    bool awaits : 1;  /* it may wait for more than the stall count of the last one */
    uint8_t unit;     /* as in struct uop */
    uint32_t piece;   /* as in struct deps, without PIECE_SPECIAL */
    uint16_t rows[NAMED_ROWS]; /* some of the registers that it reads or writes, to be prefetched;
                                  ROW_NONE behind the last one */
};

_Static_assert(sizeof(struct control_bits) == 32, "two to a cache line");

/* How many registers of data an access reads beside its address. */
static inline uint32_t control_data(const struct uop *u) {
    if (u->op == OP_LD_SHARED || u->op == OP_LD_GLOBAL) return 0; /* most of them */
    const uint32_t words = u->width <= 4 ? 1 : u->width / 4;
    const bool compares = u->sub == ATOM_CAS || u->sub == ATOM_CAS64 || u->sub == ATOM_CAS128;
    switch (u->op) {
    case OP_ST_SHARED:
    case OP_ST_LOCAL:
    case OP_ST_GLOBAL: return words;
    case OP_ATOM_SHARED:
    case OP_ATOM_GLOBAL: return words * (compares ? 2 : 1);
    default: return 0;
    }
}

/* Fill in p->control, if the machine obeys control bits and the program has control bits. */
enum error control_decode(struct program *p, const struct insn *code,
                          const struct uniform *uniforms, const struct config *cfg);

#endif
