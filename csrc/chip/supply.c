#include "chip/supply.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/lines.h"
#include "sm/trace.h"

#define PACKET_BYTES 128u /* the largest one */
#define MAX_FILLS    8u   /* lines on their way at a time */
#define MAX_ASKS     (2 * MAX_MISSES)
#define NOBODY       UINT32_MAX

_Static_assert(MAX_FILLS == MOST_icache2_fills &&
                   SUPPLY_PACKETS >= MAX_FILLS * MOST_icache2_line / PACKET_BYTES,
               "there is a record for every packet");

/* A request that waits for a line. */
struct request {
    struct access *access;
    uint64_t cycle;
    uint32_t sm, next;
};

/* A line that is on its way, or is to be asked for when its turn comes. */
struct fill {
    uint32_t line;
    uint32_t sm;          /* that asked first */
    uint32_t first, last; /* of the requests that wait, in order */
    uint32_t packets;     /* not yet answered */
    uint64_t start;       /* when it was asked for */
    uint64_t done;        /* when it comes; NEVER: not known yet */
};

struct second {
    struct cache cache;
    const struct config *cfg;
    struct served served;
    uint32_t count;         /* of its SMs, which are numbered among themselves */
    uint32_t last_line;     /* of the program */
    uint32_t per_line;      /* packets */
    struct fill *fill;      /* those on their way, and behind them the others, in order */
    uint32_t on_way, fills; /* how many are on their way, and in all */
    struct request *pool;
    uint32_t free; /* list */
    uint32_t unanswered[MOST_icache2_sms];
    uint64_t answer; /* no request that waits for the third level is answered before this cycle */
    uint64_t packets_free;          /* bit per record below */
    uint32_t owner[SUPPLY_PACKETS]; /* the line of each */
    struct access *packet;          /* one each, of the lines that memory is asked for */
};

struct third {
    struct cache cache;
    const struct config *cfg;
    uint64_t *ready; /* per way: when its line comes */
};

static struct sm *sm_of(const struct second *s, uint32_t i) {
    return &s->served.sms[s->served.member[i]];
}

