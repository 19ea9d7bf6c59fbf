#include "chip/diagnose.h"

#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "sm/sass/barrier.h"

/* What a warp waits for, in words. */
static const char *const waits[WAIT_COUNT] = {
#define WAIT(id, counter, words, doc) words,
#include "tables/waits.def"
};

/* Has the warp something left to do? */
static bool is_live(const struct warp *w) {
    return w->state != WARP_FREE && w->state != WARP_STARTING && w->state != WARP_EXITED;
}

/* The instruction that a warp is at: for one that waits at a barrier that, not what follows it. */
static uint32_t pc_of(const struct sm *sm, const struct warp *w) {
    return w->state == WARP_BARRIER ? sm->blocks[w->block].barrier_pc : w->pc;
}

static uint32_t line_of(const struct sm *sm, const struct warp *w) {
    return sm->m->program->line[pc_of(sm, w)];
}

/* Let the fault name a warp: where it is, and its first lane's thread. */
static void point_at(const struct sm *sm, uint32_t slot, struct fault *f) {
    const struct warp *w = &sm->warps[slot];
    const uint32_t *special = w->rows + sm->m->program->registers * 32u;
    f->placed = true;
    f->sm = sm->id;
    f->warp = slot;
    f->lane = w->mask ? bits_lowest(w->mask) : 0;
    f->pc = pc_of(sm, w);
    f->line = line_of(sm, w);
    for (uint32_t d = 0; d < 3; d++) {
        f->thread[d] = special[(SPECIAL_TID_X + d) * 32 + f->lane];
        f->block[d] = special[(SPECIAL_CTAID_X + d) * 32 + f->lane];
    }
}

/* The first live warp of the block in that slot, or of any block (MAX_BLOCKS); MAX_WARPS if there
 * is none. */
static uint32_t first_warp(const struct sm *sm, uint32_t block) {
    for (uint32_t slot = 0; slot < sm->warp_limit; slot++)
        if (is_live(&sm->warps[slot]) && (block == MAX_BLOCKS || sm->warps[slot].block == block))
            return slot;
    return MAX_WARPS;
}

/* Does any block of the SM hold dynamic shared memory? */
static bool anybody_holds(const struct sm *sm) {
    bool holds = false;
    for (uint32_t slot = 0; slot < MAX_BLOCKS; slot++)
        holds |= sm->blocks[slot].used && sm->blocks[slot].holds;
    return holds;
}

/* What a warp waits for, in words. */
static const char *awaited(const struct sm *sm, uint32_t warp) {
    const enum wait wait = (enum wait)sm->wait[warp];
    if (wait == WAIT_ALLOCATION && !anybody_holds(sm))
        return "shared memory that the management gives to nobody";
    return waits[wait];
}

/* Describe the first SM on which blocks wait for their start, unless the fault has a text. */
static void describe_starts(const struct sm *sms, uint32_t count, struct fault *f) {
    for (uint32_t i = 0; i < count && !f->text[0]; i++)
        if (sms[i].queue_count)
            snprintf(f->text, sizeof f->text,
                     "the management lets none of %u blocks start on SM %u, block %u among them",
                     sms[i].queue_count, i, sms[i].blocks[sms[i].queue[0]].id);
}

/* Describe what the block of a warp waits for, and how many of its warps do. */
static void describe_block(const struct sm *sm, uint32_t slot, struct fault *f) {
    const struct block *b = &sm->blocks[sm->warps[slot].block];
    uint32_t id;
    const struct barrier *named = barrier_of(sm, slot, &id);
    if (named)
        snprintf(f->text, sizeof f->text,
                 "block %u on SM %u waits for barrier %u (%u of %u warps arrived)", b->id, sm->id,
                 id, named->arrived, named->threads ? (named->threads + 31) / 32 : b->warps_live);
    else
        snprintf(f->text, sizeof f->text,
                 "block %u on SM %u waits for %s (%u of %u warps arrived, %u blocks queue for "
                 "shared memory)",
                 b->id, sm->id, awaited(sm, slot), b->arrived, b->warps_live, sm->queue_count);
}

enum error diagnose_deadlock(const struct sm *sms, uint32_t count, struct fault *f) {
    f->array = -1;
    for (uint32_t i = 0; i < count; i++) {
        const struct sm *sm = &sms[i];
        const uint32_t slot = first_warp(sm, MAX_BLOCKS);
        if (slot == MAX_WARPS) continue;
        const struct block *b = &sm->blocks[sm->warps[slot].block];
        point_at(sm, slot, f);
        if (sm->grid_arrived) {
            snprintf(
                f->text, sizeof f->text,
                "block %u waits for all blocks of the grid, but not all come: some have ended, "
                "or wait for something else",
                b->id);
            break;
        }
        describe_block(sm, slot, f);
        break;
    }
    describe_starts(sms, count, f);
    return f->code = ERROR_DEADLOCK;
}

