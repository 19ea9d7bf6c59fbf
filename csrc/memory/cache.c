#include "memory/cache.h"

#include <assert.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/hints.h"
#include "base/lines.h"

#define WAY_BITS 20 /* leaves 44 for the number of uses */
#define MAX_WAYS (1u << WAY_BITS)

const char *cache_refusal(const struct cache_shape *s) {
    const uint64_t set = (uint64_t)s->ways * s->line;
    if (!bits_is_power_of_two(s->line)) return "a line must be a power of two";
    if (!bits_is_power_of_two(s->sector)) return "a sector must be a power of two";
    if (s->sector > s->line) return "a sector is larger than a line";
    if (s->line / s->sector > 8) return "a line has more than 8 sectors";
    if (s->shared && s->bytes > SETS * set) return "its lines exceed the ways of its sets";
    if (!s->ways || s->ways > MAX_WAYS) return "there must be 1 to 2**20 ways";
    if (!s->bytes || s->bytes % set) return "its bytes must be a multiple of ways * line";
    return NULL;
}

/* The bank of sets that a way belongs to. */
static uint32_t bank_of(const struct cache *c, uint32_t index) {
    return index / c->ways % SET_BANKS;
}

/* The way holds that line, or none, and nothing is known of it. */
static void cache_set(struct cache *c, uint32_t index, uint32_t line) {
    if (c->room.most) {
        uint32_t *held = &c->room.held[bank_of(c, index)];
        *held -= cache_number(c, index) != CACHE_NONE;
        *held += line != CACHE_NONE;
    }
    c->tag[index] = ~line;
    c->lines[index] = (struct cache_line){0};
}

uint32_t cache_ways(const struct cache_shape *s) {
    return s->shared ? SETS * s->ways : s->bytes / s->line;
}

size_t cache_bytes(const struct cache_shape *s) {
    return lines_round(cache_ways(s) * (sizeof(struct cache_line) + sizeof(uint32_t)));
}

enum error cache_init(struct cache *c, const struct cache_shape *shape, void *place,
                      uint8_t *data) {
    *c = (struct cache){0};
    assert(!cache_refusal(shape));
    const uint32_t count = cache_ways(shape);
    *c = (struct cache){
        .sets = count / shape->ways,
        .ways = shape->ways,
        .line_shift = bits_lowest(shape->line),
        .sector_shift = bits_lowest(shape->sector),
        .hashed = shape->hashed,
        .owned = !place,
        .data = data,
        .room = {.most = shape->shared ? shape->bytes / shape->line / SET_BANKS : 0},
    };
    if (bits_is_power_of_two(c->sets)) {
        c->set_mask = c->sets - 1;
        c->set_shift = bits_lowest(c->sets);
    } else {
        c->set_inverse = UINT64_MAX / c->sets + 1;
    }
    c->lines = place ? place : lines_alloc(cache_bytes(shape));
    if (!c->lines) return ERROR_NO_MEMORY;
    c->tag = (uint32_t *)(void *)(c->lines + count);
    return OK;
}

void cache_free(struct cache *c) {
    if (c->owned) lines_free(c->lines); /* and the tags behind them */
    c->lines = NULL;
    c->tag = NULL;
    c->data = NULL;
}

/* n / sets, which is not a power of two: exact, as the error of the inverse, below 1 / 2^64, makes
 * less than 1 / 2^32 of any n. */
static ALWAYS_INLINE uint32_t by_sets(const struct cache *c, uint32_t n) {
    return (uint32_t)(((clock_wide)c->set_inverse * n) >> 64);
}

/* n % sets of the sum of two that are below it. */
static ALWAYS_INLINE uint32_t in_sets(const struct cache *c, uint32_t n) {
    return n < c->sets ? n : n - c->sets;
}

/* The first way of the line's set. Hashing is GPGPU-Sim's "H" in spirit: two further digits of
 * the line number, in base `sets`, are folded into the index; twice and four times in an odd base,
 * where plain sums would leave powers of two few sets (addrmap.c). */
static ALWAYS_INLINE uint32_t first_way(const struct cache *c, uint32_t line) {
    uint32_t set;
    if (c->room.most) return sets_of(line) * c->ways;
    if (c->set_mask || c->sets == 1) {
        set = line;
        if (c->hashed && c->set_shift)
            set ^= line >> c->set_shift ^ (line >> c->set_shift >> c->set_shift);
        set &= c->set_mask;
    } else if (c->hashed) {
        const uint32_t high = by_sets(c, line), top = by_sets(c, high);
        uint32_t folded = top - by_sets(c, top) * c->sets;
        if (c->sets & 1) folded = in_sets(c, 2 * folded);
        folded = in_sets(c, folded + high - top * c->sets);
        if (c->sets & 1) folded = in_sets(c, 2 * folded);
        set = in_sets(c, line - high * c->sets + folded);
    } else {
        set = line - by_sets(c, line) * c->sets;
    }
    return set * c->ways;
}

#ifdef SMMUX_CHECK
static void check_way(const struct cache *c, uint32_t first, uint32_t index) {
    const struct cache_line *l = &c->lines[index];
    assert(l->used <= c->clock);
    if (cache_number(c, index) == CACHE_NONE) {
        assert(!l->valid && !l->dirty && cache_mshr(l) == CACHE_NO_MSHR);
        return;
    }
    assert(first_way(c, cache_number(c, index)) == first);
    for (uint32_t i = first; i < index; i++) assert(c->tag[i] != c->tag[index]);
}

static void check_set(const struct cache *c, uint32_t first) {
    for (uint32_t i = first; i < first + c->ways; i++) check_way(c, first, i);
}

