/* The clockwork. SMs advance alone through windows of W cycles: exact, because memory answers
 * nothing that leaves an SM within W. The dispatcher does answer a block's end within W. An SM
 * therefore stops where its next block may start; after each pass over the SMs the dispatcher hands
 * out blocks as far as all have run, and those that stopped go on in a further one. Memory follows
 * in a pass of its own. Where one partition alone has more than a host thread's share of that, the
 * threads would wait for it: then it lags behind by a window and follows in the first pass of the
 * SMs' next one. That too is exact as long as two windows are no longer than the fastest reply
 * takes. */
#include "chip/gpu.h"

#include <assert.h>
#include <stdlib.h>

#include "base/lines.h"
#include "chip/collect.h"
#include "chip/diagnose.h"
#include "chip/whole.h"
#include "sm/operands.h"

/* More clocks than the fastest reply takes on any shipped machine with detailed memory (185 to
 * 319), so that none of their windows is cut short. Flat memory may take 100,000 clocks to reply:
 * without a limit other SMs would run on for as long after a fault, and nobody would ask for 16
 * times as long whether the user wants to stop. */
#define MAX_WINDOW   512u
#define POLL_WINDOWS 16u /* between two questions whether the user wants to stop */

/* ---- construction ------------------------------------------------------------------------ */

/* The levels behind the SMs' caches of instructions and constants. */
static enum error create_supply(struct gpu *g) {
    const struct config *cfg = g->l->cfg;
    enum error e = third_create(&g->third, cfg);
    const uint32_t count = (cfg->sm_count + cfg->icache2_sms - 1) / cfg->icache2_sms;
    g->seconds = calloc(count, sizeof(void *));
    const size_t bytes = second_bytes(cfg);
    g->second_lines = lines_alloc_whole(count * bytes);
    if (!g->seconds || !g->second_lines) return ERROR_NO_MEMORY;
    for (; !e && g->second_count < count; g->second_count++) {
        const uint32_t first = g->second_count * cfg->icache2_sms, left = cfg->sm_count - first;
        e = second_create(&g->seconds[g->second_count], cfg, &g->sms[first], &g->ports[first],
                          left < cfg->icache2_sms ? left : cfg->icache2_sms,
                          g->second_lines + g->second_count * bytes);
    }
    return e;
}

static enum error create(struct gpu *g, struct outcome *out) {
    const struct launch *l = g->l;
    const struct config *cfg = l->cfg;
    enum error e = launch_prepare(l, &g->machine, &g->program, out);
    if (e) return e;
    if (l->check && (e = observer_create(&g->observer, &g->machine, &out->fault))) return e;
    const uint32_t preloads = g->machine.preload ? preload_tags(cfg) : 0;
    g->sms = lines_alloc_whole(cfg->sm_count * sizeof *g->sms);
    g->ports = lines_alloc(cfg->sm_count * sizeof *g->ports);
    const uint32_t shared = cfg->icache2_bytes ? cfg->icache2_sms : 1;
    g->group_sms = cfg->sms_per_tpc; /* or as many TPCs as end where a second level does */
    while (g->group_sms % shared) g->group_sms += cfg->sms_per_tpc;
    g->group_tpcs = g->group_sms / cfg->sms_per_tpc;
    g->groups = (cfg->sm_count + g->group_sms - 1) / g->group_sms;
    g->reports = lines_alloc(g->groups * sizeof *g->reports);
    const struct sm_bytes each = sm_bytes(&g->machine);
    g->used = lines_alloc_whole(cfg->sm_count * each.used);
    g->sparse = lines_alloc(cfg->sm_count * each.sparse);
    if (!g->sms || !g->ports || !g->reports || !g->used || !g->sparse) return ERROR_NO_MEMORY;
    for (uint32_t i = 0; i < cfg->sm_count; i++) {
        uint8_t *used = g->used + i * each.used, *sparse = g->sparse + i * each.sparse;
        if ((e = sm_init(&g->sms[i], i, &g->machine, &g->ports[i], used, sparse))) return e;
    }
    if (cfg->icache2_bytes && (e = create_supply(g))) return e;
    if (g->program.control && (e = constants_create(&g->constants, cfg))) return e;
    if ((e = memsys_create(&g->mem, cfg, cfg->sm_count, preloads))) return e;
    if (l->trace && (e = g->mem->model->trace(g->mem))) return e;
    g->dispatch = (struct dispatch){
        .cfg = cfg,
        .residency = out->residency,
        .warps = (l->dims.block[0] * l->dims.block[1] * l->dims.block[2] + 31) / 32,
        .blocks = l->blocks,
        .starts = l->starts,
        .again = l->again,
        .total = l->blocks ? l->block_count : l->dims.grid[0] * l->dims.grid[1] * l->dims.grid[2]};
    return pool_create(&g->pool, l->threads ? l->threads : 1);
}