/* ---- the cycle limit --------------------------------------------------------------------- */

/* The allocation that has waited longest, before `since`: its block slot, or MAX_BLOCKS. */
static uint32_t longest_wait(const struct sm *sm, uint64_t since) {
    uint32_t found = MAX_BLOCKS;
    for (uint32_t i = 0; i < sm->queue_count; i++) {
        const struct block *b = &sm->blocks[sm->queue[i]];
        if (!b->started || b->arrival >= since) continue;
        since = b->arrival;
        found = sm->queue[i];
    }
    return found;
}

/* Has a block waited for shared memory for more than half of the run? Then the fault names a block
 * that holds some. */
static bool starves(const struct sm *sm, uint64_t cycle, struct fault *f) {
    const uint32_t waiter = longest_wait(sm, cycle / 2);
    if (waiter == MAX_BLOCKS) return false;
    const struct block *b = &sm->blocks[waiter];
    for (uint32_t holder = 0; holder < MAX_BLOCKS; holder++) {
        if (!sm->blocks[holder].used || !sm->blocks[holder].holds) continue;
        const uint32_t slot = first_warp(sm, holder);
        if (slot == MAX_WARPS) continue;
        point_at(sm, slot, f);
        snprintf(f->text, sizeof f->text,
                 "block %u at line %u has waited on SM %u since cycle %llu for what block %u holds",
                 b->id, sm->m->program->line[b->barrier_pc], sm->id, (unsigned long long)b->arrival,
                 sm->blocks[holder].id);
        return true;
    }
    return false;
}

#define COUNTED_LINES 64u /* of the source: those that come later are left out */
#define SHOWN_LINES   4u

/* How many warps are at a source line. */
struct line_count {
    uint32_t line, warps;
};

/* Count the live warps at each source line, the line with most of them first; returns how many
 * lines there are. */
static uint32_t count_lines(const struct sm *sms, uint32_t count,
                            struct line_count lines[COUNTED_LINES]) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t slot = 0; slot < sms[i].warp_limit; slot++) {
            if (!is_live(&sms[i].warps[slot])) continue;
            const uint32_t line = line_of(&sms[i], &sms[i].warps[slot]);
            uint32_t at = 0;
            while (at < used && lines[at].line != line) at++;
            if (at == COUNTED_LINES) continue;
            if (at == used) lines[used++] = (struct line_count){line, 0};
            lines[at].warps++;
            for (; at && lines[at].warps > lines[at - 1].warps; at--) {
                const struct line_count swap = lines[at];
                lines[at] = lines[at - 1];
                lines[at - 1] = swap;
            }
        }
    return used;
}

static void describe_lines(const struct line_count *lines, uint32_t used, char *text, size_t size) {
    for (uint32_t i = 0; i < used && i < SHOWN_LINES; i++) {
        const size_t at = strlen(text);
        snprintf(text + at, size - at, "%s%u %s at line %u", i ? ", " : "", lines[i].warps,
                 lines[i].warps == 1 ? "warp" : "warps", lines[i].line);
    }
}

void diagnose_places(const struct sm *sms, uint32_t count, char *text, size_t size) {
    struct line_count lines[COUNTED_LINES];
    *text = 0;
    describe_lines(lines, count_lines(sms, count, lines), text, size);
}

/* Let the fault name the first live warp at a source line. */
static void point_at_line(const struct sm *sms, uint32_t count, uint32_t line, struct fault *f) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t slot = 0; slot < sms[i].warp_limit; slot++)
            if (is_live(&sms[i].warps[slot]) && line_of(&sms[i], &sms[i].warps[slot]) == line) {
                point_at(&sms[i], slot, f);
                return;
            }
}

enum error diagnose_limit(const struct sm *sms, uint32_t count, uint64_t cycle, struct fault *f) {
    struct line_count lines[COUNTED_LINES];
    f->array = -1;
    f->cycle = cycle;
    for (uint32_t i = 0; i < count; i++)
        if (starves(&sms[i], cycle, f)) return f->code = ERROR_STARVATION;
    const uint32_t used = count_lines(sms, count, lines);
    if (used) point_at_line(sms, count, lines[0].line, f);
    describe_lines(lines, used, f->text, sizeof f->text);
    return f->code = ERROR_CYCLE_LIMIT;
}
