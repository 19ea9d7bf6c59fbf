/* The levels behind the SMs' caches of instructions and constants.
 *
 * A second level belongs to the SMs of a group (a TPC, a GPC, or one SM), a third one to the chip.
 * Both answer as if they saw the requests of all SMs in order of time, ties by SM: what they answer
 * depends on the requests alone, never on how far which SM has run. An SM that asks stops where the
 * answer may come, at the earliest a hit's latency later. When all SMs of the group have run beyond
 * the request it is looked up, and the SM goes on. The third level looks up what all groups have
 * got beyond. So windows (chip/gpu.c) are as long as without these levels, and an SM that finds its
 * code in its own cache never stops.
 *
 * What the last level misses comes from memory: if that is the second, as packets through the port
 * of the SM that asked first; the third has a latency for it, and its few packets are left out. */
#ifndef SMMUX_SUPPLY_H
#define SMMUX_SUPPLY_H

#include "sm/sm.h"

struct third;
struct second;

/* A third level for the machine; *out is NULL where it has none. */
enum error third_create(struct third **out, const struct config *cfg);
void third_destroy(struct third *third);
/* How many bytes what is known of the lines of a second level takes. */
size_t second_bytes(const struct config *cfg);
/* A second level for `count` SMs from this one on, whose ports are in order of SM, with so many
 * bytes of zeros that stay the caller's. */
enum error second_create(struct second **out, const struct config *cfg, struct sm *first,
                         struct port *ports, uint32_t count, void *place);
void second_destroy(struct second *second);

/* Let the group's SMs run to the end of a window, or until they have to wait: for the third level,
 * or for the dispatcher, as with sm_run. */
void second_run(struct second *second, uint64_t end, bool replaced);
/* Is something on its way, or yet to be looked up? */
bool second_is_busy(const struct second *second);
/* Look up what the second levels have asked for before cycle `reach`, to which all SMs have run. */
void third_run(struct third *third, struct second *const *seconds, uint32_t count, uint64_t reach);

#endif