static void destroy(struct gpu *g) {
    watch_free(&g->watch);
    pool_destroy(g->pool);
    observer_free(g->observer);
    if (g->mem) g->mem->model->destroy(g->mem);
    for (uint32_t i = 0; i < g->second_count; i++) second_destroy(g->seconds[i]);
    third_destroy(g->third);
    free(g->constants);
    free(g->seconds);
    lines_free(g->second_lines);
    if (g->sms)
        for (uint32_t i = 0; i < g->l->cfg->sm_count; i++) sm_free(&g->sms[i]);
    lines_free(g->sms);
    lines_free(g->used);
    lines_free(g->sparse);
    lines_free(g->ports);
    lines_free(g->reports);
    launch_release(&g->machine, &g->program);
}

/* ---- the clock --------------------------------------------------------------------------- */

/* Behind the last SM of a group: the last group may have fewer. */
static struct sm *end_of(const struct gpu *g, uint32_t group) {
    const uint32_t end = (group + 1) * g->group_sms, all = g->l->cfg->sm_count;
    return g->sms + (end < all ? end : all);
}

/* How many SMs a group has. */
static uint32_t sms_of(const struct gpu *g, uint32_t group) {
    return (uint32_t)(end_of(g, group) - &g->sms[group * g->group_sms]);
}

/* The second levels of a group: how many, and the first one. */
static uint32_t seconds_of(const struct gpu *g, uint32_t group, struct second ***first) {
    if (!g->seconds) return 0;
    const uint32_t each = g->l->cfg->icache2_sms;
    *first = &g->seconds[group * g->group_sms / each];
    return (sms_of(g, group) + each - 1) / each;
}

/* How many TPCs a group has. */
static uint32_t tpcs_of(const struct gpu *g, uint32_t group) {
    const uint32_t each = g->l->cfg->sms_per_tpc;
    return (sms_of(g, group) + each - 1) / each;
}

/* Are there blocks that have no SM yet? */
static bool blocks_left(const struct gpu *g) { return g->dispatch.next < g->dispatch.total; }

/* Write down what the clock wants to know of a group. */
static void report(struct gpu *g, uint32_t group) {
    const struct sm *first = &g->sms[group * g->group_sms], *end = end_of(g, group);
    struct report r = {.next = NEVER, .reach = NEVER};
    struct second **second = NULL;
    const uint32_t seconds = seconds_of(g, group, &second);
    for (const struct sm *sm = first; sm < end; sm++) {
        const uint64_t next = sm_next(sm);
        if (next < r.next) r.next = next;
        if (sm->reach < r.reach) r.reach = sm->reach;
        r.finished |= sm->finished_count != 0;
        r.faulty |= sm->fault.code != OK;
        r.late |= sm->late != 0;
        r.asked |= sm->operands && sm->operands->ask_count;
    }
    r.supplied = r.asked;
    for (uint32_t i = 0; i < seconds; i++) r.supplied |= second_is_busy(second[i]);
    if (r.supplied && r.reach < r.next) r.next = r.reach;
    g->reports[group] = r;
}

/* Let the SMs of a group go on to the end of the window, or until they need to know the next block.
 */
static void run_group(void *context, uint32_t group) {
    struct gpu *g = context;
    struct sm *first = &g->sms[group * g->group_sms], *end = end_of(g, group);
    struct second **second;
    if (g->reports[group].reach >= g->window_end) return;
    const uint32_t seconds = seconds_of(g, group, &second);
    const bool replaced = blocks_left(g);
    for (uint32_t i = 0; i < seconds; i++) second_run(second[i], g->window_end, replaced);
    for (struct sm *sm = seconds ? end : first; sm < end; sm++)
        if (sm->reach < g->window_end) sm_run(sm, g->window_end, replaced);
    report(g, group);
    if (g->reports[group].reach < g->window_end) return;
    for (uint32_t i = 0; i < tpcs_of(g, group); i++)
        g->mem->model->send(g->mem, group * g->group_tpcs + i, g->ports, g->window_end);
}

