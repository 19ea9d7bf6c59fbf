/* What the machine parameters say about the time between the commands of a channel. */
#include "memory/dram.h"

static inline uint32_t at_least(uint32_t a, uint32_t least) { return a > least ? a : least; }

struct dram_timing dram_timing(const struct config *cfg) {
    struct dram_timing t = {
        .rcd = cfg->t_rcd,
        .rp = cfg->t_rp,
        .ras = cfg->t_ras,
        .rc = cfg->t_rc,
        .rrd = cfg->t_rrd,
        .faw = cfg->t_faw,
        .cl = cfg->t_cl,
        .wl = cfg->t_wl,
        .burst = cfg->dram_burst_clk,
        .ccd = at_least(cfg->t_ccd, cfg->dram_burst_clk), /* one burst at a time on the data bus */
        .ccdl = cfg->t_ccdl,
        .rtp = cfg->t_rtp,
        .rtpl = cfg->t_rtpl,
        .refi = cfg->t_refi,
        .rfc = cfg->t_rfc,
    };
    /* Command to command, as GPGPU-Sim derives them (gpu-sim.h: tRTW, tWTR, tWTP); two
     * clocks turn the bus round. Never closer than any two column commands. */
    t.rtw = t.cl + t.burst + 2 > t.wl ? t.cl + t.burst + 2 - t.wl : 1;
    t.rtw = at_least(t.rtw, t.ccd);
    t.wtr = at_least(t.wl + t.burst + cfg->t_wtr, t.ccd);
    t.step = at_least(t.ccdl, t.ccd);
    t.wtp = t.wl + t.burst + cfg->t_wr;
    t.group_rtw = t.group_wtr = t.ccdl;
    if (cfg->dram_pseudo) { /* a group turns its bus round alone */
        t.group_rtw = at_least(t.rtw, t.ccdl);
        t.group_wtr = at_least(t.wtr, t.ccdl);
        t.rtw = t.wtr = t.ccd;
    }
    return t;
}
