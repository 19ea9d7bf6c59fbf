/* What an SM asks of the level behind its caches of instructions and constants (chip/supply.h). */
#ifndef SMMUX_ASK_H
#define SMMUX_ASK_H

#include "base/config.h"
#include "kernel/control_bits.h"
#include "memory/misses.h"
#include "sm/subcore.h"

struct access;
struct sm;

/* A line that is asked for. */
struct ask {
    uint64_t cycle;
    struct access *access; /* to be answered; NULL: none, the line is one of operands */
    uint32_t addr;         /* of the line; the number of a line of operands */
    uint8_t subcore;       /* of operands */
};

#define MOST_ASKING 64u

/* What has asked for lines of constants. Accesses to the same lines wait with these. */
struct asking {
    uint64_t free; /* when the next line can be asked for */
    uint32_t count;
    struct access *access[MOST_ASKING];
};

/* The most that an SM has asked for at a time, beside what its accesses to constants wait for. */
#define MAX_ASKS (2 * MAX_MISSES + MAX_SUBCORES * OPERAND_LINES)

/* Are constants that an SM lacks asked of the second level, which takes turns? */
static inline bool ask_constants(const struct config *cfg) {
    return cfg->icache2_clk && cfg->icache2_bytes && cfg->const_bytes;
}

/* The clocks in which the fastest answer comes. */
static inline uint32_t ask_least(const struct config *cfg) {
    uint32_t least = cfg->lat_icache2;
    if (cfg->operand_miss && cfg->operand_miss < least) least = cfg->operand_miss;
    if (ask_constants(cfg) && cfg->const_miss < least) least = cfg->const_miss;
    return least;
}

/* Ask for a line at a cycle from now on. Until its answer may come alone the SM may run before that
 * is known. */
void ask_put(struct sm *sm, struct ask a);

/* A line of instructions comes that another SM of the TPC has asked for. */
void ask_twin(struct sm *sm, struct access *a, uint64_t t);

/* How far an SM may run, at most to `end`, before it must hear of what it has asked for. */
uint64_t ask_bound(const struct sm *sm, uint64_t end);

#endif
