/* What the files that check and decode a program have in common. */
#ifndef SMMUX_DECODER_H
#define SMMUX_DECODER_H

#include "kernel/decode.h"

/* The state while a program is checked and decoded into a struct program, instruction by
 * instruction. */
struct decoder {
    struct program *p;
    const struct insn *code;
    uint32_t pc, buffer_count;
    struct fault *fault;
};

/* Latency, unit time and unit of every class on this machine. */
struct times {
    uint16_t latency[CLASS_COUNT], interval[CLASS_COUNT];
    uint8_t unit[CLASS_COUNT];
};

/* Refuse the program because of the instruction at hand. */
enum error reject(struct decoder *dec, const char *form, ...);
/* Let the instruction at hand wait for a register or predicate. */
enum error add_dep(struct decoder *dec, uint32_t id);
/* Decode a value operand: register, special register or uniform. */
enum error source(struct decoder *dec, uint16_t field, uint16_t *row);
/* Decode a group of registers, of which *row is the first: the instruction waits for all. */
enum error group(struct decoder *dec, uint16_t field, uint32_t count, uint16_t *row);
/* Decode a predicate. */
enum error predicate(struct decoder *dec, uint16_t field, uint16_t *number);
/* The program's number of a kind of units, which it takes; most instructions take the first ones.
 */
uint8_t number_of(struct program *p, uint32_t kind);

/* Decode where an asynchronous copy goes: the sum of b, c and q, of which some may be absent. */
enum error sass_copy(struct decoder *dec, const struct insn *in, struct uop *u);
/* Decode an operand of so many registers, or of words that are the same for all. */
enum error sass_group(struct decoder *dec, uint16_t field, uint32_t count, uint16_t *row);
/* Decode the address of an access of compiled code. */
enum error sass_address(struct decoder *dec, const struct insn *in, struct uop *u);
/* Decode the instruction at hand, an operation of sass.def. */
enum error sass_decode(struct decoder *dec, const struct config *cfg, const struct times *times);
/* How many rows an operation of sass.def takes from the one on that a letter names; 0: none. */
uint8_t sass_words(uint32_t op, char letter);
/* The latency class of an operation of compiled code. */
uint8_t sass_class(uint32_t op);
/* Does no lane go on behind this instruction, unless it is guarded? */
bool sass_ends(const struct uop *u);
/* Is what an instruction loads compared by a compare and swap behind it? */
bool sass_feeds_swap(const struct program *p, uint32_t pc);
/* Find which barrier registers are named; returns the end of the registers that are, uniform ones
 * of which there are many and few are taken. */
uint32_t sass_named(struct program *p);

#endif
