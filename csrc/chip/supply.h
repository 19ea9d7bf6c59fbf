/* The second and third level of caches for instructions and constants, behind those of the SMs.
 *
 * A second level serves a group of SMs (one SM, some TPCs of a GPC), the third level the chip. Both
 * serve the requests of all SMs in order of time, ties by SM, so that the answers depend on the
 * requests alone, never on how far each SM has run. An SM that asks stops at the first cycle at
 * which the answer may come: a hit's latency later. When all SMs of the group have run beyond the
 * request, it is looked up, and the SM goes on. The third level looks requests up when all groups
 * have run beyond them. So windows (chip/gpu.c) are as long as without these levels, and an SM that
 * finds its code in its own cache never stops.
 *
 * Lines that the last level lacks come from memory. A second level sends packets through the port
 * of the SM that asked first. The third level has a fixed latency: its few packets are left out. */
#ifndef SMMUX_SUPPLY_H
#define SMMUX_SUPPLY_H

#include "sm/sm.h"

struct second;

/* The bytes of memory that the lines' state of a second level takes. */
size_t second_bytes(const struct config *cfg);
/* The SMs that a second level serves: so many members of all SMs of the chip, in ascending order.
 */
struct served {
    struct sm *sms;
    struct port *ports;
    const uint16_t *member;
    uint32_t count;
};

/* A second level for these SMs, in second_bytes of zeros at `place`, which the caller frees. */
enum error second_create(struct second **out, const struct config *cfg, const struct served *served,
                         void *place);
void second_destroy(struct second *second);

/* Let the group's SMs run to the end of a window, or until they have to wait: for the third level,
 * or for the dispatcher, as with sm_run. */
void second_run(struct second *second, uint64_t end, bool replaced);
/* Are there lines on their way, or requests not yet looked up? */
bool second_is_busy(const struct second *second);
/* Do what happens at the second level before that cycle, to which all its SMs have run, as far as
 * it is known which lines come when. */
void second_advance(struct second *s, uint64_t reach);
/* The cycle to which all its SMs have run. */
uint64_t second_reach(const struct second *s);

#endif
