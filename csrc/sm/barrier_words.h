/* Which words of shared memory are asynchronous barriers: loads of those look whether they are
 * complete, as code for CC 8.x does, and race with nobody. */
#ifndef SMMUX_BARRIER_WORDS_H
#define SMMUX_BARRIER_WORDS_H

#include "sm/memop.h"

/* There is an asynchronous barrier at that address of the SM's shared memory. */
void barrier_words_note(struct sm *sm, uint32_t address);
/* Does an access poll an asynchronous barrier at that address of the SM's shared memory, or change
 * one that an earlier access polled? pc: of the earlier one. */
bool barrier_words_polled(const struct memop *op, uint32_t address, uint32_t pc);

#endif
