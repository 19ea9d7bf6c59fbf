#include "chip/supply.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/lines.h"
#include "chip/second.h"
#include "sm/ask.h"
#include "sm/global.h"
#include "sm/operands.h"
#include "sm/trace.h"

/* ---- construction ------------------------------------------------------------------------ */

/* Put what a launch fetches ahead of its blocks into the cache, and the constants that it brings.
 */
static void fill_at_launch(struct second *s) {
    const uint32_t shift = s->cache.line_shift, first = CODE_BASE >> shift,
                   count = s->cfg->icache2_launch >> shift, constants = CONST_BASE >> shift,
                   bytes = sm_of(s, 0)->m->program->meta.launched_bytes;
    for (uint32_t line = first; line - first < count && line <= s->last_line; line++)
        cache_put(&s->cache, cache_victim(&s->cache, line), line);
    for (uint32_t i = 0; ask_constants(s->cfg) && i << shift < bytes; i++)
        cache_put(&s->cache, cache_victim(&s->cache, constants + i), constants + i);
}

size_t second_bytes(const struct config *cfg) {
    const struct cache_shape shape = config_shape(cfg, SHAPE_icache2);
    return cache_bytes(&shape);
}

enum error second_create(struct second **out, const struct config *cfg, const struct served *served,
                         void *place) {
    const struct cache_shape shape = config_shape(cfg, SHAPE_icache2);
    struct second *s = *out = calloc(1, sizeof *s);
    if (!s) return ERROR_NO_MEMORY;
    s->cfg = cfg;
    s->served = *served;
    s->answer = NEVER;
    for (uint32_t i = 1; i < s->served.count; i++) {
        const uint32_t each = cfg->sms_per_tpc;
        s->tpc_of[i] = (uint8_t)(s->tpc_of[i - 1] +
                                 (served->member[i] / each != served->member[i - 1] / each));
    }
    s->packets_free = ~0ull;
    s->per_line = cfg->icache2_line > PACKET_BYTES ? cfg->icache2_line / PACKET_BYTES : 1;
    const uint32_t requests = s->served.count * (MAX_ASKS + sm_of(s, 0)->m->flights);
    s->fill = malloc((requests + MAX_FILLS + 1) * sizeof *s->fill);
    s->pool = malloc(requests * sizeof *s->pool);
    s->packet = lines_take(SUPPLY_PACKETS * sizeof *s->packet);
    if (!s->fill || !s->pool || !s->packet) return ERROR_NO_MEMORY;
    s->free = NOBODY;
    const enum error e = cache_init(&s->cache, &shape, place, NULL);
    s->last_line =
        (CODE_BASE + sm_of(s, 0)->last_piece * sm_of(s, 0)->piece_bytes) >> s->cache.line_shift;
    s->twins = cfg->icache_twins && s->last_line - (CODE_BASE >> s->cache.line_shift) >=
                                        cfg->icache_bytes >> s->cache.line_shift;
    if (!e) fill_at_launch(s);
    return e;
}

void second_destroy(struct second *s) {
    if (!s) return;
    cache_free(&s->cache);
    free(s->fill);
    free(s->pool);
    lines_free(s->packet);
    free(s);
}

/* ---- answers ----------------------------------------------------------------------------- */

static void reply(struct second *s, uint32_t sm, struct access *access, uint64_t at) {
    struct port *port = port_of(s, sm);
    assert(port->in_count < port->in_capacity);
    port->in[port->in_count++] = (struct reply){at, access};
}

/* When a line of instructions comes to a TPC that is on its way there behind cycle t; 0: none is.
 */
static uint64_t on_way_to(const struct to_tpc *tpc, uint32_t addr, uint64_t t) {
    for (uint32_t i = 0; i < LATE_LINES; i++)
        if (tpc->line[i].addr == addr && tpc->line[i].at > t) return tpc->line[i].at;
    return 0;
}

/* The first clocks from `at` on in which the port of a TPC sends nothing else. */
static uint64_t slot_of(const struct to_tpc *tpc, uint64_t at, uint32_t clk) {
    for (uint32_t i = 0; i < LATE_LINES; i++) {
        if (tpc->line[i].at >= at + clk || tpc->line[i].at + clk <= at) continue;
        at = tpc->line[i].at + clk;
        i = UINT32_MAX; /* look at all of them again */
    }
    return at;
}

/* Send the line that answers an SM to the others of its TPC, too. */
static void send_twins(struct second *s, uint32_t sm, const struct access *access, uint64_t at) {
    for (uint32_t i = 0; i < s->served.count; i++) {
        if (i == sm || s->tpc_of[i] != s->tpc_of[sm]) continue;
        struct access *a = global_new_access(sm_of(s, i));
        a->addr[0] = access->addr[0];
        a->kind = ACCESS_FETCH;
        a->sink = SINK_TWIN;
        a->cache = CACHE_CODE;
        reply(s, i, a, at);
    }
}

