/* Servers of the constants that are operands of compiled code: some TPCs of a GPC share one, which
 * sends a sub-core the lines that it asks for, one after the other.
 *
 * A server answers in order of time, ties by SM, whatever the windows are (chip/gpu.c): an SM that
 * asks stops where the answer may come, and is answered when all SMs have run beyond the request.
 */
#ifndef SMMUX_CHIP_CONSTANTS_H
#define SMMUX_CHIP_CONSTANTS_H

#include "base/gpcs.h"
#include "sm/sm.h"

#define MOST_SERVED (MOST_operand_tpcs * MOST_sms_per_tpc) /* the most SMs of a server */

struct constant_servers {
    uint32_t count;
    struct constant_server {
        uint64_t free; /* cycle from which on it can send the next line */
        uint32_t count;
        uint16_t sm[MOST_SERVED]; /* its SMs in ascending order */
    } server[MOST_sm_count];
};

/* Create the machine's servers; *out is NULL where sub-cores always have all lines. */
enum error constants_create(struct constant_servers **out, const struct config *cfg);
/* Answer the requests before cycle `reach`, to which all SMs have run. */
void constants_run(struct constant_servers *s, struct sm *sms, uint64_t reach);

#endif
