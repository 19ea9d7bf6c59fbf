#include "sm/sass/sass.h"

/* a, -a or ~a, as the modifiers say: what is added is (a ^ flip) + plus. */
struct sign {
    uint32_t flip, plus;
};

static struct sign sign_of(const struct uop *u, uint32_t negate, uint32_t invert) {
    return (struct sign){sass_mask(u, negate | invert), sass_mask(u, negate) & 1};
}

SASS_FN(MOV) {
    SASS_ROWS
    if (sass_plain(u, mask)) {
        EACH_LANE d[lane] = ra[lane];
        return;
    }
    EACH_LANE d[lane] = SASS_KEEP(d[lane], ra[lane]);
}

SASS_FN(MOV_SPECIAL) { sass_MOV(u, w, mask); }

SASS_FN(MOV_64) {
    SASS_ROWS
    EACH_LANE {
        const uint32_t low = ra[lane], high = ra[lane + 32];
        d[lane] = SASS_KEEP(d[lane], low);
        d[lane + 32] = SASS_KEEP(d[lane + 32], high);
    }
}

/* The sum of three terms, as a card adds them: of a negated one ~x and 1, so that -0 carries. The
 * carries are those out of 32 bits, and out of 33; few instructions ask for them. */
SASS_FN(IADD3) {
    SASS_ROWS
    if (sass_plain(u, mask)) {
        EACH_LANE d[lane] = ra[lane] + rb[lane] + rc[lane];
        return;
    }
    const struct sign a = sign_of(u, SASS_NEG_A, SASS_INV_A),
                      b = sign_of(u, SASS_NEG_B, SASS_INV_B),
                      c = sign_of(u, SASS_NEG_C, SASS_INV_C);
    const uint32_t x = sass_mod(u, 9, 1), p = x ? sass_read(u, w, SHIFT_PS0) : 0,
                   q = x ? sass_read(u, w, SHIFT_PS1) : 0, plus = a.plus + b.plus + c.plus;
    if (!(u->needs & NEED_PREDS)) {
        EACH_LANE {
            const uint32_t sum = (ra[lane] ^ a.flip) + (rb[lane] ^ b.flip) + (rc[lane] ^ c.flip);
            d[lane] = SASS_KEEP(d[lane], sum + plus + (p >> lane & 1) + (q >> lane & 1));
        }
        return;
    }
    uint32_t low[32], one[32], two[32];
    EACH_LANE {
        const uint64_t sum = (uint64_t)(ra[lane] ^ a.flip) + (rb[lane] ^ b.flip) +
                             (rc[lane] ^ c.flip) + plus + (p >> lane & 1) + (q >> lane & 1);
        low[lane] = (uint32_t)sum;
        one[lane] = sum >> 32 != 0;
        two[lane] = sum >> 33 != 0;
    }
    EACH_LANE d[lane] = SASS_KEEP(d[lane], low[lane]);
    sass_write(u, w, SHIFT_PD0, sass_lanes(one), mask);
    sass_write(u, w, SHIFT_PD1, sass_lanes(two), mask);
}

/* The sum of three pairs. */
SASS_FN(IADD3_64) {
    SASS_ROWS
    const struct sign a = sign_of(u, SASS_NEG_A, 0), b = sign_of(u, SASS_NEG_B, 0),
                      c = sign_of(u, SASS_NEG_C, 0);
    EACH_LANE {
        const uint64_t low = (uint64_t)(ra[lane] ^ a.flip) + (rb[lane] ^ b.flip) +
                             (rc[lane] ^ c.flip) + a.plus + b.plus + c.plus;
        const uint32_t high = (ra[lane + 32] ^ a.flip) + (rb[lane + 32] ^ b.flip) +
                              (rc[lane + 32] ^ c.flip) + (uint32_t)(low >> 32);
        d[lane] = SASS_KEEP(d[lane], (uint32_t)low);
        d[lane + 32] = SASS_KEEP(d[lane + 32], high);
    }
}

SASS_FN(VIADD) {
    SASS_ROWS
    if (sass_plain(u, mask)) {
        EACH_LANE d[lane] = ra[lane] + rb[lane];
        return;
    }
    const struct sign b = sign_of(u, SASS_NEG_B, 0);
    EACH_LANE d[lane] = SASS_KEEP(d[lane], ra[lane] + (rb[lane] ^ b.flip) + b.plus);
}

