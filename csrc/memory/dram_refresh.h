/* Refresh of a DRAM channel (config: t_refi, t_rfc, dram_refresh_single). */
#ifndef SMMUX_DRAM_REFRESH_H
#define SMMUX_DRAM_REFRESH_H

#include "memory/dram.h"

/* When refresh is due first; `phase` staggers it against that of other channels. */
void refresh_init(struct dram *d, const struct config *cfg, uint32_t phase);

/* Precharge and refresh all banks, as often as that is due by d->now. */
void refresh_all(struct dram *d);

/* Refresh that bank, as often as that is due by a clock at which it does something next. The
 * commands have slots of their own, so that nothing else is held up and this may be told
 * afterwards. */
void refresh_bank(struct dram *d, uint32_t b, uint64_t clock);

#endif
