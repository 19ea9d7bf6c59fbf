#include "sm/sass/table.h"

#include "sm/sass/sass.h"

/* By enum sass_op; operations of control are none of these (control.c). */
static exec_fn *const functions[SASS_COUNT] = {
#define SASS_CONTROL(id, cls, operands)
#define SASS(id, cls, traits, operands) [SASS_##id] = sass_##id,
#include "tables/sass.def"
};

void exec_sass(const struct uop *u, const struct lanes *w, uint32_t mask) {
    functions[u->sub](u, w, u->aux >> SHIFT_UNIFORM & MASK_UNIFORM ? ~0u : mask);
}
