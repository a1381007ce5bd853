/* SPDX-License-Identifier: MIT */
#include "base/number.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"

/* One row of ten two-digit texts. */
#define ROW(t) t "0" t "1" t "2" t "3" t "4" t "5" t "6" t "7" t "8" t "9"

const char number_pairs[200] _nonstring_ =
    ROW("0") ROW("1") ROW("2") ROW("3") ROW("4") ROW("5") ROW("6") ROW("7") ROW("8") ROW("9");

#define TEN(M, ...)                                                                         \
    M(__VA_ARGS__, '0'), M(__VA_ARGS__, '1'), M(__VA_ARGS__, '2'), M(__VA_ARGS__, '3'),     \
        M(__VA_ARGS__, '4'), M(__VA_ARGS__, '5'), M(__VA_ARGS__, '6'), M(__VA_ARGS__, '7'), \
        M(__VA_ARGS__, '8'), M(__VA_ARGS__, '9')
#define ONE(n, a) \
    {             \
        {a}, n    \
    }
#define TWO(a, b) \
    {             \
        {a, b}, 2 \
    }
#define THREE(a, b, c) \
    {                  \
        {a, b, c}, 3   \
    }
#define TENS(a) TEN(TWO, a)
#define HUNDRED(a)                                                                      \
    TEN(THREE, a, '0'), TEN(THREE, a, '1'), TEN(THREE, a, '2'), TEN(THREE, a, '3'),     \
        TEN(THREE, a, '4'), TEN(THREE, a, '5'), TEN(THREE, a, '6'), TEN(THREE, a, '7'), \
        TEN(THREE, a, '8'), TEN(THREE, a, '9')

/* clang-format off */
const struct number_small number_small[NUMBER_SMALL] = {
    TEN(ONE, 1),
    TENS('1'), TENS('2'), TENS('3'), TENS('4'), TENS('5'), TENS('6'), TENS('7'), TENS('8'), TENS('9'),
    HUNDRED('1'), HUNDRED('2'), HUNDRED('3'), HUNDRED('4'), HUNDRED('5'), HUNDRED('6'), HUNDRED('7'),
    HUNDRED('8'), HUNDRED('9'),
};
/* clang-format on */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* Eight digits at a time: an address has fifteen, and one division per two digits makes a long
 * dependency chain. */
char *number_dec_long(char *p, uint64_t v)
{
    uint64_t high = v / NUMBER_DEC_SHORT;
    uint32_t low = (uint32_t)(v % NUMBER_DEC_SHORT);

    if (high < NUMBER_DEC_SHORT) {
        p = number_dec(p, high);
    } else {
        p = number_dec(p, high / NUMBER_DEC_SHORT);
        p = number_dec8(p, (uint32_t)(high % NUMBER_DEC_SHORT));
    }
    return number_dec8(p, low);
}
#endif

char *number_double(char *p, double v)
{
    char digits[NUMBER_MAX + 8];
    int n;

    for (int precision = 15; precision <= 17; precision++) {
        n = snprintf(digits, sizeof digits, "%.*g", precision, v);
        if (strtod(digits, NULL) == v)
            break;
    }
    memcpy(p, digits, (size_t)n);
    return p + n;
}
