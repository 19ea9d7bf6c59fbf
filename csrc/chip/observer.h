/* Races in global memory. The observer follows what the SMs have noted, window by window and in one
 * order (cycle, SM), so that it finds the same whatever the windows and host threads; it runs
 * beside the SMs, a window behind them. */
#ifndef SMMUX_OBSERVER_H
#define SMMUX_OBSERVER_H

#include "sm/sm.h"

struct observer;
struct findings;

/* The observer of a launch; the machine gets to know which instructions it watches. NULL in *out if
 * no array can race. `fault` says what is too large. */
enum error observer_create(struct observer **out, struct machine *m, struct fault *fault);
void observer_free(struct observer *o);

/* Between windows: let the SMs write other halves of their notes. */
void observer_turn(struct observer *o, struct sm *sms);
/* Follow what was noted in the window before, at any time of the next one. */
void observer_follow(struct observer *o);
/* What it has found so far. */
const struct findings *observer_findings(const struct observer *o);

#endif
