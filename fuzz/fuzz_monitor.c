/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "strata/monitor.h"
#include "strata/trace.h"

/* The first byte chooses the dialect and in what pieces the rest comes. What is said must not depend on
 * the pieces; in QMP each line is JSON.
 *
 * In the place of libstrata stands what remembers states: inputs name files, and must not write them. */

static uint8_t states[4];
static struct strata_event events[4] = {
    {.name = "disk_read", .state = &states[0], .compiled_in = true, .id = 1},
    {.name = "disk_write", .state = &states[1], .compiled_in = true, .id = 2},
    {.name = "a", .state = &states[2], .compiled_in = true, .id = 3},
    {.name = "disk_none", .state = &states[3], .id = 4},
};

static bool match(const char *pattern, const char *name)
{
    if (*pattern == '*')
        return match(pattern + 1, name) || (*name && match(pattern, name + 1));
    if (!*name)
        return !*pattern;
    return (*pattern == '?' || *pattern == *name) && match(pattern + 1, name + 1);
}

int strata_event_foreach(const char *pattern,
                         int (*function)(const struct strata_event *event, void *userdata),
                         void *userdata)
{
    int r = 0;

    if (strlen(pattern) > 64) /* this matching is for short ones */
        return 0;
    for (unsigned i = 0; i < 4 && r == 0; i++)
        if (match(pattern, events[i].name))
            r = function(&events[i], userdata);
    return r;
}

int strata_event_set_state(const char *pattern, bool on)
{
    int n = 0;

    if (strlen(pattern) > 64)
        return 0;
    for (unsigned i = 0; i < 3; i++)
        if (match(pattern, events[i].name)) {
            states[i] = on;
            n++;
        }
    return n;
}

void strata_trace_file_use_default(void)
{
}

int strata_trace_file_set_enabled(bool on)
{
    return on ? -EACCES : 0;
}

int strata_trace_file_set(const char *path)
{
    return *path == '/' ? -ENOENT : 0;
}

int strata_trace_file_get(char **ret_path, bool *ret_on)
{
    *ret_path = strdup("/trace");
    if (!*ret_path)
        return -ENOMEM;
    if (ret_on)
        *ret_on = true;
    return 0;
}

int strata_trace_show(unsigned max, void (*function)(const char *line, void *userdata),
                      void *userdata)
{
    if (states[0])
        return -EAGAIN;
    function("1@2.000003:disk_read", userdata);
    return max > 0;
}

int strata_trace_flush(void)
{
    return -EIO;
}

int strata_trace_opt_parse(const char *options)
{
    return strstr(options, ",,") ? -ENOENT : 0;
}

struct said {
    char *text;
    size_t len;
};

static void on_write(const void *bytes, size_t n, void *userdata)
{
    struct said *said = userdata;
    char *text = realloc(said->text, said->len + n);

    if (!text)
        abort();
    memcpy(text + said->len, bytes, n);
    said->text = text;
    said->len += n;
}

static struct said run(enum strata_monitor_dialect dialect, const uint8_t *data, size_t size,
                       size_t piece)
{
    static const char negotiate[] = "{'execute':'qmp_capabilities'}";
    struct strata_monitor_session *session;
    struct said said = {0};

    memset(states, 0, sizeof(states));
    if (strata_monitor_session_new(dialect, "fuzz", NULL, on_write, &said, &session) < 0)
        abort();
    if (dialect == STRATA_MONITOR_QMP)
        strata_monitor_session_feed(session, negotiate, sizeof(negotiate) - 1);
    while (size) {
        size_t n = size < piece ? size : piece;

        if (strata_monitor_session_feed(session, data, n) < 0)
            abort();
        data += n;
        size -= n;
    }
    strata_monitor_session_free(session);
    return said;
}

static void check_lines(const struct said *said)
{
    const char *at = said->text;
    const char *end = at + said->len;

    while (at < end) {
        const char *line_end = memmem(at, (size_t)(end - at), "\r\n", 2);
        json_t *value;

        if (!line_end)
            abort();
        value = json_loadb(at, (size_t)(line_end - at), JSON_ALLOW_NUL, NULL);
        if (!json_is_object(value))
            abort();
        json_decref(value);
        at = line_end + 2;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum strata_monitor_dialect dialect;
    struct said whole;
    struct said pieces;

    if (size == 0)
        return 0;
    dialect = data[0] & 1 ? STRATA_MONITOR_QMP : STRATA_MONITOR_HMP;
    whole = run(dialect, data + 1, size - 1, SIZE_MAX);
    pieces = run(dialect, data + 1, size - 1, (size_t)(data[0] >> 1) + 1);
    if (whole.len != pieces.len || memcmp(whole.text, pieces.text, whole.len) != 0)
        abort();
    if (dialect == STRATA_MONITOR_QMP)
        check_lines(&whole);
    free(whole.text);
    free(pieces.text);
    return 0;
}
