#include "memory/dram.h"

#include <assert.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/hints.h"
#include "memory/dram_bank.h"
#include "memory/dram_policy.h"
#include "memory/dram_refresh.h"
#include "memory/dram_window.h"

static const struct dram_list empty = {DRAM_NONE, DRAM_NONE};

static const struct dram_policy *const policies[] = {
#define POLICY_dram(name, doc) &dram_##name,
#include "tables/policies.def"
};

static const struct page_policy *const pages[] = {
#define POLICY_page(name, doc) &page_##name,
#include "tables/policies.def"
};

enum error dram_init(struct dram *d, const struct config *cfg, uint32_t capacity, uint32_t phase) {
    const struct dram_policy *policy = policies[cfg->dram_policy];
    *d = (struct dram){
        .wake = DRAM_NEVER,
        .admits = DRAM_NEVER,
        .t = dram_timing(cfg),
        .banks = cfg->dram_banks,
        .group_mask = cfg->dram_groups - 1,
        .closed = all_banks(cfg->dram_banks),
        .window = policy->window ? policy->window : cfg->dram_window,
        .age_cap = cfg->dram_age_cap,
        .row_slots = cfg->dram_row_slots,
        .policy = policy,
        .page = pages[cfg->dram_page],
        .free = DRAM_NONE,
        .capacity = capacity,
        .fifo = empty,
        .done = empty,
    };
    for (uint32_t b = 0; b < d->banks; b++) d->bank[b].candidates = empty;
    refresh_init(d, cfg, phase);
    d->pool = malloc(capacity * sizeof *d->pool);
    return d->pool ? OK : ERROR_NO_MEMORY;
}

void dram_free(struct dram *d) {
    free(d->trace);
    d->trace = NULL;
    free(d->pool);
    d->pool = NULL;
}

void dram_push(struct dram *d, const struct dram_request *r) {
    uint32_t e = d->free;
    if (e != DRAM_NONE) d->free = d->pool[e].next;
    else e = d->fresh++;
    assert(e < d->capacity && r->bursts && r->bank < d->banks);
    d->pool[e] =
        (struct dram_entry){r->arrival, r->tag, r->row, DRAM_NONE, r->bank, r->bursts, r->write};
    list_append(d->pool, &d->fifo, e);
    if (d->fifo.head == e && d->window_used < d->window) d->admits = r->arrival;
    const uint64_t seen = later(r->arrival, d->now);
    if (seen < d->wake) d->wake = seen;
}

uint32_t dram_pop(struct dram *d) {
    assert(d->done.head != DRAM_NONE);
    const uint32_t e = list_take(d->pool, &d->done);
    d->pool[e].next = d->free;
    d->free = e;
    return d->pool[e].tag;
}

/* ---- window ------------------------------------------------------------------------------ */

/* Note in the time line whether a request finds its row. */
NOINLINE static void sample_request(struct dram *d, uint32_t b, uint32_t row) {
    struct dram_sample *s = dram_sample_at(d, d->now);
    if (!dram_is_open(d, b)) s->misses++;
    else if (d->bank[b].row == row) s->hits++;
    else s->conflicts++;
}

/* Let an idle bank take a request from the window. */
static void bank_serve(struct dram *d, uint32_t b) {
    struct dram_bank *k = &d->bank[b];
    if (k->refresh_due <= d->now) refresh_bank(d, b, d->now);
    const uint32_t entry = window_take(d, b);
    assert(d->pool[entry].bank == b && !is_busy(d, b) && d->pool[entry].time <= d->now);
    const struct dram_entry *e = &d->pool[entry];
    if (!dram_is_open(d, b)) d->stats.misses++;
    else if (k->row == e->row) d->stats.hits++;
    else d->stats.conflicts++;
    if (d->trace) sample_request(d, b, e->row);
    k->entry = entry;
    k->bursts = e->bursts;
    d->writing = (d->writing & ~(1ull << b)) | (uint64_t)e->write << b;
    d->wanted[b] = e->row;
    bank_plan(d, b);
}

