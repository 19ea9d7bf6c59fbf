#include "sm/sass/routine.h"

#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "kernel/lanes.h"
#include "sm/check.h"
#include "sm/print.h"
#include "sm/sass/sass.h"

/* Who calls: one thread. Registers are those of the calling convention. */
struct caller {
    struct sm *sm;
    uint32_t warp, lane;
    uint64_t t;
};

static uint32_t *reg(const struct caller *c, uint32_t number) {
    return &c->sm->warps[c->warp].rows[number * 32u + c->lane];
}

static uint64_t pair(const struct caller *c, uint32_t number) {
    return (uint64_t)*reg(c, number + 1) << 32 | *reg(c, number);
}

/* Where the host keeps a byte of a generic address of the thread; NULL: nowhere. */
static uint8_t *host_of(const struct caller *c, uint64_t address) {
    const struct machine *m = c->sm->m;
    const struct block *b = &c->sm->blocks[c->sm->warps[c->warp].block];
    const uint32_t at = (uint32_t)address, bytes = m->program->meta.local_bytes;
    if (address >> 32 == SHARED_HIGH)
        return at < m->program->meta.shared_bytes ? c->sm->shared + b->static_base + at : NULL;
    if (address >> 32 == LOCAL_HIGH) {
        const size_t slot = c->sm->id * m->local_slots + c->warp;
        const size_t inside = (size_t)(at & ~3u) * 32 + c->lane * 4 + (at & 3u);
        return at < bytes ? m->local + slot * bytes * 32 + inside : NULL;
    }
    const struct buffer *found = address >> 32 ? NULL : buffers_find(&m->all, at, 1);
    return found ? found->host + (at - found->address) : NULL;
}

/* The number of so many bytes at an address; what lies nowhere is 0. */
static uint64_t read_number(const struct caller *c, uint64_t address, uint32_t bytes) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        const uint8_t *at = host_of(c, address + i);
        if (at) value |= (uint64_t)*at << 8 * i;
    }
    return value;
}

/* ---- printf ------------------------------------------------------------------------------ */

/* How many bytes the next argument of a format takes, and where the text behind it begins; 0: there
 * is none. A width or precision may be an argument, in front of its conversion's own: inside then
 * says that the text goes on in that conversion. text: it is the address of one. */
static uint32_t next_argument(const struct caller *c, uint64_t *format, bool *inside, bool *text) {
    *text = false;
    for (char letter;; ++*format) {
        if (!*inside) {
            letter = (char)read_number(c, *format, 1);
            if (!letter) return 0;
            if (letter != '%') continue;
            ++*format;
        }
        *inside = false;
        uint32_t bytes = 4;
        for (; (letter = (char)read_number(c, *format, 1)) &&
               strchr("-+ #0123456789.*lhzjtL", letter);
             ++*format) {
            if (letter == '*') {
                *inside = true;
                return ++*format, 4;
            }
            if (letter == 'l' || letter == 'z' || letter == 'j' || letter == 't') bytes = 8;
        }
        if (!letter) return 0;
        *text = letter == 's';
        if (letter != '%') return ++*format, strchr("eEfFgGaAsp", letter) ? 8 : bytes;
    }
}

enum { MOST_ARGUMENTS = 32 };

#define MOST_CHARACTERS 4096u /* of a text: longer ones are cut off [EST] */

/* How many groups of eight characters a text has, the zero at its end among them. */
static uint32_t groups_of(const struct caller *c, uint64_t text) {
    uint32_t length = 0;
    while (length < MOST_CHARACTERS && read_number(c, text + length, 1)) length++;
    return length / 8 + 1;
}

/* Keep a call: its format's address, then each argument, texts with the characters that they have
 * by now, wherever these lie. */
static void print_formatted(const struct caller *c) {
    uint64_t format = pair(c, 4), at = pair(c, 6), value[MOST_ARGUMENTS];
    uint32_t count = 0, bytes, groups[MOST_ARGUMENTS], rows = 1;
    bool inside = false, text;
    while (count < MOST_ARGUMENTS && (bytes = next_argument(c, &format, &inside, &text)) != 0) {
        at = (at + bytes - 1) & ~(uint64_t)(bytes - 1);
        value[count] = read_number(c, at, bytes);
        groups[count] = text && value[count] ? groups_of(c, value[count]) : 0;
        rows += 1 + groups[count++];
        at += bytes;
    }
    if (print_room(c->sm, rows)) {
        print_row(c->sm, c->warp, c->lane, c->t, PRINT_FORMAT, pair(c, 4));
        for (uint32_t i = 0; i < count; i++) {
            print_row(c->sm, c->warp, c->lane, c->t, i, value[i]);
            for (uint32_t g = 0; g < groups[i]; g++)
                print_row(c->sm, c->warp, c->lane, c->t, PRINT_STRING,
                          read_number(c, value[i] + 8 * g, 8));
        }
    }
    *reg(c, 4) = count;
}