/* Answer at a cycle, or when the port of the TPC has sent the line. */
static void answer(struct second *s, uint32_t sm, struct access *access, uint64_t at) {
    struct to_tpc *tpc = &s->tpc[s->tpc_of[sm]];
    if (s->cfg->icache2_port_clk && access->cache == CACHE_CODE) {
        const uint64_t twin = on_way_to(tpc, access->addr[0], at - s->cfg->lat_icache2);
        if (twin) {
            at = latest(at, twin);
        } else {
            at = slot_of(tpc, at, s->cfg->icache2_port_clk);
            tpc->line[tpc->next].addr = access->addr[0];
            tpc->line[tpc->next].at = at;
            tpc->next = (tpc->next + 1) % LATE_LINES;
            if (s->twins) send_twins(s, sm, access, at);
        }
    }
    reply(s, sm, access, at);
}

/* Answer those who wait for a line that is there. */
static void tell(struct second *s, struct fill *f) {
    while (f->first != NOBODY) {
        struct waiting *w = &s->pool[f->first];
        const uint32_t next = w->next;
        answer(s, w->sm, w->access, latest(w->cycle, f->done));
        s->unanswered[w->sm]--;
        w->next = s->free;
        s->free = f->first;
        f->first = next;
    }
}

static void wait_for(struct second *s, struct fill *f, uint32_t sm, struct access *access,
                     uint64_t hit) {
    uint32_t i = s->free;
    if (i != NOBODY) s->free = s->pool[i].next;
    else i = s->fresh++;
    s->pool[i] = (struct waiting){access, hit, sm, NOBODY};
    if (f->first == NOBODY) f->first = i;
    else s->pool[f->last].next = i;
    f->last = i;
    s->unanswered[sm]++;
}

/* ---- lines on their way ------------------------------------------------------------------ */

/* Put a packet in its place among those of an SM, in front of stores that wait. All that the SM
 * sends before are there: it has run beyond the cycle of the request, and its own packets take as
 * long to the port. */
static void send(struct second *s, const struct fill *f, uint32_t addr, uint32_t bytes) {
    const uint32_t record = (uint32_t)__builtin_ctzll(s->packets_free);
    const uint64_t cycle = f->start + s->cfg->lat_global;
    struct port *port = port_of(s, f->sm);
    struct sm *sm = sm_of(s, f->sm);
    uint32_t i = port->out_count++;
    const uint32_t waiting = i - sm->stores.tail;
    assert(s->packets_free && i < port->out_capacity);
    s->packets_free &= s->packets_free - 1;
    s->packet[record] = (struct access){.kind = ACCESS_FETCH, .flags = ACCESS_FILL, .width = 4};
    s->owner[record] = f->line;
    for (; i > port->out_first && (i > waiting || port->out[i - 1].cycle > cycle); i--)
        port->out[i] = port->out[i - 1];
    port->out[i] = (struct packet){.cycle = cycle,
                                   .access = &s->packet[record],
                                   .addr = addr,
                                   .lanes = 1,
                                   .bytes = (uint16_t)bytes,
                                   .sm = (uint16_t)sm->id};
    sm->count.transactions++;
    sm->count.transaction_bytes += bytes;
}

/* Ask the next level for the first line that is not on its way. A third level will see it. */
static void start_next(struct second *s, uint64_t t) {
    struct fill *f = &s->fill[s->on_way++];
    f->start = t;
    if (s->cfg->icache3_bytes) return;
    const uint32_t line = s->cfg->icache2_line, addr = f->line << s->cache.line_shift;
    for (uint32_t i = 0; i < s->per_line; i++)
        send(s, f, addr + i * PACKET_BYTES, line / s->per_line);
    f->packets = s->per_line;
    f->done = 0; /* of the packets that have been answered */
}

static struct fill *find_fill(struct second *s, uint32_t line) {
    for (uint32_t i = 0; i < s->fills; i++)
        if (s->fill[i].line == line) return &s->fill[i];
    return NULL;
}

static struct fill *add_fill(struct second *s, uint32_t line, uint32_t sm, uint64_t t) {
    const uint32_t i = s->fills++;
    s->fill[i] = (struct fill){.line = line, .sm = sm, .first = NOBODY, .done = NEVER};
    if (s->on_way < s->cfg->icache2_fills) start_next(s, t);
    return &s->fill[i];
}

