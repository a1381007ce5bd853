/* SPDX-License-Identifier: MIT */
#include "base/number.h"

#include "base/macro.h"

/* One row of ten two-digit texts. */
#define ROW(t) t "0" t "1" t "2" t "3" t "4" t "5" t "6" t "7" t "8" t "9"

const char number_pairs[200] _nonstring_ =
    ROW("0") ROW("1") ROW("2") ROW("3") ROW("4") ROW("5") ROW("6") ROW("7") ROW("8") ROW("9");