void cache_check(const struct cache *c) {
    for (uint32_t set = 0; set < c->sets; set++) check_set(c, set * c->ways);
}
#else
static void check_set(const struct cache *c, uint32_t first) { (void)c, (void)first; }
#endif

/* Four tags at a time. */
typedef uint32_t four __attribute__((vector_size(16)));
typedef uint32_t four_tags __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint64_t two __attribute__((vector_size(16)));

#define MANY_WAYS 16u

/* Which of so many tags, a multiple of four, is that one, counted from 1; 0: none. Without a branch
 * per tag: the one that matches leaves its number. */
NOINLINE static uint32_t place_of(const uint32_t *tag, uint32_t count, uint32_t wanted) {
    four found = {0}, place = {1, 2, 3, 4};
    for (uint32_t i = 0; i < count; i += 4, place += 4)
        found |= (four)(*(const four_tags *)(tag + i) == wanted) & place;
    const two halves = (two)found;
    const uint64_t pair = halves[0] | halves[1];
    return (uint32_t)pair | (uint32_t)(pair >> 32);
}

uint32_t cache_find(const struct cache *c, uint32_t line) {
    const uint32_t first = first_way(c, line), ways = c->ways, *tag = &c->tag[first];
    uint32_t way = 0;
    if (ways >= MANY_WAYS) {
        const uint32_t place = place_of(tag, ways & ~3u, ~line);
        if (place) return first + place - 1;
        way = ways & ~3u;
    }
    for (; way < ways; way++)
        if (tag[way] == ~line) return first + way;
    return CACHE_NONE;
}

void cache_prefetch(const struct cache *c, uint32_t line) {
    const uint32_t first = first_way(c, line);
    __builtin_prefetch(&c->tag[first], 1);
    for (uint32_t way = 0; way < c->ways; way += LINE_BYTES / sizeof *c->lines)
        __builtin_prefetch(&c->lines[first + way], 1);
}

/* Whether a line is to go before another one. */
static bool goes_before(const struct cache_line *a, const struct cache_line *b) {
    return a->used_again != b->used_again ? b->used_again : a->used < b->used;
}

/* The way of a set whose line has not been used again, or else has been least recently; CACHE_NONE:
 * it has no line. */
static uint32_t oldest(struct cache *c, uint32_t first) {
    uint32_t found = CACHE_NONE;
    for (uint32_t way = first; way < first + c->ways; way++) {
        if (cache_number(c, way) == CACHE_NONE) continue;
        if (found == CACHE_NONE || goes_before(&c->lines[way], &c->lines[found])) found = way;
    }
    if (found != CACHE_NONE && c->lines[found].used_again)
        for (uint32_t way = first; way < first + c->ways; way++) c->lines[way].used_again = false;
    return found;
}

/* The way of a set that has no line, or else whose line goes. */
static uint32_t empty_or_oldest(struct cache *c, uint32_t first) {
    for (uint32_t way = first; way < first + c->ways; way++)
        if (cache_number(c, way) == CACHE_NONE) return way;
    return oldest(c, first);
}

/* Keys of last use and way are compared, without branches: no host can predict which way is the
 * oldest. Empty ways have never been used, so they come first. */
uint32_t cache_victim(struct cache *c, uint32_t line) {
    const uint32_t first = first_way(c, line);
    if (c->room.most) return empty_or_oldest(c, first);
    uint64_t oldest = UINT64_MAX;
    for (uint32_t way = 0; way < c->ways; way++) {
        const struct cache_line *l = &c->lines[first + way];
        const uint64_t tied = l->tie ? UINT64_MAX : 0;
        const uint64_t key = (l->used << WAY_BITS | way) | tied;
        oldest = key < oldest ? key : oldest;
    }
    return oldest == UINT64_MAX ? CACHE_NONE : first + (uint32_t)(oldest & (MAX_WAYS - 1));
}

uint32_t cache_make_room(struct cache *c, uint32_t line) {
    if (!c->room.most) return CACHE_NONE;
    struct cache_room *room = &c->room;
    const uint32_t bank = sets_bank(line);
    if (room->held[bank] + room->coming[bank] < room->most || !room->held[bank]) return CACHE_NONE;
    uint32_t way, *next = &room->next[bank];
    do {
        way = oldest(c, (*next * SET_BANKS + bank) * c->ways);
        *next = (*next + 1) % (SETS / SET_BANKS);
    } while (way == CACHE_NONE);
    const uint32_t gone = cache_number(c, way);
    cache_set(c, way, CACHE_NONE);
    return gone;
}

void cache_expect(struct cache *c, uint32_t line, bool coming) {
    uint32_t *expected = &c->room.coming[sets_bank(line)];
    *expected = coming ? *expected + 1 : *expected - 1;
}

void cache_put(struct cache *c, uint32_t index, uint32_t line) {
    assert(cache_find(c, line) == CACHE_NONE && !c->lines[index].tie);
    cache_set(c, index, line);
    cache_touch(c, index);
    c->lines[index].used_again = false;
    check_set(c, first_way(c, line));
}

void cache_drop(struct cache *c, uint32_t line, uint32_t sectors) {
    const uint32_t i = cache_find(c, line);
    if (i == CACHE_NONE) return;
    c->lines[i].valid &= (uint8_t)~sectors;
    if (!c->lines[i].valid) cache_set(c, i, CACHE_NONE);
}

void cache_clear(struct cache *c) {
    for (uint32_t i = 0; i < c->sets * c->ways; i++)
        if (c->tag[i]) cache_set(c, i, CACHE_NONE);
}