static struct port *port_of(const struct second *s, uint32_t i) {
    return &s->served.ports[s->served.member[i]];
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* ---- construction ------------------------------------------------------------------------ */

/* Put what a launch fetches ahead of its blocks into the cache. */
static void fill_at_launch(struct second *s) {
    const uint32_t first = CODE_BASE >> s->cache.line_shift,
                   count = s->cfg->icache2_launch >> s->cache.line_shift;
    for (uint32_t line = first; line - first < count && line <= s->last_line; line++)
        cache_put(&s->cache, cache_victim(&s->cache, line), line);
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
    s->count = served->count;
    s->answer = NEVER;
    s->packets_free = ~0ull;
    s->per_line = cfg->icache2_line > PACKET_BYTES ? cfg->icache2_line / PACKET_BYTES : 1;
    const uint32_t requests = s->count * MAX_ASKS;
    s->fill = malloc((requests + MAX_FILLS + 1) * sizeof *s->fill);
    s->pool = malloc(requests * sizeof *s->pool);
    s->packet = lines_take(SUPPLY_PACKETS * sizeof *s->packet);
    if (!s->fill || !s->pool || !s->packet) return ERROR_NO_MEMORY;
    for (uint32_t i = 0; i < requests; i++) s->pool[i].next = i + 1 < requests ? i + 1 : NOBODY;
    const enum error e = cache_init(&s->cache, &shape, place, NULL);
    s->last_line =
        (CODE_BASE + sm_of(s, 0)->last_piece * sm_of(s, 0)->piece_bytes) >> s->cache.line_shift;
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

enum error third_create(struct third **out, const struct config *cfg) {
    const struct cache_shape shape = config_shape(cfg, SHAPE_icache3);
    if (!cfg->icache3_bytes) return OK;
    struct third *third = *out = calloc(1, sizeof *third);
    if (!third) return ERROR_NO_MEMORY;
    third->cfg = cfg;
    third->ready = calloc(cfg->icache3_bytes / cfg->icache3_line, sizeof *third->ready);
    return third->ready ? cache_init(&third->cache, &shape, NULL, NULL) : ERROR_NO_MEMORY;
}

void third_destroy(struct third *third) {
    if (!third) return;
    cache_free(&third->cache);
    free(third->ready);
    free(third);
}

/* ---- answers ----------------------------------------------------------------------------- */

/* Answer a request whose line comes at cycle `line_at`: no sooner than a hit would be. */
static void answer(struct second *s, uint32_t sm, struct access *access, uint64_t asked,
                   uint64_t line_at) {
    const uint64_t hit = asked + s->cfg->lat_icache2;
    struct port *port = port_of(s, sm);
    assert(port->in_count < port->in_capacity);
    port->in[port->in_count++] = (struct reply){line_at > hit ? line_at : hit, access};
}

/* It is known when the line of a fill comes: answer the requests that wait for it. */
static void answer_all(struct second *s, struct fill *f, uint64_t done) {
    f->done = done;
    while (f->first != NOBODY) {
        struct request *w = &s->pool[f->first];
        const uint32_t next = w->next;
        answer(s, w->sm, w->access, w->cycle, done);
        s->unanswered[w->sm]--;
        w->next = s->free;
        s->free = f->first;
        f->first = next;
    }
}

static void wait_for(struct second *s, struct fill *f, uint32_t sm, const struct ask *a) {
    assert(s->free != NOBODY);
    const uint32_t i = s->free;
    s->free = s->pool[i].next;
    s->pool[i] = (struct request){a->access, a->cycle, sm, NOBODY};
    if (f->first == NOBODY) f->first = i;
    else s->pool[f->last].next = i;
    f->last = i;
    s->unanswered[sm]++;
}

/* ---- lines on their way ------------------------------------------------------------------ */

/* Put a packet in its place among those of an SM, in front of stores that wait. The SM sends
 * nothing more that belongs in front of it: it has run beyond the cycle of the request, and its own
 * packets take as long to the port. */
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

static bool is_known(const struct fill *f) { return !f->packets && f->done != NEVER; }

/* A line is there: the next one may be asked for. */
static void complete(struct second *s, uint32_t index) {
    const struct fill f = s->fill[index];
    const uint32_t way = cache_victim(&s->cache, f.line);
    assert(is_known(&f) && f.first == NOBODY && way != CACHE_NONE);
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
        if (is_known(f)) answer_all(s, f, f->done);
    }
}

/* ---- the second level -------------------------------------------------------------------- */

/* Ask for a line ahead, unless others wait for their turn. */
static void prefetch(struct second *s, uint32_t line, uint32_t sm, uint64_t t) {
    if (line > s->last_line || s->on_way < s->fills) return;
    if (cache_find(&s->cache, line) != CACHE_NONE || find_fill(s, line)) return;
    add_fill(s, line, sm, t);
    sm_of(s, sm)->count.icache2_prefetches++;
}

static void look_up(struct second *s, uint32_t sm, const struct ask *a) {
    struct counters *n = &sm_of(s, sm)->count;
    const uint32_t addr = a->access->addr[0], line = addr >> s->cache.line_shift,
                   index = cache_find(&s->cache, line);
    if (index != CACHE_NONE) {
        cache_touch(&s->cache, index);
        n->icache2_hits++;
        answer(s, sm, a->access, a->cycle, 0);
    } else {
        struct fill *f = find_fill(s, line);
        if (f) n->icache2_merges++;
        else f = add_fill(s, line, sm, a->cycle), n->icache2_misses++;
        if (is_known(f)) answer(s, sm, a->access, a->cycle, f->done);
        else wait_for(s, f, sm, a);
    }
    if (addr >= CODE_BASE && addr % s->cfg->icache2_line == 0)
        for (uint32_t i = 1; i <= s->cfg->icache2_prefetch; i++)
            prefetch(s, line + i, sm, a->cycle);
}

/* The SM with the first request; NOBODY if there is none before that cycle. */
static uint32_t first_ask(const struct second *s, uint64_t reach) {
    uint32_t first = NOBODY;
    for (uint32_t i = 0; i < s->count; i++)
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
        if (is_known(&s->fill[i]) && s->fill[i].done < reach) {
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
        if (!is_known(f)) from = least(from, f->start);
        else if (s->on_way < s->fills) from = least(from, f->done);
    }
    return from == NEVER ? from : from + s->cfg->lat_icache3;
}

/* Do what happens at the second level before that cycle, to which all its SMs have run, as far as
 * it is known which lines come when. */
static void advance(struct second *s, uint64_t reach) {
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
            look_up(s, sm, &a);
        } else {
            return;
        }
    }
}

