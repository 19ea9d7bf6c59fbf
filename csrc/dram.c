#include "dram.h"

#include <assert.h>
#include <stdlib.h>

#include "bits.h"

#define NO_SLOT 0xffu

static inline uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

static struct dram_timing timing(const struct config *cfg) {
    struct dram_timing t = {
        .rcd = cfg->t_rcd,
        .rp = cfg->t_rp,
        .ras = cfg->t_ras,
        .rc = cfg->t_rc,
        .rrd = cfg->t_rrd,
        .faw = cfg->t_faw,
        .cl = cfg->t_cl,
        .wl = cfg->t_wl,
        .burst = cfg->dram_burst_clk,
        .ccd = cfg->t_ccd,
        .ccdl = cfg->t_ccdl,
        .rtp = cfg->t_rtp,
        .rtpl = cfg->t_rtpl,
        .refi = cfg->t_refi,
        .rfc = cfg->t_rfc,
    };
    /* Command to command, as GPGPU-Sim derives them (gpu-sim.h: tRTW, tWTR, tWTP); two
     * clocks turn the bus round. */
    t.rtw = t.cl + t.burst + 2 > t.wl ? t.cl + t.burst + 2 - t.wl : 1;
    t.wtr = t.wl + t.burst + cfg->t_wtr;
    t.wtp = t.wl + t.burst + cfg->t_wr;
    return t;
}

enum error dram_init(struct dram *d, const struct config *cfg, uint32_t capacity, uint32_t phase) {
    uint32_t size = 16;
    while (size < capacity) size *= 2;
    *d = (struct dram){.wake = DRAM_NEVER, .t = timing(cfg), .banks = cfg->dram_banks};
    d->group_mask = cfg->dram_groups - 1;
    d->closed = d->banks == 32 ? UINT32_MAX : (1u << d->banks) - 1;
    d->window = cfg->dram_window;
    d->window_free = d->window == 64 ? UINT64_MAX : (1ull << d->window) - 1;
    d->refresh_due = d->t.refi ? d->t.refi + (uint64_t)phase : DRAM_NEVER;
    d->capacity_mask = size - 1;
    for (uint32_t b = 0; b < d->banks; b++) d->bank[b].head = d->bank[b].tail = NO_SLOT;
    d->fifo = malloc(size * sizeof *d->fifo);
    d->done = malloc(size * sizeof *d->done);
    if (!d->fifo || !d->done) {
        dram_free(d);
        return ERROR_NO_MEMORY;
    }
    return OK;
}

void dram_free(struct dram *d) {
    free(d->fifo);
    free(d->done);
    d->fifo = NULL;
    d->done = NULL;
}

void dram_push(struct dram *d, const struct dram_request *r) {
    assert(d->fifo_tail - d->fifo_head <= d->capacity_mask && r->bursts && r->bank < d->banks);
    d->fifo[d->fifo_tail++ & d->capacity_mask] = *r;
    uint64_t seen = later(r->arrival, d->now);
    if (seen < d->wake) d->wake = seen;
}

static void record(struct dram *d, uint64_t clock, enum dram_command_kind kind, uint32_t bank,
                   uint32_t row) {
    struct dram_log *log = d->log;
    if (!log) return;
    if (log->count < log->capacity)
        log->entries[log->count] = (struct dram_command){clock, row, (uint8_t)kind, (uint8_t)bank};
    log->count++;
}

static inline bool is_open(const struct dram *d, uint32_t b) { return !(d->closed >> b & 1u); }

/* The next command of a serving bank, and when the bank itself allows it. */
static void bank_plan(struct dram *d, uint32_t b) {
    const struct dram_bank *k = &d->bank[b];
    const uint32_t bit = 1u << b;
    if (is_open(d, b) && k->row == d->wanted[b]) {
        d->ready[b] = k->col_ready;
        d->column |= bit;
        d->row &= ~bit;
        return;
    }
    d->ready[b] = is_open(d, b) ? k->pre_ready : k->act_ready;
    d->row |= bit;
    d->column &= ~bit;
    if (d->ready[b] < d->row_bound) d->row_bound = d->ready[b];
}

/* --- window ----------------------------------------------------------------------- */

static void window_add(struct dram *d, const struct dram_request *r) {
    uint8_t s = (uint8_t)__builtin_ctzll(d->window_free);
    struct dram_bank *k = &d->bank[r->bank];
    d->window_free &= d->window_free - 1;
    d->window_used++;
    d->slot[s] = (struct dram_slot){r->tag, r->row, r->bursts, NO_SLOT, r->write};
    if (k->head == NO_SLOT) k->head = s;
    else d->slot[k->tail].next = s;
    k->tail = s;
    d->waiting |= 1u << r->bank;
}

