/* The main loop of a launch, window by window.
 *
 * Each SM advances alone through a window of W cycles. That is exact, since memory takes longer
 * than W to answer anything that an SM sends. The dispatcher is faster: it may start a block within
 * W cycles of another one's end. So an SM stops where its next block may start. After each pass
 * over the SMs the dispatcher hands out blocks for the time to which all SMs have run, and the SMs
 * that have stopped go on in a further pass.
 *
 * Memory follows in a pass of its own. Where one partition alone is more work than a host thread's
 * share, the other threads would wait for it. Then memory lags behind by a window: it follows in
 * the first pass over the SMs in their next window. That is exact, too, as long as two windows
 * together are no longer than the fastest reply takes. */
#include "chip/gpu.h"

#include <assert.h>
#include <stdlib.h>

#include "base/lines.h"
#include "chip/collect.h"
#include "chip/diagnose.h"
#include "chip/whole.h"

/* The longest window, in clocks. It is longer than the fastest reply of any shipped machine with
 * detailed memory takes (185 to 319), so that it cuts none of their windows short. Flat memory may
 * take 100,000 clocks to reply: without a limit the other SMs would run on for as long after a
 * fault, and the user could not interrupt the run for 16 times as long (POLL_WINDOWS). */
#define MAX_WINDOW   512u
#define POLL_WINDOWS 16u /* windows between two looks whether the user wants to stop */

/* ---- construction ------------------------------------------------------------------------ */

/* Create the second and third level of instructions and constants. */
static enum error create_supply(struct gpu *g) {
    const struct config *cfg = g->l->cfg;
    const uint32_t most = cfg->icache2_sms;
    enum error e = third_create(&g->third, cfg);
    const size_t bytes = second_bytes(cfg);
    g->seconds = calloc(cfg->sm_count, sizeof(void *));
    g->second_lines = lines_alloc_whole(cfg->sm_count * bytes);
    if (!g->seconds || !g->second_lines) return ERROR_NO_MEMORY;
    for (uint32_t i = 0; i < g->groups; i++) {
        struct group *group = &g->group[i];
        group->second = (uint16_t)g->second_count;
        for (uint32_t at = 0; !e && at < group->count;
             at += most, g->second_count++, group->seconds++) {
            const struct served sms = {.sms = g->sms,
                                       .ports = g->ports,
                                       .member = &g->member[group->first + at],
                                       .count =
                                           group->count - at < most ? group->count - at : most};
            e = second_create(&g->seconds[g->second_count], cfg, &sms,
                              g->second_lines + g->second_count * bytes);
        }
    }
    return e;
}

/* The GPC whose second level TPCs use that are left over: the smallest. */
static uint32_t smallest_gpc(const struct gpcs *gpcs, const struct config *cfg) {
    uint32_t tpcs[GPC_DIGITS + 1] = {0}, least = 0;
    for (uint32_t i = 0; i < cfg->sm_count; i += cfg->sms_per_tpc)
        tpcs[gpcs->of[i / cfg->sms_per_tpc]]++;
    for (uint32_t gpc = 1; gpc < GPC_DIGITS; gpc++)
        if (tpcs[gpc] < tpcs[least]) least = gpc;
    return least;
}

/* Divide the SMs into groups: TPCs, or as many TPCs of a GPC as contain whole second levels. */
static void divide(struct gpu *g) {
    const struct config *cfg = g->l->cfg;
    const uint32_t each = cfg->sms_per_tpc, shared = cfg->icache2_bytes ? cfg->icache2_sms : 1;
    uint32_t most = each, members = 0;
    struct gpcs gpcs;
    gpcs_init(&gpcs, cfg);
    const uint32_t least = smallest_gpc(&gpcs, cfg);
    while (most % shared) most += each;
    for (uint32_t gpc = 0; gpc < GPC_DIGITS; gpc++) {
        struct group *group = NULL;
        for (uint32_t sm = 0; sm < cfg->sm_count; sm++) {
            const uint32_t of = gpcs.of[sm / each];
            if ((of < GPC_DIGITS ? of : least) != gpc) continue;
            if (!group || (group->count >= most && sm % each == 0)) {
                group = &g->group[g->groups++];
                group->first = (uint16_t)members;
            }
            g->member[members++] = (uint16_t)sm;
            group->count++;
        }
    }
}

/* Create the SMs with their ports, and the reports of their groups. */
static enum error create_sms(struct gpu *g) {
    const uint32_t count = g->l->cfg->sm_count;
    const struct sm_bytes each = sm_bytes(&g->machine);
    divide(g);
    g->sms = lines_alloc_whole(count * sizeof *g->sms);
    g->ports = lines_alloc(count * sizeof *g->ports);
    g->reports = lines_alloc(g->groups * sizeof *g->reports);
    g->used = lines_alloc_whole(count * each.used);
    g->sparse = lines_alloc(count * each.sparse);
    if (!g->sms || !g->ports || !g->reports || !g->used || !g->sparse) return ERROR_NO_MEMORY;
    enum error e = OK;
    for (uint32_t i = 0; !e && i < count; i++)
        e = sm_init(&g->sms[i], i, &g->machine, &g->ports[i], g->used + i * each.used,
                    g->sparse + i * each.sparse);
    return e;
}

