/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "schema/kernel/text_compile.h"

int kernel_slots_plan(const char *p, uint8_t long_size, struct kernel_slot_layout *slots,
                      unsigned *ret_n)
{
    unsigned n = 0;

    for (; *p; p++) {
        struct kernel_slot_layout slot = {.kind = SLOT_NUMBER, .size = 4};
        const char *start;

        if (*p != '%')
            continue;
        start = ++p;
        for (; *p && strchr("#hlLzZ.0123456789-+ *", *p); p++) {
            if (*p == '*') {
                if (n == KERNEL_SLOTS_MAX)
                    return -EINVAL;
                slots[n++] = (struct kernel_slot_layout){.size = 4, .is_signed = true};
            }
        }
        switch (*p) {
        case '%': continue;
        case 's': slot.kind = SLOT_STRING; break;
        case 'p':
            slot.size = long_size;
            /* What these name is printed from the number; all else the kernel writes as text. */
            if ((p[1] >= 'a' && p[1] <= 'z') || (p[1] >= 'A' && p[1] <= 'Z'))
                slot.kind = strchr("sSxKefFB", p[1]) ? SLOT_NUMBER : SLOT_POINTER;
            break;
        case 'c': slot.size = 1; break;
        case 'd':
        case 'i':
            slot.is_signed = true;
            /* fall through */
        case 'u':
        case 'x':
        case 'X':
        case 'o':
            for (const char *q = start; q < p; q++) {
                if (*q == 'h')
                    slot.size = slot.size == 2 ? 1 : 2;
                else if (*q == 'l')
                    slot.size = q[1] == 'l' ? 8 : MAX(slot.size, long_size);
                else if (*q == 'z' || *q == 'Z')
                    slot.size = long_size;
                else if (*q == 'L')
                    slot.size = 8;
            }
            break;
        case '\0': return -EINVAL;
        default: continue;
        }
        if (n == KERNEL_SLOTS_MAX)
            return -EINVAL;
        slots[n++] = slot;
    }
    *ret_n = n;
    return 0;
}
