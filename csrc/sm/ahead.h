/* What the host is asked for before an SM touches it: on a chip of many SMs that lies in none of
 * the host's nearer caches when the SM's window begins, but most of what it will be is known. */
#ifndef SMMUX_AHEAD_H
#define SMMUX_AHEAD_H

#include "sm/sm.h"

/* A window begins, and the SM of a machine that obeys control bits has its replies. */
void ahead_window(const struct sm *sm);

/* A record of an access has been taken, and the next one will be. */
static inline void ahead_access(const struct sm *sm) {
    const bool again = sm->access_free < sm->m->flights;
    const struct access *next = &sm->accesses[again ? sm->access_free : sm->access_fresh];
    __builtin_prefetch(next, 1);
    __builtin_prefetch(next->addr, 1);
    __builtin_prefetch(next->addr + 16, 1);
}

#endif