/* A line is there: those who wait for it are answered, and the next one may be asked for. */
static void complete(struct second *s, uint32_t index) {
    tell(s, &s->fill[index]);
    const struct fill f = s->fill[index];
    const uint32_t way = cache_victim(&s->cache, f.line);
    assert(fill_is_known(&f) && way != CACHE_NONE);
    cache_put(&s->cache, way, f.line);
    memmove(&s->fill[index], &s->fill[index + 1], (--s->fills - index) * sizeof f);
    s->on_way--;
    if (s->on_way < s->fills) start_next(s, f.done);
}

/* Which packet a record is of; NOBODY: of none. */
static uint32_t record_of(const struct second *s, const struct access *a) {
    const uintptr_t at = (uintptr_t)a, base = (uintptr_t)s->packet;
    return at - base < SUPPLY_PACKETS * sizeof *a ? (uint32_t)((at - base) / sizeof *a) : NOBODY;
}

/* Take what memory has answered out of the SMs' replies. */
static void take_lines(struct second *s) {
    for (uint32_t i = 0; i < s->on_way; i++) {
        struct fill *f = &s->fill[i];
        struct port *port = port_of(s, f->sm);
        for (uint32_t r = 0; f->packets && r < port->in_count;) {
            const uint32_t record = record_of(s, port->in[r].access);
            if (record == NOBODY || s->owner[record] != f->line) {
                r++;
                continue;
            }
            if (port->in[r].cycle > f->done) f->done = port->in[r].cycle;
            port->in[r] = port->in[--port->in_count];
            s->packets_free |= 1ull << record;
            f->packets--;
        }
    }
}

/* ---- the second level -------------------------------------------------------------------- */

/* When a request is taken that comes at cycle t. */
static uint64_t take_turn(struct second *s, uint64_t t) {
    if (t < s->turn) t = s->turn;
    s->turn = t + s->cfg->icache2_clk;
    return t;
}

/* Ask for a line ahead, unless others wait for their turn. */
static void prefetch(struct second *s, uint32_t line, uint32_t sm, uint64_t t) {
    if (line > s->last_line || s->on_way < s->fills) return;
    if (cache_find(&s->cache, line) != CACHE_NONE || find_fill(s, line)) return;
    add_fill(s, line, sm, t);
    sm_of(s, sm)->count.icache2_prefetches++;
}

static void look_up(struct second *s, uint32_t sm, const struct ask *a) {
    const struct config *cfg = s->cfg;
    struct counters *n = &sm_of(s, sm)->count;
    const bool code = a->addr >= CODE_BASE;
    const uint32_t line = a->addr >> s->cache.line_shift, index = cache_find(&s->cache, line);
    const uint64_t twin =
        code && cfg->icache2_port_clk ? on_way_to(&s->tpc[s->tpc_of[sm]], a->addr, a->cycle) : 0;
    if (twin) {
        n->icache2_merges++;
        reply(s, sm, a->access, latest(twin, a->cycle + cfg->lat_icache2));
        return;
    }
    bool missed = false;
    const uint64_t begin = take_turn(s, a->cycle),
                   hit = begin + (code || !cfg->const_miss ? cfg->lat_icache2 : cfg->const_miss);
    if (index != CACHE_NONE) {
        cache_touch(&s->cache, index);
        n->icache2_hits++;
        answer(s, sm, a->access, hit);
    } else {
        struct fill *f = find_fill(s, line);
        missed = !f;
        if (f) n->icache2_merges++;
        else f = add_fill(s, line, sm, a->cycle), n->icache2_misses++;
        wait_for(s, f, sm, a->access, hit);
    }
    if (code && (cfg->icache2_bursts ? missed : a->addr % cfg->icache2_line == 0))
        for (uint32_t i = 1; i <= cfg->icache2_prefetch; i++) prefetch(s, line + i, sm, a->cycle);
}

/* Serve a request: operands that an instruction names are there. */
static void serve_ask(struct second *s, uint32_t sm, const struct ask *a) {
    if (a->access) look_up(s, sm, a);
    else
        operands_answer(sm_of(s, sm), a->subcore, a->addr,
                        take_turn(s, a->cycle) + s->cfg->operand_miss);
}

/* The SM with the first request; NOBODY if there is none before that cycle. */
static uint32_t first_ask(const struct second *s, uint64_t reach) {
    uint32_t first = NOBODY;
    for (uint32_t i = 0; i < s->served.count; i++)
        if (sm_of(s, i)->ask_count && sm_of(s, i)->asks[0].cycle < reach) {
            reach = sm_of(s, i)->asks[0].cycle;
            first = i;
        }
    return first;
}

