/* SPDX-License-Identifier: MIT */
#include "format/xentrace/record.h"

#include "base/macro.h"

/* Whether what can be seen of the window at AT is records, and at least MIN_RECORDS of them or all
 * that it has. */
static bool holds_records(const uint8_t *p, size_t len, size_t at, unsigned min_records)
{
    uint32_t size = load_le32(p + at + 8);
    size_t end;

    at += XENTRACE_WINDOW_HEADER_SIZE;
    end = at + MIN(len - at, (size_t)size);
    for (unsigned n = 0; at + 4 <= end; n++) {
        uint32_t header = load_le32(p + at);

        if (!xentrace_header_plausible(header))
            return false;
        if (n + 1 >= min_records)
            min_records = 0;
        at += xentrace_record_size(header);
    }
    return min_records == 0;
}

bool xentrace_recognise(const uint8_t *p, size_t len)
{
    size_t at;

    if (len < XENTRACE_WINDOW_HEADER_SIZE)
        return false;
    if (xentrace_window_plausible(p))
        return holds_records(p, len, 0, 0);
    /* The beginning may be missing; then there has to be more to go by. */
    at = xentrace_find_window(p, len, 0);
    return at < len && holds_records(p, len, at, 4);
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
