/* What is known of operations: the words of the column `traits` of ops.def, as bits. */
#ifndef SMMUX_TRAITS_H
#define SMMUX_TRAITS_H

enum {
#define TRAIT(id, name, doc) BIT_##id,
#include "tables/traits.def"
};

enum trait {
    PURE = 0,
#define TRAIT(id, name, doc) id = 1 << BIT_##id,
#include "tables/traits.def"
};

#endif