/* The first line that comes before that cycle. */
static uint32_t first_line(const struct second *s, uint64_t reach) {
    uint32_t first = NOBODY;
    for (uint32_t i = 0; i < s->on_way; i++)
        if (fill_is_known(&s->fill[i]) && s->fill[i].done < reach) {
            reach = s->fill[i].done;
            first = i;
        }
    return first;
}

/* The earliest answer that is not known, if the third level has to give it. */
static uint64_t next_answer(const struct second *s) {
    uint64_t from = NEVER;
    for (uint32_t i = 0; s->cfg->icache3_bytes && i < s->on_way; i++) {
        const struct fill *f = &s->fill[i];
        if (!fill_is_known(f)) from = least(from, f->start);
        else if (s->on_way < s->fills) from = least(from, f->done);
    }
    return from == NEVER ? from : from + s->cfg->lat_icache3;
}

/* When the first line comes, of those of which that is known, for which somebody waits. */
static uint64_t next_told(const struct second *s) {
    uint64_t at = NEVER;
    for (uint32_t i = 0; i < s->on_way; i++)
        if (fill_is_known(&s->fill[i]) && s->fill[i].first != NOBODY)
            at = least(at, s->fill[i].done);
    return at;
}

/* Answer those who wait for lines that come at a cycle to which all SMs have run, and not beyond:
 * they would never go on. What the lines let begin waits for what SMs send in that cycle. */
static void tell_at(struct second *s, uint64_t reach) {
    for (uint32_t i = 0; i < s->on_way && reach < s->answer; i++)
        if (fill_is_known(&s->fill[i]) && s->fill[i].done == reach) tell(s, &s->fill[i]);
}

void second_advance(struct second *s, uint64_t reach) {
    for (;;) {
        const uint64_t end = least(reach, s->answer = next_answer(s));
        const uint32_t sm = first_ask(s, end);
        const uint64_t asked = sm == NOBODY ? end : sm_of(s, sm)->asks[0].cycle + 1;
        const uint32_t line = first_line(s, asked);
        if (line != NOBODY) {
            complete(s, line);
        } else if (sm != NOBODY) {
            struct sm *from = sm_of(s, sm);
            const struct ask a = from->asks[0];
            memmove(from->asks, from->asks + 1, --from->ask_count * sizeof a);
            serve_ask(s, sm, &a);
        } else {
            tell_at(s, reach);
            return;
        }
    }
}

/* How far an SM may run before it has heard all answers that may come till then, its own and those
 * to others of its TPC. */
static uint64_t bound(const struct second *s, uint32_t i, uint64_t end) {
    uint32_t unanswered = s->unanswered[i];
    end = ask_bound(sm_of(s, i), end);
    for (uint32_t k = 0; s->twins && k < s->served.count; k++) {
        if (k == i || s->tpc_of[k] != s->tpc_of[i]) continue;
        const uint64_t reach = sm_of(s, k)->reach;
        unanswered += s->unanswered[k];
        if (reach != NEVER) end = least(end, ask_bound(sm_of(s, k), reach + s->cfg->lat_icache2));
    }
    return unanswered ? least(end, least(s->answer, next_told(s))) : end;
}

uint64_t second_reach(const struct second *s) {
    uint64_t reach = NEVER;
    for (uint32_t i = 0; i < s->served.count; i++) reach = least(reach, sm_of(s, i)->reach);
    return reach;
}

/* Where the next interval of a time line may end. All SMs stop there, so that none takes a sample
 * before it is known what was sent for it till then. */
static uint64_t next_sample(const struct second *s, uint64_t reach) {
    uint64_t interval = NEVER;
    if (!sm_of(s, 0)->trace || s->cfg->icache3_bytes) return NEVER; /* nothing is sent */
    for (uint32_t i = 0; i < s->served.count; i++)
        interval = least(interval, sm_of(s, i)->trace->interval);
    return (reach / interval + 1) * interval;
}

void second_run(struct second *s, uint64_t end, bool replaced) {
    take_lines(s);
    for (bool moved = true; moved;) {
        const uint64_t reach = second_reach(s), stop = least(end, next_sample(s, reach));
        moved = false;
        second_advance(s, reach);
        for (uint32_t i = 0; i < s->served.count; i++) {
            struct sm *sm = sm_of(s, i);
            const uint64_t before = sm->reach, to = bound(s, i, stop);
            if (before >= to) continue;
            sm_run(sm, to, replaced);
            moved |= sm->reach > before;
        }
    }
}

bool second_is_busy(const struct second *s) {
    bool busy = s->fills != 0;
    for (uint32_t i = 0; i < s->served.count; i++)
        busy |= sm_of(s, i)->ask_count || port_of(s, i)->in_count;
    return busy;
}
