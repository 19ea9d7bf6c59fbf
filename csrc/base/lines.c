#define _DEFAULT_SOURCE /* for what POSIX lacks: MAP_ANONYMOUS, MADV_HUGEPAGE */
#include "base/lines.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MAP_NORESERVE /* where the host reserves nothing anyway */
#define MAP_NORESERVE 0
#endif

#define HUGE_BYTES  ((size_t)2 << 20)
#define LARGE_BYTES 1048576u /* of less, malloc often has enough that needs no new pages */

#ifdef __SANITIZE_ADDRESS__ /* gcc */
#define WATCHED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) /* clang */
#define WATCHED
#endif
#endif

#ifdef WATCHED
#include <sanitizer/asan_interface.h>

static void allow(void *at, size_t bytes) { __asan_unpoison_memory_region(at, bytes); }

size_t lines_fence(void *at) {
    if (at) __asan_poison_memory_region(at, LINE_BYTES);
    return LINE_BYTES;
}
#else
static void allow(void *at, size_t bytes) { (void)at, (void)bytes; }

size_t lines_fence(void *at) { return (void)at, 0; }
#endif

/* What lies in front of the first line. */
struct origin {
    uint8_t *base;
    size_t mapped; /* bytes from the host; 0: it is from malloc */
};

/* The first line of some memory that has two more than it needs. */
static void *begin(uint8_t *base, size_t mapped) {
    if (!base) return NULL;
    const struct origin origin = {base, mapped};
    uint8_t *at = base + 2 * (size_t)LINE_BYTES - (uintptr_t)base % LINE_BYTES;
    memcpy(at - sizeof origin, &origin, sizeof origin);
    return at;
}

/* From the host, since calloc clears all of what has been used before, needed or not. A huge page,
 * if there are any, costs a quarter of its 512 small ones. Linux begins where one does only if the
 * size is a multiple of theirs. */
static void *map(size_t bytes, bool huge) {
    if (huge) bytes = (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (huge ? 0 : MAP_NORESERVE);
    uint8_t *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (base == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
    if (huge) (void)madvise(base, bytes, MADV_HUGEPAGE); /* advice that the host may refuse */
#else
    (void)huge;
#endif
    return begin(base, bytes);
}

/* So many bytes in whole lines, and the two more that the first line takes. */
static size_t with_margin(size_t bytes) { return lines_round(bytes) + 2 * (size_t)LINE_BYTES; }

void *lines_take(size_t bytes) { return begin(malloc(with_margin(bytes)), 0); }

void *lines_alloc(size_t bytes) {
    const size_t all = with_margin(bytes);
    return all < LARGE_BYTES ? begin(calloc(1, all), 0) : map(all, false);
}

void *lines_alloc_whole(size_t bytes) {
    return bytes < HUGE_BYTES ? lines_alloc(bytes) : map(with_margin(bytes), true);
}

void lines_free(void *lines) {
    struct origin origin;
    if (!lines) return;
    memcpy(&origin, (uint8_t *)lines - sizeof origin, sizeof origin);
    allow(origin.base, origin.mapped);
    if (origin.mapped) (void)munmap(origin.base, origin.mapped);
    else free(origin.base);
}