static enum error create(struct gpu *g, struct outcome *out) {
    const struct launch *l = g->l;
    const struct config *cfg = l->cfg;
    enum error e = launch_prepare(l, &g->machine, &g->program, out);
    if (e) return e;
    if (l->check && (e = observer_create(&g->observer, &g->machine, &out->fault))) return e;
    const uint32_t preloads = g->machine.preload ? preload_tags(cfg) : 0;
    if ((e = create_sms(g))) return e;
    if (cfg->icache2_bytes && (e = create_supply(g))) return e;
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

/* An SM of a group. */
static struct sm *member_of(const struct gpu *g, uint32_t group, uint32_t i) {
    return &g->sms[g->member[g->group[group].first + i]];
}

/* Are there blocks that have no SM yet? */
static bool blocks_left(const struct gpu *g) { return g->dispatch.next < g->dispatch.total; }

/* Update the report of a group from the state of its SMs. */
static void report(struct gpu *g, uint32_t index) {
    const struct group *group = &g->group[index];
    struct report r = {.next = NEVER, .reach = NEVER};
    for (uint32_t i = 0; i < group->count; i++) {
        const struct sm *sm = member_of(g, index, i);
        const uint64_t next = sm_next(sm);
        if (next < r.next) r.next = next;
        if (sm->reach < r.reach) r.reach = sm->reach;
        r.finished |= sm->finished_count != 0;
        r.faulty |= sm->fault.code != OK;
        r.late |= sm->late != 0;
    }
    for (uint32_t i = 0; i < group->seconds; i++)
        r.supplied |= second_is_busy(g->seconds[group->second + i]);
    if (r.supplied && r.reach < r.next) r.next = r.reach;
    g->reports[index] = r;
}

/* Let the TPCs of a group send what they have for memory, or receive its replies. */
static void exchange(struct gpu *g, uint32_t group, bool sends) {
    const uint32_t each = g->l->cfg->sms_per_tpc;
    for (uint32_t i = 0; i < g->group[group].count; i += each) {
        const uint32_t tpc = g->member[g->group[group].first + i] / each;
        if (sends) g->mem->model->send(g->mem, tpc, g->ports, g->window_end);
        else g->mem->model->receive(g->mem, tpc, g->ports);
    }
}

/* Let the SMs of a group run to the end of the window, or to where they need to know the next
 * block; then let their TPCs send what they have for memory. */
static void run_group(void *context, uint32_t index) {
    struct gpu *g = context;
    const struct group *group = &g->group[index];
    if (g->reports[index].reach >= g->window_end) return;
    const bool replaced = blocks_left(g);
    for (uint32_t i = 0; i < group->seconds; i++)
        second_run(g->seconds[group->second + i], g->window_end, replaced);
    for (uint32_t i = 0; !group->seconds && i < group->count; i++) {
        struct sm *sm = member_of(g, index, i);
        if (sm->reach < g->window_end) sm_run(sm, g->window_end, replaced);
    }
    report(g, index);
    if (g->reports[index].reach >= g->window_end) exchange(g, index, true);
}

/* Do one item of a pass, in which host threads take items in order. The longest come first: the
 * observer, then the partitions (one may have all transactions), then the groups of SMs. */
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
    exchange(g, item - g->partitions, false);
    run_group(g, item - g->partitions);
}

/* The length of a window in cycles, half of it if memory lags. The longer it is the better, since
 * each window touches the state of all SMs. */
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

/* The cycle of the next event that SMs and memory know of; NEVER: they know of none. */
static uint64_t next_cycle(const struct gpu *g) {
    uint64_t at = g->mem->model->next_reply(g->mem);
    for (uint32_t group = 0; group < g->groups; group++)
        if (g->reports[group].next < at) at = g->reports[group].next;
    return at;
}

/* The end of the window that begins at t: `window` cycles after the first event, but no later than
 * replies are known. NEVER: nothing will happen any more. */
static uint64_t window_end(const struct gpu *g, uint64_t t, uint32_t window) {
    const uint64_t next = next_cycle(g), known = g->mem->model->known(g->mem, t);
    if (next == NEVER) return known;
    const uint64_t end = (next > t ? next : t) + window;
    return end < known ? end : known;
}

/* Answer the SMs for the time to which all have run: start blocks in place of those that have
 * ended, and answer for the third level. True if all SMs have run to the end of the window. */
static bool answer(struct gpu *g) {
    uint64_t reach = NEVER;
    bool finished = false;
    for (uint32_t group = 0; group < g->groups; group++) {
        if (g->reports[group].reach < reach) reach = g->reports[group].reach;
        finished |= g->reports[group].finished;
    }
    assert(reach <= g->window_end || reach == NEVER);
    if (g->third) third_run(g->third, g->seconds, g->second_count, reach);
    if (finished) dispatch_replace(&g->dispatch, g->sms, reach);
    if (dispatch_again(&g->dispatch, g->sms)) finished = true;
    for (uint32_t group = 0; finished && group < g->groups; group++) report(g, group);
    return reach >= g->window_end;
}

/* The smallest value of the parameter grid_sync: the clocks from the last block's arrival at a
 * barrier of the grid to the barrier's end. No SM may have run beyond that end when it is told of
 * it. */
enum {
#define PARAM(name, unit, min, max, doc) LEAST_##name = (int)(min),
#include "tables/config.def"
};

_Static_assert(LEAST_grid_sync >= MAX_WINDOW,
               "a window ends before what happens in it is answered");
_Static_assert(EVENTS_CLOCKS >= MAX_WINDOW, "SMs have room for what they note in a window");

/* If all blocks of the grid wait at a barrier of the grid, let them go on. */
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

/* Let all SMs run from t to the end of the window, and memory to t, as far as it lags behind. An SM
 * that waits for its next block goes on when all others have run as far. */
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

/* Have all blocks of the grid ended? */
static bool ended(const struct gpu *g) { return g->dispatch.finished == g->dispatch.total; }

/* Is the launch over? Lines of instructions that were prefetched, and answers to stores, still come
 * in after the last block's end: otherwise what is counted of them would depend on the windows. */
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
        /* Let memory catch up also where its lag would make this window shorter. */
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