/* Unlink and return the bank's oldest request to its open row, else its oldest. */
static struct dram_slot window_take(struct dram *d, uint32_t b) {
    struct dram_bank *k = &d->bank[b];
    uint8_t s = k->head, before = NO_SLOT;
    if (is_open(d, b)) {
        uint8_t previous = NO_SLOT;
        for (uint8_t i = k->head; i != NO_SLOT; previous = i, i = d->slot[i].next)
            if (d->slot[i].row == k->row) {
                s = i;
                before = previous;
                break;
            }
    }
    if (before == NO_SLOT) k->head = d->slot[s].next;
    else d->slot[before].next = d->slot[s].next;
    if (k->tail == s) k->tail = before;
    if (k->head == NO_SLOT) d->waiting &= ~(1u << b);
    d->window_free |= 1ull << s;
    d->window_used--;
    return d->slot[s];
}

static void bank_serve(struct dram *d, uint32_t b) {
    struct dram_bank *k = &d->bank[b];
    struct dram_slot s = window_take(d, b);
    if (!is_open(d, b)) d->stats.misses++;
    else if (k->row == s.row) d->stats.hits++;
    else d->stats.conflicts++;
    k->tag = s.tag;
    k->bursts = s.bursts;
    d->writing = (d->writing & ~(1u << b)) | (uint32_t)s.write << b;
    d->wanted[b] = s.row;
    bank_plan(d, b);
}

/* What has arrived by now enters the window, idle banks take, until nothing moves. */
static void admit(struct dram *d) {
    for (;;) {
        while (d->window_used < d->window && d->fifo_head != d->fifo_tail) {
            const struct dram_request *r = &d->fifo[d->fifo_head & d->capacity_mask];
            if (r->arrival > d->now) break;
            window_add(d, r);
            d->fifo_head++;
        }
        uint32_t idle = d->waiting & ~(d->column | d->row);
        if (!idle) return;
        for (; idle; idle &= idle - 1) bank_serve(d, bits_lowest(idle));
    }
}

/* --- commands --------------------------------------------------------------------- */

/* A clock and a bank's turn from d->first on, ordered by clock, then turn. */
static inline uint64_t make_key(const struct dram *d, uint64_t at, uint32_t b) {
    return at << 5 | ((b - d->first) & (DRAM_MAX_BANKS - 1));
}

static uint64_t first_column(const struct dram *d, uint64_t floor) {
    const uint64_t read = later(floor, d->bus_ready[DRAM_READ]);
    const uint64_t write = later(floor, d->bus_ready[DRAM_WRITE]);
    uint64_t best = UINT64_MAX;
    for (uint32_t m = d->column; m; m &= m - 1) {
        const uint32_t b = bits_lowest(m);
        uint64_t at = later(d->ready[b], d->writing >> b & 1u ? write : read);
        at = later(at, d->group_ready[b & d->group_mask]);
        const uint64_t key = make_key(d, at, b);
        best = key < best ? key : best;
    }
    return best;
}

/* Also renews the bound that spares this search while it cannot win. */
static uint64_t first_row(struct dram *d, uint64_t floor) {
    const uint64_t activate = later(floor, d->bus_ready[DRAM_ACTIVATE]);
    uint64_t best = UINT64_MAX;
    for (uint32_t m = d->row; m; m &= m - 1) {
        const uint32_t b = bits_lowest(m);
        const uint64_t other =
            is_open(d, b) ? later(floor, d->group_pre_ready[b & d->group_mask]) : activate;
        const uint64_t key = make_key(d, later(d->ready[b], other), b);
        best = key < best ? key : best;
    }
    d->row_bound = best >> 5;
    return best;
}

/* Bank whose next command is legal first, and that clock; ties in round-robin order. */
static uint64_t choose(struct dram *d, uint32_t *bank) {
    const uint64_t floor = later(d->now, d->command_free);
    uint64_t best = first_column(d, floor);
    if (d->row && d->row_bound <= best >> 5) {
        const uint64_t row = first_row(d, floor);
        best = row < best ? row : best;
    }
    *bank = (uint32_t)(best + d->first) & (DRAM_MAX_BANKS - 1);
    return best >> 5;
}

static void issue_column(struct dram *d, uint32_t b, uint64_t at) {
    const struct dram_timing *t = &d->t;
    struct dram_bank *k = &d->bank[b];
    const uint32_t group = b & d->group_mask;
    const bool write = d->writing >> b & 1u;
    uint64_t end;
    if (write) {
        d->bus_ready[DRAM_WRITE] = at + t->ccd;
        d->bus_ready[DRAM_READ] = at + t->wtr;
        k->pre_ready = later(k->pre_ready, at + t->wtp);
        end = at + t->wl + t->burst;
        d->stats.writes++;
    } else {
        d->bus_ready[DRAM_READ] = at + t->ccd;
        d->bus_ready[DRAM_WRITE] = at + t->rtw;
        k->pre_ready = later(k->pre_ready, at + t->rtp);
        d->group_pre_ready[group] = at + t->rtpl;
        end = at + t->cl + t->burst;
        d->stats.reads++;
    }
    d->group_ready[group] = at + t->ccdl;
    d->stats.busy += t->burst;
    record(d, at, write ? DRAM_WRITE : DRAM_READ, b, k->tag);
    if (--k->bursts) return;
    d->column &= ~(1u << b);
    d->done[d->done_tail++ & d->capacity_mask] = (struct dram_completion){end, k->tag};
}