/* Let what has arrived by now enter the window and idle banks take from it, until nothing moves. */
static void admit(struct dram *d) {
    for (;;) {
        while (d->admits <= d->now) enter(d);
        uint64_t idle = d->waiting & ~(d->column | d->row);
        if (!idle) return;
        for (; idle; idle &= idle - 1) bank_serve(d, bits_lowest64(idle));
    }
}

/* ---- commands ---------------------------------------------------------------------------- */

/* Candidates are compared as keys: clock, then turn, which is the bank counted from d->first. */
#define TURN_BITS 6

/* Banks as bits in order of their turn. */
static inline uint64_t turns(const struct dram *d, uint64_t banks) {
    return banks >> d->first | banks << (-d->first & (DRAM_MAX_BANKS - 1));
}

/* The bank that has its turn there. */
static inline uint32_t bank_at(const struct dram *d, uint64_t turn) {
    return (uint32_t)(turn + d->first) & (DRAM_MAX_BANKS - 1);
}

/* The key of the first of these banks to issue a column command, or `best` if that is less; the bus
 * is free for such commands at `bus`. */
static inline uint64_t first_column(const struct dram *d, uint64_t banks, uint64_t bus,
                                    const uint64_t *group, uint64_t best) {
    for (uint64_t m = turns(d, banks); m && bus <= best >> TURN_BITS; m &= m - 1) {
        const uint32_t turn = bits_lowest64(m), b = bank_at(d, turn);
        uint64_t at = later(d->ready[b], group[b & d->group_mask]);
        at = later(at, bus);
        const uint64_t key = at << TURN_BITS | turn;
        best = key < best ? key : best;
        if (at == bus) break; /* none later in turn can be earlier */
    }
    return best;
}

/* The key of the first bank to issue an activate or a precharge. This also renews the bound that
 * spares the search while it cannot win. */
static uint64_t first_row(struct dram *d, uint64_t floor) {
    const uint64_t activate = later(floor, d->bus_ready[DRAM_ACTIVATE]);
    uint64_t best = UINT64_MAX;
    for (uint64_t m = turns(d, d->row); m; m &= m - 1) {
        const uint32_t turn = bits_lowest64(m), b = bank_at(d, turn);
        const uint64_t other =
            dram_is_open(d, b) ? later(floor, d->group_pre_ready[b & d->group_mask]) : activate;
        const uint64_t key = later(d->ready[b], other) << TURN_BITS | turn;
        best = key < best ? key : best;
    }
    d->row_bound = best >> TURN_BITS;
    return best;
}

/* Choose the bank whose next command is legal first, ties in round-robin order; returns that clock.
 */
static uint64_t choose(struct dram *d, uint32_t *bank) {
    const uint64_t floor = later(d->now, d->column_free);
    const uint64_t read = later(floor, d->bus_ready[DRAM_READ]);
    const uint64_t writes = d->column & d->writing, reads = d->column ^ writes;
    const uint64_t *of_read = d->group_ready[DRAM_READ], *of_write = d->group_ready[DRAM_WRITE];
    uint64_t best = UINT64_MAX;
    if (!writes) {
        best = first_column(d, reads, read, of_read, best);
    } else {
        const uint64_t write = later(floor, d->bus_ready[DRAM_WRITE]);
        if (read <= write) best = first_column(d, reads, read, of_read, best);
        best = first_column(d, writes, write, of_write, best);
        if (read > write) best = first_column(d, reads, read, of_read, best);
    }
    if (d->row && d->row_bound <= best >> TURN_BITS) {
        const uint64_t row = first_row(d, later(d->now, d->row_free));
        best = row < best ? row : best;
    }
    *bank = bank_at(d, best);
    return best >> TURN_BITS;
}

/* Let the bank precharge by itself as soon as it may; the rules are those of the command. */
static void close_row(struct dram *d, uint32_t b) {
    struct dram_bank *k = &d->bank[b];
    const uint64_t at = later(k->pre_ready, d->group_pre_ready[b & d->group_mask]);
    d->closed |= 1ull << b;
    k->act_ready = later(k->act_ready, at + d->t.rp);
    d->stats.precharges++;
}

