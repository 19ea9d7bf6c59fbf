/* Host threads that run the same function over a range of independent items. Which thread
 * takes which item is left to chance, so items must not see each other. */
#ifndef SMMUX_POOL_H
#define SMMUX_POOL_H

#include <stdint.h>

#include "base/errors.h"

/* What is done to one item. */
typedef void pool_fn(void *context, uint32_t item);

struct pool;

/* So many threads, the caller included; fewer if the host grants no more. */
enum error pool_create(struct pool **out, uint32_t threads);
void pool_destroy(struct pool *pool);
/* Do it to items 0 to items - 1; returns when all are done. */
void pool_run(struct pool *pool, pool_fn *fn, void *context, uint32_t items);

#endif
