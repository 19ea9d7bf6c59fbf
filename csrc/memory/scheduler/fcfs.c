/* First come, first served, as GPGPU-Sim's scheduler_fifo: one request at a time waits for its
 * bank, and holds up all behind it. */
#include "memory/dram_policy.h"

static uint32_t pass(const struct dram *d, uint32_t bank) {
    (void)d, (void)bank;
    return DRAM_NONE;
}

const struct dram_policy dram_fcfs = {.pass = pass, .window = 1};