/* One item of a pass. Partitions come first: where all transactions go to one of them, it is the
 * longest item. The observer is as long, and goes before them. */
static void run_item(void *context, uint32_t item) {
    struct gpu *g = context;
    if (g->observer && item-- == 0) {
        observer_follow(g->observer);
        return;
    }
    if (item < g->partitions) {
        g->mem->model->partition(g->mem, item);
        return;
    }
    const uint32_t group = item - g->partitions;
    for (uint32_t i = 0; i < tpcs_of(g, group); i++)
        g->mem->model->receive(g->mem, group * g->group_tpcs + i, g->ports);
    run_group(g, group);
}

/* How long a window may be: half as long if memory is to lag. Longer ones are cheaper, since each
 * touches all SMs. */
static uint32_t window_of(const struct gpu *g, bool lag) {
    const struct launch *l = g->l;
    uint32_t w = g->mem->model->min_reply(g->mem);
    if (lag && w > 1) w /= 2;
    if (w > MAX_WINDOW) w = MAX_WINDOW;
    return l->window && l->window < w ? l->window : w;
}

bool gpu_first_fault(const struct gpu *g, struct fault *out) {
    const struct fault *first = NULL;
    bool faulty = false;
    for (uint32_t group = 0; group < g->groups; group++) faulty |= g->reports[group].faulty;
    for (uint32_t i = 0; faulty && i < g->l->cfg->sm_count; i++) {
        const struct fault *f = &g->sms[i].fault;
        if (f->code != OK && (!first || f->cycle < first->cycle)) first = f;
    }
    if (first) *out = *first;
    return first != NULL;
}

/* A cycle before which nothing happens, as far as SMs and memory know. */
static uint64_t next_cycle(const struct gpu *g) {
    uint64_t at = g->mem->model->next_reply(g->mem);
    for (uint32_t group = 0; group < g->groups; group++)
        if (g->reports[group].next < at) at = g->reports[group].next;
    return at;
}

/* The end of the window that begins at t: W cycles after the first event, as far as replies are
 * known. NEVER: nothing will happen any more. */
static uint64_t window_end(const struct gpu *g, uint64_t t, uint32_t window) {
    const uint64_t next = next_cycle(g), known = g->mem->model->known(g->mem, t);
    if (next == NEVER) return known;
    const uint64_t end = (next > t ? next : t) + window;
    return end < known ? end : known;
}

/* Answer what is known as far as all SMs have run: which blocks replace those that have ended, and
 * what the third level has. Returns whether that is to the end of the window. */
static bool answer(struct gpu *g) {
    uint64_t reach = NEVER;
    bool finished = false, asked = false;
    for (uint32_t group = 0; group < g->groups; group++) {
        if (g->reports[group].reach < reach) reach = g->reports[group].reach;
        finished |= g->reports[group].finished;
        asked |= g->reports[group].asked;
    }
    assert(reach <= g->window_end || reach == NEVER);
    if (asked) constants_run(g->constants, g->sms, reach);
    if (g->third) third_run(g->third, g->seconds, g->second_count, reach);
    if (finished) dispatch_replace(&g->dispatch, g->sms, reach);
    if (dispatch_again(&g->dispatch, g->sms)) finished = true;
    for (uint32_t group = 0; finished && group < g->groups; group++) report(g, group);
    return reach >= g->window_end;
}

/* The least time between the arrival of the last block at a barrier of the grid and its end, which
 * other SMs must not have passed when they hear of it. */
enum {
#define PARAM(name, unit, min, max, doc) LEAST_##name = (int)(min),
#include "tables/config.def"
};

_Static_assert(LEAST_grid_sync >= MAX_WINDOW,
               "a window ends before what happens in it is answered");
_Static_assert(EVENTS_CLOCKS >= MAX_WINDOW, "SMs have room for what they note in a window");

/* Let the blocks go on that wait for each other, if all of the grid do. */
static void sync_grid(struct gpu *g) {
    const struct config *cfg = g->l->cfg;
    uint32_t arrived = 0;
    uint64_t last = 0;
    for (uint32_t i = 0; i < cfg->sm_count; i++) {
        arrived += g->sms[i].grid_arrived;
        if (g->sms[i].grid_arrival > last) last = g->sms[i].grid_arrival;
    }
    if (arrived < g->dispatch.total) return;
    for (uint32_t i = 0; i < cfg->sm_count; i++) {
        if (!g->sms[i].grid_arrived) continue;
        g->sms[i].grid_arrived = 0;
        block_add(&g->sms[i], GRID_RELEASE, last + cfg->grid_sync);
    }
    for (uint32_t group = 0; group < g->groups; group++) report(g, group);
}

