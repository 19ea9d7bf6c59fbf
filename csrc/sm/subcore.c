#include "sm/subcore.h"

#include "base/bits.h"
#include "sm/occupancy.h"
#include "sm/scheduler.h"
#include "sm/sm.h"

#define UNIT(id, name, least, most, doc)                                                           \
    _Static_assert((most) <= MAX_UNITS, "the units of a kind have a place each");
#include "tables/units.def"
#define MOST_SHARED (MAX_SUBCORES - 1) /* shared units of a kind; with more, none is shared */
_Static_assert(UNIT_KINDS <= 32 / MOST_SHARED, "a bit per unit that may be shared");

/* How many units there are of a kind that the program numbers. */
static uint32_t count_of(const struct sm *sm, uint32_t unit) {
    return config_units(sm->m->cfg, (enum unit)sm->m->program->kind[unit]);
}

/* Give a sub-core its units of a kind. With S sub-cores and S units or more, sub-core s has the
 * units s, s + S and so on. Of fewer units it shares unit s modulo their number. */
static void deal(struct sm *sm, uint32_t number, uint32_t unit) {
    const uint32_t count = count_of(sm, unit), subcores = sm->m->cfg->schedulers;
    const uint32_t sets = count < subcores ? count : subcores;
    const uint32_t place = unit * MAX_SUBCORES + number % sets;
    sm->subcores[number].unit[unit] = (uint8_t)place;
    if (number % sets + sets < subcores || number >= sets)
        sm->subcores[number].shared[unit] = 1u << (unit * MOST_SHARED + number % sets);
    if (count > subcores) sm->units.several |= 1u << unit;
}

void subcores_start(struct sm *sm) {
    const struct config *cfg = sm->m->cfg;
    const struct program *p = sm->m->program;
    sm->policy = scheduler_policy(cfg->sched_policy);
    sm->units.kinds = p->kind_count;
    while (sm->units.sfu < p->kind_count && p->kind[sm->units.sfu] != UNIT_SFU) sm->units.sfu++;
    for (uint32_t w = 0; w < MAX_WARPS; w++) {
        sm->place[w] = (uint8_t)w;
        sm->subcore_of[w] = (uint8_t)(w % cfg->schedulers);
    }
    for (uint32_t number = 0; number < cfg->schedulers; number++) {
        struct subcore *s = &sm->subcores[number];
        for (uint32_t unit = 0; unit < p->kind_count; unit++) deal(sm, number, unit);
        s->shared[UNIT_EITHER] = s->shared[p->either[0]] | s->shared[p->either[1]];
        s->last = NO_WARP;
    }
}

void subcores_deal_warps(struct sm *sm, uint64_t slots) {
    const uint32_t subcores = sm->m->cfg->schedulers;
    const bool whole = bits_count64(slots) % subcores == 0;
    for (uint32_t s = 0; s < subcores; s++) sm->subcores[s].jumped &= ~slots;
    if (!sm->m->cfg->warp_turns) return;
    for (uint32_t s = 0; s < subcores; s++)
        if (sm->subcores[s].last < MAX_WARPS && slots >> sm->subcores[s].last & 1)
            sm->subcores[s].last = NO_WARP; /* its last issue was of an earlier warp in that slot */
    for (; slots; slots &= slots - 1) {
        sm->subcore_of[bits_lowest64(slots)] = (uint8_t)sm->turn_of_warps;
        sm->turn_of_warps = (sm->turn_of_warps + 1) % subcores;
    }
    if (whole) sm->turn_of_warps = (sm->turn_of_warps + 1) % subcores;
}

void subcores_place_warps(struct sm *sm, uint64_t slots) {
    uint64_t taken = 0;
    if (!sm->m->cfg->warp_turns) return;
    for (uint32_t i = 0; i < sm->order_count; i++)
        for (uint64_t left = sm->order[i] & ~slots; left; left &= left - 1)
            taken |= 1ull << sm->place[bits_lowest64(left)];
    for (; slots; slots &= slots - 1) {
        const uint32_t w = bits_lowest64(slots);
        uint32_t place = sm->subcore_of[w];
        while (taken >> place & 1) place += sm->m->cfg->schedulers;
        taken |= 1ull << place;
        sm->place[w] = (uint8_t)place;
    }
}

bool subcores_have_room(const struct sm *sm, uint64_t slots) {
    const struct machine *m = sm->m;
    if (!m->cfg->warp_turns) return true;
    const uint32_t subcores = m->cfg->schedulers,
                   room = occupancy_warps(m->cfg, m->program->meta.nregs) / subcores;
    uint32_t warps[MAX_SUBCORES] = {0};
    for (uint32_t i = 0; i < sm->order_count; i++) slots |= sm->order[i];
    for (; slots; slots &= slots - 1) warps[sm->subcore_of[bits_lowest64(slots)]]++;
    for (uint32_t s = 0; s < subcores; s++)
        if (warps[s] > room) return false;
    return true;
}

/* Where it is noted when the unit is free which is the first to be so of a sub-core's several units
 * of a kind. */
static uint64_t *first_free(struct sm *sm, const struct subcore *s, uint32_t unit) {
    const uint32_t count = count_of(sm, unit), number = (uint32_t)(s - sm->subcores);
    uint64_t *each = sm->units.each[unit], *first = &each[number];
    for (uint32_t i = number; i < count; i += sm->m->cfg->schedulers)
        if (each[i] < *first) first = &each[i];
    return first;
}

void subcore_take_one(struct sm *sm, const struct subcore *s, uint32_t unit, uint64_t until) {
    *first_free(sm, s, unit) = until;
    sm->units.free[s->unit[unit]] = *first_free(sm, s, unit);
}

void subcore_hold(struct sm *sm, const struct subcore *s, uint32_t unit, uint64_t until) {
    while (sm->units.free[s->unit[unit]] < until) subcore_take(sm, s, unit, until);
}
