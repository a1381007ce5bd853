/* SPDX-License-Identifier: MIT */
#include "agent/control.h"

bool control_next(struct control *control, const uint8_t *p, size_t n, size_t *pos,
                  enum control_command *ret_command)
{
    while (*pos < n) {
        uint8_t c = p[(*pos)++];

        switch (c) {
        case '0': *ret_command = CONTROL_STOP; return true;
        case '1': *ret_command = CONTROL_START; return true;
        case '\0':
        case '\t':
        case '\n':
        case '\r':
        case ' ': break;
        default:
            if (control->n_unknown++ == 0)
                control->first_unknown = c;
        }
    }
    return false;
}
