#include "memory/buffers.h"

#include <stdlib.h>

static uint64_t end_of(const struct buffer *b) { return (uint64_t)b->address + b->bytes; }

static int in_order(const void *a, const void *b) {
    const struct buffer *first = *(const struct buffer *const *)a,
                        *second = *(const struct buffer *const *)b;
    if (first->address != second->address) return first->address < second->address ? -1 : 1;
    return first < second ? -1 : first > second;
}

enum error buffers_init(struct buffers *all, const struct buffer *buffers, uint32_t count) {
    all->sorted = calloc(count + 1, sizeof(void *));
    all->reach = calloc(count + 1, sizeof *all->reach);
    all->count = count;
    if (!all->sorted || !all->reach) return ERROR_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++) all->sorted[i] = &buffers[i];
    qsort(all->sorted, count, sizeof(void *), in_order);
    uint64_t reach = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (end_of(all->sorted[i]) > reach) reach = end_of(all->sorted[i]);
        all->reach[i] = reach;
    }
    return OK;
}

void buffers_free(struct buffers *all) {
    free((void *)all->sorted);
    free(all->reach);
    all->sorted = NULL;
    all->reach = NULL;
}

/* How many arrays begin before that address. */
static uint32_t before(const struct buffers *all, uint64_t address) {
    uint32_t low = 0, high = all->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (all->sorted[middle]->address < address) low = middle + 1;
        else high = middle;
    }
    return low;
}

const struct buffer *buffers_find(const struct buffers *all, uint32_t address, uint32_t bytes) {
    const uint64_t end = (uint64_t)address + bytes;
    const struct buffer *found = NULL;
    for (uint32_t i = before(all, (uint64_t)address + 1); i-- > 0 && all->reach[i] >= end;) {
        if (end_of(all->sorted[i]) < end) continue;
        found = all->sorted[i];
        if (found->writable) break;
    }
    return found;
}

const struct buffer *buffers_touching(const struct buffers *all, uint32_t address, uint32_t bytes) {
    const uint32_t i = before(all, (uint64_t)address + bytes);
    for (uint32_t k = i; k-- > 0 && all->reach[k] > address;)
        if (end_of(all->sorted[k]) > address) return all->sorted[k];
    return NULL;
}
