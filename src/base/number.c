/* SPDX-License-Identifier: MIT */
#include "base/number.h"

#include "base/macro.h"

/* One row of ten two-digit texts. */
#define ROW(t) t "0" t "1" t "2" t "3" t "4" t "5" t "6" t "7" t "8" t "9"
#define HEX_ROW(t) ROW(t) t "a" t "b" t "c" t "d" t "e" t "f"

const char number_pairs[200] _nonstring_ =
    ROW("0") ROW("1") ROW("2") ROW("3") ROW("4") ROW("5") ROW("6") ROW("7") ROW("8") ROW("9");

const char number_hex_pairs[512] _nonstring_ = HEX_ROW("0") HEX_ROW("1") HEX_ROW("2") HEX_ROW("3")
    HEX_ROW("4") HEX_ROW("5") HEX_ROW("6") HEX_ROW("7") HEX_ROW("8") HEX_ROW("9") HEX_ROW("a")
        HEX_ROW("b") HEX_ROW("c") HEX_ROW("d") HEX_ROW("e") HEX_ROW("f");
