/* SPDX-License-Identifier: MIT */
#include "format/xentrace_record.h"

#include "base/macro.h"

bool xentrace_recognise(const uint8_t *p, size_t len)
{
    size_t at = XENTRACE_WINDOW_HEADER_SIZE;
    uint32_t header;

    if (len < XENTRACE_WINDOW_HEADER_SIZE || !xentrace_window_plausible(p))
        return false;
    /* The records that can be seen of the first window. */
    for (size_t end = MIN(len, at + load_u32(p + 8)); at + 4 <= end;
         at += xentrace_record_size(header)) {
        header = load_u32(p + at);
        if (!xentrace_header_plausible(header))
            return false;
    }
    return true;
}

size_t xentrace_find_window(const uint8_t *p, size_t len, size_t from)
{
    while (len >= XENTRACE_WINDOW_HEADER_SIZE && from <= len - XENTRACE_WINDOW_HEADER_SIZE) {
        const uint8_t *found = memchr(p + from, XENTRACE_WINDOW_HEADER & 0xff,
                                      len - XENTRACE_WINDOW_HEADER_SIZE + 1 - from);
        if (!found)
            return len;
        if (xentrace_window_plausible(found))
            return (size_t)(found - p);
        from = (size_t)(found - p) + 1;
    }
    return len;
}
