#include "sm/sass/match.h"

#include "sm/sass/cbu.h"
#include "sm/sass/sass.h"

uint64_t match_late(struct sm *sm, uint32_t warp, const struct uop *u, uint64_t t) {
    const struct config *cfg = sm->m->cfg;
    struct warp *w = &sm->warps[warp];
    if (sass_mod(u, 9, 1)) return 0; /* all lanes at once: MATCH.ALL */
    const bool wide = u->sub == SASS_MATCH_64;
    const struct lanes lanes = {w->rows, sm->m->program->uniforms, w->preds};
    const uint32_t *low = operand_row(&lanes, u->a);
    const uint32_t values = sass_values(low, wide ? low + 32 : low, w->mask);
    const uint64_t begin = cbu_take(sm, t, values * (wide ? 2 : 1) * cfg->match_clk);
    if (begin > sm->held[warp]) sm->held[warp] = begin;
    return begin - t + (values - 1) * (wide ? cfg->match_late_wide : cfg->match_late);
}
