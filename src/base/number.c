/* SPDX-License-Identifier: MIT */
#include "base/number.h"

#include "base/macro.h"

/* One row of ten two-digit texts. */
#define ROW(t) t "0" t "1" t "2" t "3" t "4" t "5" t "6" t "7" t "8" t "9"

const char number_pairs[200] _nonstring_ =
    ROW("0") ROW("1") ROW("2") ROW("3") ROW("4") ROW("5") ROW("6") ROW("7") ROW("8") ROW("9");

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static inline char *put_8(char *p, uint32_t v)
{
    uint64_t digits = number_dec_8(v) | NUMBER_ZEROS;

    memcpy(p, &digits, sizeof digits);
    return p + sizeof digits;
}

/* Eight digits at a time: addresses have fifteen, and a division for each two of them is a long chain. */
char *number_dec_long(char *p, uint64_t v)
{
    uint64_t high = v / NUMBER_DEC_SHORT;
    uint32_t low = (uint32_t)(v % NUMBER_DEC_SHORT);

    if (high < NUMBER_DEC_SHORT) {
        p = number_dec(p, high);
    } else {
        p = number_dec(p, high / NUMBER_DEC_SHORT);
        p = put_8(p, (uint32_t)(high % NUMBER_DEC_SHORT));
    }
    return put_8(p, low);
}
#endif