/* How far an SM may run before it has heard all answers that may come till then. */
static uint64_t bound(const struct second *s, uint32_t i, uint64_t end) {
    const struct sm *sm = sm_of(s, i);
    if (sm->ask_count) end = least(end, sm->asks[0].cycle + s->cfg->lat_icache2);
    return s->unanswered[i] ? least(end, s->answer) : end;
}

static uint64_t reach_of(const struct second *s) {
    uint64_t reach = NEVER;
    for (uint32_t i = 0; i < s->count; i++) reach = least(reach, sm_of(s, i)->reach);
    return reach;
}

/* Where the next interval of a time line may end. All SMs stop there, so that none takes a sample
 * before it is known what was sent for it till then. */
static uint64_t next_sample(const struct second *s, uint64_t reach) {
    uint64_t interval = NEVER;
    if (!sm_of(s, 0)->trace || s->cfg->icache3_bytes) return NEVER; /* nothing is sent */
    for (uint32_t i = 0; i < s->count; i++)
        interval = least(interval, sm_of(s, i)->trace->interval);
    return (reach / interval + 1) * interval;
}

void second_run(struct second *s, uint64_t end, bool replaced) {
    take_lines(s);
    for (bool moved = true; moved;) {
        const uint64_t reach = reach_of(s), stop = least(end, next_sample(s, reach));
        moved = false;
        advance(s, reach);
        for (uint32_t i = 0; i < s->count; i++) {
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
    for (uint32_t i = 0; i < s->count; i++)
        busy |= sm_of(s, i)->ask_count || port_of(s, i)->in_count;
    return busy;
}

/* ---- the third level --------------------------------------------------------------------- */

/* When a line of the second level comes that was asked for at cycle t. */
static uint64_t serve(struct third *third, uint32_t part, uint64_t t, struct counters *n) {
    const uint32_t line = part * third->cfg->icache2_line >> third->cache.line_shift;
    const uint64_t hit = t + third->cfg->lat_icache3;
    uint32_t way = cache_find(&third->cache, line);
    if (way == CACHE_NONE) {
        n->icache3_misses++;
        way = cache_victim(&third->cache, line);
        cache_put(&third->cache, way, line);
        return third->ready[way] = t + third->cfg->icache3_miss;
    }
    cache_touch(&third->cache, way);
    if (third->ready[way] > hit) n->icache3_merges++;
    else n->icache3_hits++;
    return third->ready[way] > hit ? third->ready[way] : hit;
}

void third_run(struct third *third, struct second *const *seconds, uint32_t count, uint64_t reach) {
    /* A group whose SMs have run to the end of their window may have had to wait for an answer
     * before it could look at all that they have asked for till then. */
    for (uint32_t g = 0; g < count; g++) advance(seconds[g], reach_of(seconds[g]));
    for (;;) {
        struct fill *first = NULL;
        struct second *of = NULL;
        uint64_t end = reach;
        for (uint32_t g = 0; g < count; g++) end = least(end, seconds[g]->answer);
        for (uint32_t g = 0; g < count; g++)
            for (uint32_t i = 0; i < seconds[g]->on_way; i++) {
                struct fill *f = &seconds[g]->fill[i];
                if (is_known(f) || f->start >= (first ? first->start : end)) continue;
                first = f;
                of = seconds[g];
            }
        if (!first) return;
        struct counters *n = &sm_of(of, first->sm)->count;
        answer_all(of, first, serve(third, first->line, first->start, n));
        advance(of, reach_of(of));
    }
}