SASS_FN(IMAD) {
    SASS_ROWS
    if (sass_plain(u, mask)) {
        EACH_LANE d[lane] = ra[lane] * rb[lane] + rc[lane];
        return;
    }
    const struct sign a = sign_of(u, SASS_NEG_A, 0), b = sign_of(u, SASS_NEG_B, 0),
                      c = sign_of(u, SASS_NEG_C, SASS_INV_C);
    const uint32_t carry = sass_mod(u, 9, 1) ? sass_read(u, w, SHIFT_PS0) : 0;
    EACH_LANE {
        const uint32_t x = (ra[lane] ^ a.flip) + a.plus, y = (rb[lane] ^ b.flip) + b.plus,
                       z = (rc[lane] ^ c.flip) + c.plus;
        d[lane] = SASS_KEEP(d[lane], x * y + z + (carry >> lane & 1));
    }
}

/* 64 bits of the product and a pair; the carry is bit 64 of their sum, in which a negated pair is
 * ~c and 1, so that -0 carries. high: what a pair, or a single register, takes the high word of. */
static ALWAYS_INLINE void multiply(const struct uop *u, const struct lanes *w, uint32_t mask,
                                   uint32_t *low, uint32_t *high, const bool carries) {
    SASS_ROWS
    const bool is_unsigned = sass_mod(u, 9, 1);
    const struct sign a = sign_of(u, SASS_NEG_A, 0), b = sign_of(u, SASS_NEG_B, 0),
                      c = sign_of(u, SASS_NEG_C, SASS_INV_C);
    const uint64_t flip = (uint64_t)c.flip << 32 | c.flip;
    const uint32_t carry = sass_mod(u, 10, 1) ? sass_read(u, w, SHIFT_PS0) : 0;
    uint32_t over[32];
    EACH_LANE {
        const uint32_t x = (ra[lane] ^ a.flip) + a.plus, y = (rb[lane] ^ b.flip) + b.plus;
        const uint64_t product =
            is_unsigned ? (uint64_t)x * y : (uint64_t)((int64_t)(int32_t)x * (int32_t)y);
        const uint64_t third = ((uint64_t)rc[lane + 32] << 32 | rc[lane]) ^ flip;
        const uint64_t part = product + third, sum = part + c.plus + (carry >> lane & 1);
        if (carries) over[lane] = (part < product) | (sum < part);
        low[lane] = SASS_KEEP(low[lane], (uint32_t)sum);
        high[lane] = SASS_KEEP(high[lane], (uint32_t)(sum >> 32));
    }
    if (carries) sass_write(u, w, SHIFT_PD0, sass_lanes(over), mask);
}

SASS_FN(IMAD_WIDE) {
    uint32_t *const d = destination_row(w, u->d);
    if (u->needs & NEED_PREDS) multiply(u, w, mask, d, d + 32, true);
    else multiply(u, w, mask, d, d + 32, false);
}

SASS_FN(IMAD_HI) {
    uint32_t unwanted[32] = {0};
    multiply(u, w, mask, unwanted, destination_row(w, u->d), u->needs & NEED_PREDS);
}

/* a << q, or the word above it, and b. As in IADD3, of what is negated ~x and 1 are added, of the
 * shifted a as of b. */
SASS_FN(LEA) {
    SASS_ROWS
    const struct sign a = sign_of(u, SASS_NEG_A, SASS_INV_A),
                      b = sign_of(u, SASS_NEG_B, SASS_INV_B);
    const uint32_t x = sass_mod(u, 9, 1), high = sass_mod(u, 10, 1), extends = sass_mod(u, 11, 1),
                   carry = x ? sass_read(u, w, SHIFT_PS0) : 0, shift = u->q & 31u,
                   plus = a.plus + b.plus;
    uint32_t over[32];
    EACH_LANE {
        const uint32_t sign = ra[lane] >> 31 ? ~0u : 0, above = extends ? sign : rc[lane];
        const uint32_t upper = above << shift | ra[lane] >> 1 >> (31 - shift);
        const uint32_t first = (high ? upper : ra[lane] << shift) ^ a.flip;
        const uint32_t part = first + (rb[lane] ^ b.flip), sum = part + plus + (carry >> lane & 1);
        over[lane] = (part < first) | (sum < part);
        d[lane] = SASS_KEEP(d[lane], sum);
    }
    if (u->needs & NEED_PREDS) sass_write(u, w, SHIFT_PD0, sass_lanes(over), mask);
}

