/* SPDX-License-Identifier: MIT */
#include "format/xentrace/record.h"

#include "base/macro.h"

/* Whether what can be seen of the window at AT is records, and at least MIN_RECORDS of them or all
 * that it has. */
static bool holds_records(const uint8_t *p, size_t len, size_t at, unsigned min_records,
                          bool big_endian)
{
    uint32_t size = xentrace_load(p + at + 8, big_endian);
    size_t end;

    at += XENTRACE_WINDOW_HEADER_SIZE;
    end = at + MIN(len - at, (size_t)size);
    for (unsigned n = 0; at + 4 <= end; n++) {
        uint32_t header = xentrace_load(p + at, big_endian);

        if (!xentrace_header_plausible(header))
            return false;
        if (n + 1 >= min_records)
            min_records = 0;
        at += xentrace_record_size(header);
    }
    return min_records == 0;
}

static bool recognise(const uint8_t *p, size_t len, bool big_endian)
{
    size_t at;

    if (len < XENTRACE_WINDOW_HEADER_SIZE)
        return false;
    if (xentrace_window_plausible(p, big_endian))
        return holds_records(p, len, 0, 0, big_endian);
    /* The beginning may be missing; then there has to be more to go by. */
    at = xentrace_find_window(p, len, 0, big_endian);
    return at < len && holds_records(p, len, at, 4, big_endian);
}

bool xentrace_recognise(const uint8_t *p, size_t len)
{
    return recognise(p, len, false) || recognise(p, len, true);
}

bool xentrace_is_big_endian(const uint8_t *p, size_t len)
{
    bool big_endian = recognise(p, len, true);

    if (big_endian != recognise(p, len, false))
        return big_endian;
    return xentrace_find_window(p, len, 0, true) < xentrace_find_window(p, len, 0, false);
}

size_t xentrace_find_window(const uint8_t *p, size_t len, size_t from, bool big_endian)
{
    const int first = big_endian ? XENTRACE_WINDOW_HEADER >> 24 : XENTRACE_WINDOW_HEADER & 0xff;

    while (len >= XENTRACE_WINDOW_HEADER_SIZE && from <= len - XENTRACE_WINDOW_HEADER_SIZE) {
        const uint8_t *found =
            memchr(p + from, first, len - XENTRACE_WINDOW_HEADER_SIZE + 1 - from);
        if (!found)
            return len;
        if (xentrace_window_plausible(found, big_endian))
            return (size_t)(found - p);
        from = (size_t)(found - p) + 1;
    }
    return len;
}

void xentrace_words_to_le(uint8_t *p, size_t len)
{
    for (size_t at = 0; len - at >= 4; at += 4)
        store_le32(p + at, xentrace_load(p + at, true));
}
