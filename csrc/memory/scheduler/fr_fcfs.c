/* First ready, first come first served (Rixner et al., ISCA 2000), as in GPGPU-Sim's dram_sched.cc.
 */
#include "memory/dram_policy.h"

static uint32_t pass(const struct dram *d, uint32_t bank) {
    return dram_is_open(d, bank) ? dram_pass_to_row(d, bank) : DRAM_NONE;
}

const struct dram_policy dram_fr_fcfs = {.pass = pass};