/* Apart, so that nothing is looked up for a log that there is not. */
NOINLINE static void record_column(struct dram *d, uint32_t b, uint64_t at, bool write,
                                   bool closing) {
    const enum dram_command_kind open = write ? DRAM_WRITE : DRAM_READ;
    const enum dram_command_kind close = write ? DRAM_WRITE_CLOSING : DRAM_READ_CLOSING;
    record(d, at, closing ? close : open, b, d->pool[d->bank[b].entry].tag);
}

/* Would a bank that has just issued a column command be chosen again for the next one, as long as
 * nothing arrives for an idle bank and no row command comes first? Nobody may use the bus sooner,
 * or as soon and has its turn before: those of the other kind wait until it has turned round, those
 * of this kind until the bank may go on itself. */
static inline bool stays_chosen(const struct dram *d, uint32_t b, bool write) {
    const struct dram_timing *t = &d->t;
    const uint64_t others = d->column & ~(1ull << b);
    if (d->log || d->trace) return false;
    if (!others) return true;
    if (t->step > t->ccd || turns(d, others) & (turns(d, 1ull << b) - 1)) return false;
    return t->step < (write ? t->wtr : t->rtw) || !(others & (write ? ~d->writing : d->writing));
}

/* The bank's column commands, `count` of them, end with one at that clock. */
static void end_columns(struct dram *d, uint32_t b, uint64_t at, bool write, uint32_t count) {
    const struct dram_timing *t = &d->t;
    struct dram_bank *k = &d->bank[b];
    const uint32_t group = b & d->group_mask;
    if (write) {
        d->bus_ready[DRAM_WRITE] = at + t->ccd;
        d->bus_ready[DRAM_READ] = at + t->wtr;
        d->group_ready[DRAM_WRITE][group] = at + t->ccdl;
        d->group_ready[DRAM_READ][group] = at + t->group_wtr;
        k->pre_ready = later(k->pre_ready, at + t->wtp);
        d->stats.writes += count;
    } else {
        d->bus_ready[DRAM_READ] = at + t->ccd;
        d->bus_ready[DRAM_WRITE] = at + t->rtw;
        d->group_ready[DRAM_READ][group] = at + t->ccdl;
        d->group_ready[DRAM_WRITE][group] = at + t->group_rtw;
        k->pre_ready = later(k->pre_ready, at + t->rtp);
        d->group_pre_ready[group] = at + t->rtpl;
        d->stats.reads += count;
    }
    d->stats.busy += count * t->burst;
    if (d->trace) *(write ? &dram_sample_at(d, at)->writes : &dram_sample_at(d, at)->reads) += 1;
}

/* The last burst of the bank's request goes out at that clock. */
static inline void complete(struct dram *d, uint32_t entry, uint64_t at, bool write) {
    uint64_t end = at + (write ? d->t.wl : d->t.cl) + d->t.burst;
    /* A write of another pseudo channel may be complete before a read; no request waits for it. */
    if (end < d->last_end) end = d->last_end;
    d->last_end = end;
    d->pool[entry].time = end;
    list_append(d->pool, &d->done, entry);
}

/* Let the bank, whose request is done at that clock, go on with the oldest one in the window if
 * that is of the same kind and row, as all policies do; false: it does not, or something arrives
 * for an idle bank first. */
static inline bool serve_next(struct dram *d, uint32_t b, uint64_t at, bool write) {
    struct dram_bank *k = &d->bank[b];
    const uint64_t by = d->row_slots ? at : at + 1; /* when it would choose by itself */
    if (!enter_quietly(d, by) || k->candidates.head == DRAM_NONE) return false;
    const struct dram_entry *e = &d->pool[k->candidates.head];
    if (e->row != k->row || e->write != write) return false;
    k->entry = window_take(d, b);
    k->bursts = e->bursts;
    d->stats.hits++;
    return true;
}

/* Issue column commands of the bank from that clock on: a burst of its request, and those behind
 * it, of this and of further requests, as long as the bank would be chosen again each time and,
 * until `end`, nothing new is known; returns when the last one does. */
