/* What the control bits of compiled code say of an instruction, on a machine that obeys them. */
#ifndef SMMUX_CONTROL_BITS_H
#define SMMUX_CONTROL_BITS_H

#include "kernel/decode.h"

#define NAMED_COUNTERS      6u /* that control bits name, */
#define ALONE               6u /* and one for what nothing may follow before its result is there */
#define DEPENDENCE_COUNTERS 7u
#define NO_COUNTER          DEPENDENCE_COUNTERS
#define MOST_COUNTED        63u /* instructions that a counter counts at a time */
#define REGISTER_BANKS      2u
#define OPERAND_LINES                                                                              \
    64u /* of constants that a program names as operands; further ones are there */

#define NAMED_ROWS 6u /* registers of an instruction that are noted, */
#define USUAL_ROWS 3u /* and places that always hold one, perhaps again */

/* As an SM uses it: one row per instruction. */
struct control_bits {
    uint8_t stall;         /* clocks from its issue to the next one of its warp */
    uint8_t wait;          /* bits of counters that are 0 before it issues */
    uint8_t counter, left; /* one that may be as high as that, or NO_COUNTER */
    uint8_t write, read;   /* counter that drops with the result, with the sources; or NO_COUNTER */
    uint16_t read_clocks;  /* until its sources have been read */
    uint8_t reads[REGISTER_BANKS]; /* of each bank of registers; 0 if it reads in its own time */
    uint8_t kept[REGISTER_BANKS];  /* of these, reads that the instruction in front has done */
    uint8_t line;                  /* of constants that it names as operands, from 1 on; or 0 */
    bool loads : 1;                /* its result comes when the registers say */
    bool alone : 1;                /* the next instruction waits for the result */
    bool counts : 1;               /* a counter rises when it issues */
    bool opens : 1;                /* it is a barrier that may allocate */
    bool simple : 1;               /* arithmetic that cannot fail, on a unit of its own */
    bool follows : 1; /* behind one that is simple, only the stall count of that keeps it */
    bool awaits : 1;  /* something may keep it beside the stall count of the last one */
    uint8_t unit;     /* as in struct uop, */
    uint32_t piece;   /* and as in struct deps, without marks */
    uint16_t rows[NAMED_ROWS]; /* registers that it reads or writes, some of them; or, behind
                                  the usual ones, ROW_NONE */
};

_Static_assert(sizeof(struct control_bits) == 32, "two to a cache line");

/* Registers of data that an access takes beside its address. */
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

/* Fill in p->control, if the machine obeys control bits and the program has some. */
enum error control_decode(struct program *p, const struct insn *code,
                          const struct uniform *uniforms, const struct config *cfg);

#endif
