#include "memory/sets.h"

/* What bit n of x turns over, of eight or nine bits side by side. */
#define TURN(x, n, set) ((x) >> (n)&1 ? (set) : 0)
#define LOW(x)                                                                                     \
    (TURN(x, 0, 17) ^ TURN(x, 1, 450) ^ TURN(x, 2, 153) ^ TURN(x, 3, 386) ^ TURN(x, 4, 323) ^      \
     TURN(x, 5, 1) ^ TURN(x, 6, 2) ^ TURN(x, 7, 159) ^ TURN(x, 8, 370))
#define MIDDLE(x)                                                                                  \
    (TURN(x, 0, 337) ^ TURN(x, 1, 274) ^ TURN(x, 2, 361) ^ TURN(x, 3, 227) ^ TURN(x, 4, 209) ^     \
     TURN(x, 5, 511) ^ TURN(x, 6, 422) ^ TURN(x, 7, 69))
#define HIGH(x)                                                                                    \
    (TURN(x, 0, 55) ^ TURN(x, 1, 36) ^ TURN(x, 2, 433) ^ TURN(x, 3, 326) ^ TURN(x, 4, 443) ^       \
     TURN(x, 5, 130) ^ TURN(x, 6, 479) ^ TURN(x, 7, 185))

#define FOUR(of, x)    of(x), of((x) + 1), of((x) + 2), of((x) + 3)
#define SIXTEEN(of, x) FOUR(of, x), FOUR(of, (x) + 4), FOUR(of, (x) + 8), FOUR(of, (x) + 12)
#define MANY(of, x)                                                                                \
    SIXTEEN(of, x), SIXTEEN(of, (x) + 16), SIXTEEN(of, (x) + 32), SIXTEEN(of, (x) + 48)
#define TABLE(of, x) MANY(of, x), MANY(of, (x) + 64), MANY(of, (x) + 128), MANY(of, (x) + 192)

static const uint16_t low[] = {TABLE(LOW, 0u), TABLE(LOW, 256u)};
static const uint16_t middle[] = {TABLE(MIDDLE, 0u)}, high[] = {TABLE(HIGH, 0u)};

uint32_t sets_of(uint32_t line) {
    return low[line & 511u] ^ middle[line >> 9 & 255u] ^ high[line >> 17 & 255u];
}