static uint64_t issue_columns(struct dram *d, uint32_t b, uint64_t at, uint64_t end) {
    struct dram_bank *k = &d->bank[b];
    const bool write = d->writing >> b & 1, again = stays_chosen(d, b, write);
    const uint32_t step = d->t.step;
    uint32_t count = 1;
    bool done, closing = false;
    if (d->row && d->row_bound < end) end = d->row_bound;
    if (!again) end = 0;
    for (;; at += step, count++) {
        done = --k->bursts == 0;
        if (done) {
            complete(d, k->entry, at, write);
            closing = d->page->closes(d, b);
            if (closing || at + step >= end || at + step >= k->refresh_due) break;
            if (!serve_next(d, b, at, write)) break;
            done = false;
        }
        if (at + step >= end || !enter_quietly(d, at + step)) break;
    }
    end_columns(d, b, at, write, count);
    if (d->log) record_column(d, b, at, write, closing);
    if (closing) close_row(d, b);
    if (done) d->column &= ~(1ull << b);
    return at;
}

static void issue_activate(struct dram *d, uint32_t b, uint64_t at) {
    const struct dram_timing *t = &d->t;
    struct dram_bank *k = &d->bank[b];
    d->closed &= ~(1ull << b);
    k->row = d->wanted[b];
    k->col_ready = at + t->rcd;
    k->pre_ready = at + t->ras;
    k->act_ready = at + t->rc;
    /* The fifth activate waits for the four-activate window of the first. */
    d->act_times[d->act_index++ & 3] = at + t->faw;
    d->bus_ready[DRAM_ACTIVATE] = later(at + t->rrd, d->act_times[d->act_index & 3]);
    d->stats.activates++;
    if (d->trace) dram_sample_at(d, at)->banks[b]++;
    record(d, at, DRAM_ACTIVATE, b, k->row);
}

static void issue_precharge(struct dram *d, uint32_t b, uint64_t at) {
    d->closed |= 1ull << b;
    d->bank[b].act_ready = later(d->bank[b].act_ready, at + d->t.rp);
    d->stats.precharges++;
    record(d, at, DRAM_PRECHARGE, b, 0);
}

/* Issue the bank's next command; before `end` nothing changes but by commands. */
static void issue(struct dram *d, uint32_t b, uint64_t at, uint64_t end) {
    const bool column = d->column >> b & 1;
    assert(((d->column | d->row) >> b & 1) && at >= d->now);
    assert(at >= (column ? d->column_free : d->row_free));
    if (column) {
        at = issue_columns(d, b, at, end);
    } else {
        if (dram_is_open(d, b)) issue_precharge(d, b, at);
        else issue_activate(d, b, at);
        d->first = (b + 1) & (d->banks - 1);
        d->row_bound = 0;
        bank_plan(d, b);
    }
    if (column || !d->row_slots) d->column_free = at + 1;
    if (!column || !d->row_slots) d->row_free = at + 1;
    d->now = d->row_slots ? at : at + 1;
}

/* The clock at which the choice of a command for clock `at` may become another one, if by then: as
 * a request arrives for an idle bank, or refresh is due. */
static inline uint64_t next_event(struct dram *d, uint64_t at) {
    if (at < d->refresh_due) enter_quietly(d, at);
    return d->admits < d->refresh_due ? d->admits : d->refresh_due;
}

void dram_advance(struct dram *d, uint64_t limit) {
    while (d->wake < limit) {
        if (!(d->column | d->row | d->waiting)) { /* skip to the next request */
            if (d->admits > d->now && d->admits != DRAM_NEVER) d->now = d->admits;
            if (d->admits == DRAM_NEVER || d->now >= limit) {
                d->wake = d->admits == DRAM_NEVER ? DRAM_NEVER : d->now;
                return;
            }
        }
        if (d->refresh_due <= d->now) refresh_all(d);
        if (d->admits <= d->now || d->waiting & ~(d->column | d->row)) admit(d);

        uint32_t b;
        const uint64_t at = choose(d, &b), event = next_event(d, at);
        if (event <= at) {
            d->wake = event;
            if (event < limit) d->now = event; /* beyond it, requests yet unknown come first */
        } else if (at < limit && at >= d->bank[b].refresh_due && d->row >> b & 1) {
            refresh_bank(d, b, at);
        } else if (at < limit) {
            issue(d, b, at, d->refresh_due < limit ? d->refresh_due : limit);
            d->wake = d->now;
        } else {
            d->wake = at;
        }
    }
}
