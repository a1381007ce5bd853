/* SPDX-License-Identifier: MIT */
#include "format/qemu_log/line.h"

#include <string.h>

#include "base/macro.h"
#include "event/clock.h"
#include "event/item.h"

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Exactly N digits at P, which are there; false when one is not a digit. */
static inline bool fixed_digits(const char *p, unsigned n, unsigned *ret)
{
    unsigned v = 0;

    for (unsigned i = 0; i < n; i++) {
        unsigned digit = (unsigned)(uint8_t)p[i] - '0';
        if (digit > 9)
            return false;
        v = v * 10 + digit;
    }
    *ret = v;
    return true;
}

/* Reads the number at P. Returns its end; NULL: no digits, or larger than MAX. */
static const char *number(const char *p, const char *end, uint64_t max, uint64_t *ret)
{
    const char *start = p;
    uint64_t v = 0;

    for (; p < end && is_digit(*p); p++) {
        v = v * 10 + (uint64_t)(*p - '0');
        if (v > max)
            return NULL;
    }
    *ret = v;
    return p > start ? p : NULL;
}

/* "USEC:" at P. */
static inline bool read_fraction(const char *p, const char *end, int64_t second,
                                 struct log_head *head)
{
    unsigned micro;

    if (end - p < 7 || p[6] != ':' || !fixed_digits(p, 6, &micro))
        return false;
    head->prefix = LOG_PREFIX_PID;
    head->time = second + (int64_t)micro * 1000;
    head->rest = p + 7;
    return true;
}

static bool read_pid_prefix(struct log_head_memory *memory, const char *p, const char *end,
                            struct log_head *head)
{
    const char *start = p;
    uint64_t pid, seconds;

    p = number(p, end, INT32_MAX, &pid);
    if (!p || p == end || *p++ != '@')
        return false;
    p = number(p, end, INT64_MAX / NANOSECONDS - 1, &seconds);
    if (!p || p == end || *p++ != '.')
        return false;
    if (!read_fraction(p, end, (int64_t)(seconds * NANOSECONDS), head))
        return false;
    head->pid = (int32_t)pid;

    memory->len = 0;
    if ((size_t)(p - start) <= sizeof memory->bytes) {
        memory->len = (unsigned)(p - start);
        memory->pid = head->pid;
        memory->time = (int64_t)(seconds * NANOSECONDS);
        memcpy(memory->bytes, start, memory->len);
    }
    return true;
}

/* Days from 1970-01-01 to a day of the Gregorian calendar. A year is counted from March, so that the
 * leap day is its last. */
static int64_t days_from_date(int64_t year, unsigned month, unsigned day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = y / 400;
    int64_t of_era = y % 400;
    int64_t of_year = (153 * (int64_t)(month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* "2025-10-01T12:34:56.123456Z " */
static bool read_iso_prefix(const char *p, const char *end, struct log_head *head)
{
    unsigned year, month, day, hour, minute, second, micro = 0;
    int64_t seconds;

    if (end - p < 21 || p[4] != '-' || p[7] != '-' || p[10] != 'T' || p[13] != ':' ||
        p[16] != ':' || !fixed_digits(p, 4, &year) || !fixed_digits(p + 5, 2, &month) ||
        !fixed_digits(p + 8, 2, &day) || !fixed_digits(p + 11, 2, &hour) ||
        !fixed_digits(p + 14, 2, &minute) || !fixed_digits(p + 17, 2, &second))
        return false;
    if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60 ||
        year < 1970 || year > 2261)
        return false;
    p += 19;
    if (*p == '.') {
        if (end - p < 9 || !fixed_digits(p + 1, 6, &micro))
            return false;
        p += 7;
    }
    if (end - p < 2 || p[0] != 'Z' || p[1] != ' ')
        return false;

    seconds = days_from_date(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    head->prefix = LOG_PREFIX_ISO;
    head->time = seconds * NANOSECONDS + (int64_t)micro * 1000;
    head->rest = p + 2;
    return true;
}

void log_head_read(struct log_head_memory *memory, const char *p, const char *end,
                   struct log_head *ret_head)
{
    *ret_head = (struct log_head){.pid = PID_UNKNOWN, .rest = p};
    if (p == end || !is_digit(*p))
        return;
    if (likely(memory->len && (size_t)(end - p) > memory->len &&
               memcmp(p, memory->bytes, memory->len) == 0) &&
        likely(read_fraction(p + memory->len, end, memory->time, ret_head))) {
        ret_head->pid = memory->pid;
        return;
    }
    if (!read_pid_prefix(memory, p, end, ret_head))
        read_iso_prefix(p, end, ret_head);
}

/* "X ", where X ends with CLOSE; NULL when there is none. */
static const char *skip_past(const char *p, const char *end, char close)
{
    const char *q = memchr(p, close, (size_t)(end - p));

    return q && end - q > 2 && q[1] == ' ' ? q + 2 : NULL;
}

const char *log_head_skip_context(const char *p, const char *end, int32_t *pid)
{
    const char *q = p;
    uint64_t tid;

    if (q < end && *q == '[') {
        q = skip_past(q, end, ']');
        if (!q)
            return NULL;
    }
    if (q < end && *q != '(') {
        const char *colon = skip_past(q, end, ':');
        if (colon && !memchr(q, ' ', (size_t)(colon - 1 - q)))
            q = colon;
    }
    if (q < end && *q == '(') {
        const char *after = number(q + 1, end, INT32_MAX, &tid);
        const char *close = memchr(q, ')', (size_t)(end - q));

        if (!after || after == end || *after != ':' || !close || end - close < 3 ||
            close[1] != ':' || close[2] != ' ')
            return NULL;
        *pid = (int32_t)tid;
        q = close + 3;
    }
    return q > p ? q : NULL;
}

size_t log_head_name(const char *p, const char *end)
{
    const char *q = p;

    if (p == end || is_digit(*p))
        return 0;
    while (q < end && is_word(*q))
        q++;
    return q == end || *q == ' ' ? (size_t)(q - p) : 0;
}