/* Let all SMs run to the end of the window, and memory from where it is to the window's begin, t.
 * An SM that waits for the next block goes on when those behind it have caught up. */
static void run_window(struct gpu *g, uint64_t t) {
    g->partitions = g->mem->model->begin(g->mem, t, true);
    if (g->observer) observer_turn(g->observer, g->sms);
    pool_run(g->pool, run_item, g, g->partitions + g->groups + (g->observer ? 1 : 0));
    g->host.passes++;
    for (; !answer(g); g->host.passes++) pool_run(g->pool, run_group, g, g->groups);
    if (g->machine.preload) g->mem->model->preload(g->mem, g->ports);
    g->host.windows++;
    if (g->program.syncs_grid) sync_grid(g);
}

static bool ended(const struct gpu *g) { return g->dispatch.finished == g->dispatch.total; }

/* Has nothing more to happen? What was asked for ahead comes in after the grid's end, too, so that
 * it does not depend on the windows how much of that was counted. */
static bool over(const struct gpu *g) {
    bool supplied = false;
    for (uint32_t group = 0; group < g->groups; group++)
        supplied |= g->reports[group].supplied || g->reports[group].late;
    return ended(g) && !supplied;
}

/* Does the user want to stop? */
static bool interrupted(struct gpu *g, uint64_t t) {
    const struct launch *l = g->l;
    g->watch.sms = g->sms;
    g->watch.sm_count = l->cfg->sm_count;
    g->watch.cycle = t;
    g->watch.finished = g->dispatch.finished;
    g->watch.total = g->dispatch.total;
    return l->interrupted(l->context, &g->watch);
}

/* Run window after window until the grid has ended. */
static enum error clock_run(struct gpu *g, struct fault *fault) {
    const struct launch *l = g->l;
    uint64_t t = 0;
    dispatch_fill(&g->dispatch, g->sms);
    for (uint32_t group = 0; group < g->groups; group++) report(g, group);
    for (uint32_t windows = 1; !over(g); windows++) {
        const bool lag = l->threads > 1 && g->mem->model->is_camped(g->mem, l->threads);
        const uint32_t window = window_of(g, lag);
        uint64_t end = window_end(g, t, window);
        const bool limited = l->max_cycles && !ended(g), last = limited && t >= l->max_cycles;
        /* Memory does not lag where that would cut this window short, either. */
        if (g->mem->model->lags(g->mem, t) && (!lag || last || end < t + window)) {
            g->mem->model->catch_up(g->mem, g->ports, t, g->pool);
            g->host.passes++;
            end = window_end(g, t, window);
        }
        if (end == NEVER) return diagnose_deadlock(g->sms, l->cfg->sm_count, fault);
        if (last) return diagnose_limit(g->sms, l->cfg->sm_count, l->max_cycles, fault);
        if (limited && end > l->max_cycles) end = l->max_cycles;
        assert(end > t);
        g->window_end = end;
        run_window(g, t);
        t = end;
        if (gpu_first_fault(g, fault)) return fault->code;
        if (!ended(g) && l->interrupted && windows % POLL_WINDOWS == 0 && interrupted(g, t))
            return fault->code = ERROR_INTERRUPTED;
    }
    return OK;
}

enum error gpu_run(const struct launch *l, struct outcome *out) {
    struct gpu g = {.l = l};
    enum error e = config_check(l->cfg, &out->fault);
    if (!e) e = launch_check(l, &out->fault);
    if (!e) e = create(&g, out);
    const bool complete = !e;
    if (complete) e = clock_run(&g, &out->fault);
    if (!e) collect_counters(&g, out);
    if (!e) e = collect_accesses(&g, out);
    if (!e) e = collect_timeline(&g, &out->timeline);
    if (complete && collect_findings(&g, out) && !e) e = ERROR_NO_MEMORY;
    if (complete && collect_printed(&g, out) && !e) e = ERROR_NO_MEMORY;
    destroy(&g);
    return out->fault.code = e;
}