static void issue_activate(struct dram *d, uint32_t b, uint64_t at) {
    const struct dram_timing *t = &d->t;
    struct dram_bank *k = &d->bank[b];
    d->closed &= ~(1u << b);
    k->row = d->wanted[b];
    k->col_ready = at + t->rcd;
    k->pre_ready = at + t->ras;
    k->act_ready = at + t->rc;
    /* The fifth activate waits for the four-activate window of the first. */
    d->act_times[d->act_index++ & 3] = at + t->faw;
    d->bus_ready[DRAM_ACTIVATE] = later(at + t->rrd, d->act_times[d->act_index & 3]);
    d->stats.activates++;
    record(d, at, DRAM_ACTIVATE, b, k->row);
}

static void issue_precharge(struct dram *d, uint32_t b, uint64_t at) {
    d->closed |= 1u << b;
    d->bank[b].act_ready = later(d->bank[b].act_ready, at + d->t.rp);
    d->stats.precharges++;
    record(d, at, DRAM_PRECHARGE, b, 0);
}

static void issue(struct dram *d, uint32_t b, uint64_t at) {
    if (d->column >> b & 1u) {
        issue_column(d, b, at);
    } else {
        if (is_open(d, b)) issue_precharge(d, b, at);
        else issue_activate(d, b, at);
        d->first = (b + 1) & (d->banks - 1);
        d->row_bound = 0;
        bank_plan(d, b);
    }
    d->command_free = at + 1;
    d->now = at + 1;
}

/* Precharge all open banks, refresh, and plan the serving banks again. */
static void refresh(struct dram *d) {
    const uint32_t all = d->banks == 32 ? UINT32_MAX : (1u << d->banks) - 1;
    uint64_t at = later(d->refresh_due, d->command_free);
    if (d->closed != all) {
        uint64_t precharge = at;
        for (uint32_t m = all & ~d->closed; m; m &= m - 1) {
            const uint32_t b = bits_lowest(m);
            precharge = later(precharge, d->bank[b].pre_ready);
            precharge = later(precharge, d->group_pre_ready[b & d->group_mask]);
            d->stats.precharges++;
        }
        record(d, precharge, DRAM_PRECHARGE_ALL, 0, 0);
        at = precharge + d->t.rp;
    }
    for (uint32_t b = 0; b < d->banks; b++) /* tRC, and tRP of banks precharged before */
        at = later(at, d->bank[b].act_ready);
    record(d, at, DRAM_REFRESH, 0, 0);
    d->stats.refreshes++;
    d->closed = all;
    d->row_bound = 0;
    for (uint32_t b = 0; b < d->banks; b++)
        d->bank[b].act_ready = later(d->bank[b].act_ready, at + d->t.rfc);
    for (uint32_t m = d->column | d->row; m; m &= m - 1) bank_plan(d, bits_lowest(m));
    d->command_free = at + 1;
    d->refresh_due += d->t.refi;
}

void dram_advance(struct dram *d, uint64_t limit) {
    while (d->wake < limit) {
        uint64_t head = d->fifo_head == d->fifo_tail
                            ? DRAM_NEVER
                            : d->fifo[d->fifo_head & d->capacity_mask].arrival;
        if (!d->column && !d->row && !d->waiting) {
            if (head == DRAM_NEVER) {
                d->wake = DRAM_NEVER;
                return;
            }
            d->now = later(d->now, head);
        }
        if (d->now >= limit) {
            d->wake = d->now;
            return;
        }
        while (d->refresh_due <= d->now) refresh(d);
        if (head <= d->now || (d->waiting & ~(d->column | d->row))) admit(d);

        uint32_t b = 0;
        uint64_t at = choose(d, &b), event = d->refresh_due;
        if (d->window_used < d->window && d->fifo_head != d->fifo_tail) {
            uint64_t arrival = d->fifo[d->fifo_head & d->capacity_mask].arrival;
            event = arrival < event ? arrival : event;
        }
        if (event <= at) { /* an arrival or a refresh may change the choice */
            d->now = event;
            d->wake = event;
        } else if (at < limit) {
            issue(d, b, at);
            d->wake = d->now;
        } else {
            d->wake = at;
            return;
        }
    }
}
