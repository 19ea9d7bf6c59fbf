#include "memory/cache.h"

#include <assert.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/lines.h"

#define WAY_BITS 20 /* leaves 44 for the number of uses */
#define MAX_WAYS (1u << WAY_BITS)

const char *cache_refusal(const struct cache_shape *s) {
    const uint64_t set = (uint64_t)s->ways * s->line;
    if (!bits_is_power_of_two(s->line)) return "a line must be a power of two";
    if (!bits_is_power_of_two(s->sector)) return "a sector must be a power of two";
    if (s->sector > s->line) return "a sector is larger than a line";
    if (s->line / s->sector > 8) return "a line has more than 8 sectors";
    if (!s->ways || s->ways > MAX_WAYS) return "there must be 1 to 2**20 ways";
    if (!s->bytes || s->bytes % set) return "its bytes must be a multiple of ways * line";
    return NULL;
}

/* The way holds that line, or none, and nothing is known of it. */
static void cache_set(struct cache *c, uint32_t index, uint32_t line) {
    c->number[index] = line;
    c->lines[index] = (struct cache_line){.mshr = CACHE_NO_MSHR};
}

enum error cache_init(struct cache *c, const struct cache_shape *shape, bool data) {
    *c = (struct cache){0};
    assert(!cache_refusal(shape));
    const uint32_t count = shape->bytes / shape->line;
    *c = (struct cache){
        .sets = count / shape->ways,
        .ways = shape->ways,
        .line_shift = bits_lowest(shape->line),
        .sector_shift = bits_lowest(shape->sector),
        .hashed = shape->hashed,
    };
    if (bits_is_power_of_two(c->sets)) {
        c->set_mask = c->sets - 1;
        c->set_shift = bits_lowest(c->sets);
    }
    c->lines = malloc(count * sizeof *c->lines);
    c->number = malloc(count * sizeof *c->number);
    c->data = data ? malloc(shape->bytes) : NULL;
    if (!c->lines || !c->number || (data && !c->data)) {
        cache_free(c);
        return ERROR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) cache_set(c, i, CACHE_NONE);
    return OK;
}

void cache_free(struct cache *c) {
    free(c->lines);
    free(c->number);
    free(c->data);
    c->lines = NULL;
    c->number = NULL;
    c->data = NULL;
}

/* The first way of the line's set. Hashing is GPGPU-Sim's "H" in spirit: two further digits of
 * the line number, in base `sets`, are folded into the index. */
static inline uint32_t first_way(const struct cache *c, uint32_t line) {
    uint32_t set;
    if (c->set_mask || c->sets == 1) {
        set = line;
        if (c->hashed && c->set_shift)
            set ^= line >> c->set_shift ^ (line >> c->set_shift >> c->set_shift);
        set &= c->set_mask;
    } else if (c->hashed) {
        uint32_t high = line / c->sets;
        set = (line % c->sets + high % c->sets + high / c->sets % c->sets) % c->sets;
    } else {
        set = line % c->sets;
    }
    return set * c->ways;
}

#ifdef SMMUX_CHECK
static void check_way(const struct cache *c, uint32_t first, uint32_t index) {
    const struct cache_line *l = &c->lines[index];
    assert(l->used <= c->clock);
    if (c->number[index] == CACHE_NONE) {
        assert(!l->valid && !l->dirty && l->mshr == CACHE_NO_MSHR);
        return;
    }
    assert(first_way(c, c->number[index]) == first);
    for (uint32_t i = first; i < index; i++) assert(c->number[i] != c->number[index]);
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

uint32_t cache_find(const struct cache *c, uint32_t line) {
    uint32_t first = first_way(c, line);
    for (uint32_t i = first; i < first + c->ways; i++)
        if (c->number[i] == line) return i;
    return CACHE_NONE;
}

void cache_prefetch(const struct cache *c, uint32_t line) {
    const uint32_t first = first_way(c, line);
    __builtin_prefetch(&c->number[first], 1);
    for (uint32_t way = 0; way < c->ways; way += LINE_BYTES / sizeof *c->lines)
        __builtin_prefetch(&c->lines[first + way], 1);
}

/* Keys of last use and way are compared, without branches: no host can predict which way is the
 * oldest. Empty ways have never been used, so they come first. */
uint32_t cache_victim(const struct cache *c, uint32_t line) {
    const uint32_t first = first_way(c, line);
    uint64_t oldest = UINT64_MAX;
    for (uint32_t way = 0; way < c->ways; way++) {
        const struct cache_line *l = &c->lines[first + way];
        const uint64_t tied = l->mshr == CACHE_NO_MSHR ? 0 : UINT64_MAX;
        const uint64_t key = (l->used << WAY_BITS | way) | tied;
        oldest = key < oldest ? key : oldest;
    }
    return oldest == UINT64_MAX ? CACHE_NONE : first + (uint32_t)(oldest & (MAX_WAYS - 1));
}

void cache_put(struct cache *c, uint32_t index, uint32_t line) {
    assert(cache_find(c, line) == CACHE_NONE && c->lines[index].mshr == CACHE_NO_MSHR);
    cache_set(c, index, line);
    cache_touch(c, index);
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
        if (c->number[i] != CACHE_NONE) cache_set(c, i, CACHE_NONE);
}
