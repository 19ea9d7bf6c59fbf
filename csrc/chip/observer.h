/* Races in global memory. SMs note their accesses and what orders them (sm/events.h). The observer
 * reads these notes, window by window, in one order (cycle, SM), so that its findings do not depend
 * on windows and host threads. It runs beside the SMs, a window behind them. */
#ifndef SMMUX_OBSERVER_H
#define SMMUX_OBSERVER_H

#include "sm/sm.h"

struct observer;
struct findings;

/* Create the observer of a launch, and set m->watched, the instructions that it watches. *out is
 * NULL if no array can have races. If the launch is too large to be observed, `fault` says why. */
enum error observer_create(struct observer **out, struct machine *m, struct fault *fault);
void observer_free(struct observer *o);

/* Between windows: swap the two halves of the SMs' notes, one to be written and one to be read. */
void observer_turn(struct observer *o, struct sm *sms);
/* Read the notes of the window before; may run at the same time as the SMs. */
void observer_follow(struct observer *o);
/* The findings so far. */
const struct findings *observer_findings(const struct observer *o);

#endif
