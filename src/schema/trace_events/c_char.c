/* SPDX-License-Identifier: MIT */
#include "schema/trace_events/c_char.h"

const uint8_t c_char_kinds[256] = {
    [1 ... 8] = C_CHAR_PLAIN,
    ['\t'] = C_CHAR_BLANK | C_CHAR_PLAIN,
    [10] = C_CHAR_PLAIN,
    ['\v' ... '\f'] = C_CHAR_BLANK | C_CHAR_PLAIN,
    [13 ... 31] = C_CHAR_PLAIN,
    [' '] = C_CHAR_BLANK | C_CHAR_PLAIN,
    ['!'] = C_CHAR_PLAIN,
    ['#' ... '/'] = C_CHAR_PLAIN,
    ['0' ... '9'] = C_CHAR_WORD | C_CHAR_PLAIN,
    [':' ... '@'] = C_CHAR_PLAIN,
    ['A' ... 'Z'] = C_CHAR_WORD | C_CHAR_PLAIN,
    ['['] = C_CHAR_PLAIN,
    [']' ... '^'] = C_CHAR_PLAIN,
    ['_'] = C_CHAR_WORD | C_CHAR_PLAIN,
    ['`'] = C_CHAR_PLAIN,
    ['a' ... 'z'] = C_CHAR_WORD | C_CHAR_PLAIN,
    ['{' ... 255] = C_CHAR_PLAIN,
};