/* ---- malloc and free --------------------------------------------------------------------- */

#define HEADER 16u /* bytes in front of what is given out: its class */

/* The heap of compiled code, of which the end of its constants tells, and the bytes of an SM's part
 * of it. */
static uint32_t heap_of(const struct program *p, uint32_t *room) {
    uint32_t base;
    memcpy(&base, p->constants + p->constant_bytes - 8, sizeof base);
    memcpy(room, p->constants + p->constant_bytes - 4, sizeof *room);
    return base;
}

uint32_t routine_heap(const struct program *p) {
    uint32_t room;
    return p->sass && p->constant_bytes >= 8 ? heap_of(p, &room) : 0;
}

/* Memory of 2^class bytes with its header: given back before, or new. A SM has a part of the heap
 * of its own, so that what it gives does not depend on when others ask. */
static uint32_t allocate(const struct caller *c, uint64_t bytes) {
    const struct program *p = c->sm->m->program;
    struct heap *heap = c->sm->heap;
    uint32_t room, order = 5;
    const uint32_t base = heap_of(p, &room);
    while (order < HEAP_CLASSES && (1ull << order) - HEADER < bytes) order++;
    if (order == HEAP_CLASSES || !bytes) return 0;
    const uint32_t given = heap->given[order];
    if (given) {
        heap->given[order] = (uint32_t)read_number(c, given, 4);
        return given;
    }
    if (room - heap->used < 1u << order) return 0;
    const uint32_t start = base + c->sm->id * room + heap->used;
    heap->used += 1u << order;
    for (uint32_t i = 0; i < 4; i++) {
        uint8_t *to = host_of(c, start + i);
        if (!to) return 0;
        *to = (uint8_t)(order >> 8 * i);
    }
    return start + HEADER;
}

/* Keep what is given back for the next one of its class; an address that is none is ignored. */
static void give_back(const struct caller *c, uint64_t address) {
    const uint64_t order = read_number(c, address - HEADER, 4);
    struct heap *heap = c->sm->heap;
    if (address < HEADER || order < 5 || order >= HEAP_CLASSES) return;
    for (uint32_t i = 0; i < 4; i++) {
        uint8_t *to = host_of(c, address + i);
        if (!to) return;
        *to = (uint8_t)(heap->given[order] >> 8 * i);
    }
    heap->given[order] = (uint32_t)address;
    if (c->sm->check) check_heap_free(c->sm, c->warp, (uint32_t)address - HEADER, (uint32_t)order);
}

/* ---- assert ------------------------------------------------------------------------------ */

static void copy_text(const struct caller *c, uint64_t address, char *to, size_t size) {
    size_t i = 0;
    for (; i + 1 < size && (to[i] = (char)read_number(c, address + i, 1)) != 0; i++) continue;
    to[i] = 0;
}

static void fail_assertion(const struct caller *c) {
    char message[96], file[64], function[48];
    copy_text(c, pair(c, 4), message, sizeof message);
    copy_text(c, pair(c, 6), file, sizeof file);
    copy_text(c, pair(c, 10), function, sizeof function);
    struct fault *f = &c->sm->fault;
    const uint32_t line = *reg(c, 8);
    sm_fault(c->sm, c->warp, c->lane, c->t, ERROR_ASSERTION);
    if (!f->line) f->line = line;
    snprintf(f->text, sizeof f->text, "%s, %s:%u, in %s", message, file, line, function);
}

bool routine_call(struct sm *sm, uint32_t warp, uint32_t lane, uint32_t number, uint64_t t) {
    const struct caller c = {sm, warp, lane, t};
    switch (number) {
    case ROUTINE_PRINTF: print_formatted(&c); return true;
    case ROUTINE_MALLOC:
        *reg(&c, 4) = allocate(&c, pair(&c, 4));
        *reg(&c, 5) = 0;
        return true;
    case ROUTINE_FREE: give_back(&c, pair(&c, 4)); return true;
    case ROUTINE_ASSERT: fail_assertion(&c); return false;
    default: sm_fault(sm, warp, lane, t, ERROR_BAD_JUMP); return false;
    }
}
