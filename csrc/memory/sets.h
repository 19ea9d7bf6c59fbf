/* The sets of an L1 whose lines share room, as a Hopper card numbers them.
 *
 * Each bit of a line's number turns some bits of its set's number over. Found by looking for lines
 * that drive each other out (experiments/hardware/hopper/h200/l1_sets.csv): any nine bits side by
 * side reach all sets, so that no stride of a power of two makes conflicts. The two lowest bits are
 * the bank of the tags. */
#ifndef SMMUX_SETS_H
#define SMMUX_SETS_H

#include <stdint.h>

#define SETS      512u
#define SET_BANKS 4u

/* The set of a line, whose number has 25 bits. */
uint32_t sets_of(uint32_t line);

/* The bank of the tags of that line. */
static inline uint32_t sets_bank(uint32_t line) { return sets_of(line) % SET_BANKS; }

#endif
