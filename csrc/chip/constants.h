/* What serves the lines of constants that sub-cores name as operands: one for some TPCs of a GPC,
 * line after line.
 *
 * It answers in order of time, ties by SM, whatever the windows are (chip/gpu.c): an SM that asks
 * stops where the answer may come, and is answered when all SMs have run beyond the request. */
#ifndef SMMUX_CHIP_CONSTANTS_H
#define SMMUX_CHIP_CONSTANTS_H

#include "base/gpcs.h"
#include "sm/sm.h"

#define MOST_SERVED (MOST_operand_tpcs * MOST_sms_per_tpc) /* SMs of a server */

struct constant_servers {
    uint32_t count;
    struct constant_server {
        uint64_t free; /* from when on it can serve the next line */
        uint32_t count;
        uint16_t sm[MOST_SERVED]; /* in order */
    } server[MOST_sm_count];
};

/* Servers for the machine; *out is NULL where lines are always there. */
enum error constants_create(struct constant_servers **out, const struct config *cfg);
/* Answer what has been asked for before cycle `reach`, to which all SMs have run. */
void constants_run(struct constant_servers *s, struct sm *sms, uint64_t reach);

#endif