SASS_FN(LOP3) {
    SASS_ROWS
    const struct terms terms = sass_terms(u->q & 0xffu);
    if (!(u->needs & NEED_PREDS)) {
        EACH_LANE d[lane] = SASS_KEEP(d[lane], sass_lut3(ra[lane], rb[lane], rc[lane], terms));
        return;
    }
    uint32_t some[32];
    EACH_LANE {
        const uint32_t value = sass_lut3(ra[lane], rb[lane], rc[lane], terms);
        some[lane] = value != 0;
        d[lane] = SASS_KEEP(d[lane], value);
    }
    const uint32_t q = sass_read(u, w, SHIFT_PS0), any = sass_lanes(some);
    sass_write(u, w, SHIFT_PD0, sass_mod(u, 9, 1) ? any & q : any | q, mask);
}

/* The low word of a shift to the left, or the high one of a shift to the right: the other word has
 * no part in it. */
static ALWAYS_INLINE void shift_word(const struct uop *u, const struct lanes *w, uint32_t mask,
                                     uint32_t modulus, const bool right) {
    SASS_ROWS
    const bool is_signed = sass_mod(u, 12, 1);
    EACH_LANE {
        const uint32_t count = rb[lane] & modulus, by = count & 31,
                       word = right ? rc[lane] : ra[lane];
        const uint32_t sign = is_signed && word >> 31 ? ~0u : 0;
        const uint32_t shifted = right ? word >> by | (sign & ~(~0u >> by)) : word << by;
        d[lane] = SASS_KEEP(d[lane], count > 31 ? (right ? sign : 0) : shifted);
    }
}

/* hi:lo shifted; of 32 bits the count stops at 32, of 64 at 64, or wraps. The other word of a shift
 * of 32 bits to the left is that below. */
SASS_FN(SHF) {
    SASS_ROWS
    const bool right = sass_mod(u, 9, 1), wraps = sass_mod(u, 10, 1), high = sass_mod(u, 11, 1),
               is_signed = sass_mod(u, 12, 1), wide = sass_mod(u, 13, 1);
    const uint32_t most = wide ? 64 : 32, modulus = wraps ? most - 1 : ~0u;
    if (right && high) {
        shift_word(u, w, mask, modulus, true);
        return;
    }
    if (!right && !high) {
        shift_word(u, w, mask, modulus, false);
        return;
    }
    EACH_LANE {
        const uint64_t value = (uint64_t)rc[lane] << 32 | ra[lane];
        const uint32_t asked = rb[lane], count = wraps          ? asked & (most - 1)
                                                 : asked > most ? most
                                                                : asked;
        uint64_t shifted;
        if (!right) shifted = count > 63 ? 0 : value << count;
        else if (is_signed) shifted = (uint64_t)((int64_t)value >> (count > 63 ? 63 : count));
        else shifted = count > 63 ? 0 : value >> count;
        d[lane] = SASS_KEEP(d[lane], (uint32_t)(high ? shifted >> 32 : shifted));
    }
}

/* The comparison of the modifiers' number: below, equal, above as bits 1, 2, 4. */
SASS_FN(ISETP) {
    SASS_ROWS
    const uint32_t order = sass_mod(u, 9, 7), bias = sass_mod(u, 12, 1) ? 0 : 0x80000000u;
    uint32_t below[32], equal[32];
    EACH_LANE {
        below[lane] = (ra[lane] ^ bias) < (rb[lane] ^ bias);
        equal[lane] = ra[lane] == rb[lane];
    }
    const uint32_t lt = sass_lanes(below), eq = sass_lanes(equal), gt = ~(lt | eq);
    uint32_t holds = (order & 1 ? lt : 0) | (order & 2 ? eq : 0) | (order & 4 ? gt : 0);
    if (sass_mod(u, 15, 1) && order != 0 && order != 7)
        holds = (eq & sass_read(u, w, SHIFT_PS1)) | (~eq & holds);
    sass_compare(u, w, holds, sass_mod(u, 13, 3), mask);
}
