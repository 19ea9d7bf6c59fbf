#include "sm/sass/table.h"

#include "sm/sass/sass.h"

exec_fn *const sass_functions[SASS_COUNT] = {
#define SASS_CONTROL(id, cls, operands)
#define SASS(id, cls, traits, operands) [SASS_##id] = sass_##id,
#include "tables/sass.def"
};
