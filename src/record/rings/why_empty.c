/* SPDX-License-Identifier: MIT */
#include "record/rings/why_empty.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/suggest.h"
#include "record/rings/no_rings.h"

/* Whether COMMAND, as execvp() finds it, is a script, which may start anything. */
static bool is_script(const char *command)
{
    static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh", "python3", "perl"};
    const char *slash = strrchr(command, '/');
    _cleanup_(closep) int fd = slash ? open(command, O_RDONLY | O_CLOEXEC) : -1;
    char start[2];

    for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
        if (strcmp(slash ? slash + 1 : command, shells[i]) == 0)
            return true;
    return fd >= 0 && read(fd, start, sizeof start) == 2 && memcmp(start, "#!", 2) == 0;
}

/* The nearest event to one of the patterns, each a list with commas; NULL: none is near. */
static const char *find_near(const struct strings *patterns, const char *const *events)
{
    const char *near = NULL;

    for (unsigned i = 0; i < patterns->n && !near; i++) {
        _cleanup_free_ char *copy = strdup(patterns->items[i]);
        char *saved = NULL;

        for (char *one = copy ? strtok_r(copy, ",", &saved) : NULL; one && !near;
             one = strtok_r(NULL, ",", &saved))
            near = suggest_pattern(one, events);
    }
    return near;
}

static void put_no_match(const struct no_rings *report, const struct strings *patterns, char *buf,
                         size_t size)
{
    const char *near = find_near(patterns, report->events);
    char all[300] = "";

    for (unsigned i = 0; i < patterns->n; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? "," : "",
                 patterns->items[i]);
    if (patterns->n == 0)
        snprintf(buf, size, "STRATA_TRACE switches on none of the %u events of '%s'",
                 report->n_events, report->program);
    else if (near)
        snprintf(buf, size, "no event of '%s' matches '%s'; did you mean '%s'?", report->program,
                 all, near);
    else
        snprintf(buf, size, "no event of '%s' matches '%s' (it has %u events, for example '%s')",
                 report->program, all, report->n_events, report->events[0]);
}

static void put_reason(const struct no_rings *report, const struct strings *patterns, char *buf,
                       size_t size)
{
    if (!report->has_backend && report->n_events == 1)
        snprintf(buf, size,
                 "the event of '%s' does not go to a ring; generate its code by "
                 "'strata gen --backend=ring'",
                 report->program);
    else if (!report->has_backend)
        snprintf(buf, size,
                 "none of the %u events of '%s' goes to a ring; generate their code by "
                 "'strata gen --backend=ring'",
                 report->n_events, report->program);
    else if (report->lost > 0)
        snprintf(buf, size,
                 "%" PRIu64 " events of '%s' were lost because it could not create rings",
                 report->lost, report->program);
    else if (report->n_no_memory > 0)
        snprintf(buf, size, "'%s' had no memory to describe %u of its events, so they stayed off",
                 report->program, report->n_no_memory);
    else if (report->n_on == 0)
        put_no_match(report, patterns, buf, size);
    else if (report->n_on == 1)
        snprintf(buf, size, "the enabled event of '%s' did not occur%s", report->program,
                 report->n_conditions ? ", or did not meet its condition" : "");
    else
        snprintf(buf, size, "none of the %u enabled events of '%s' occurred%s", report->n_on,
                 report->program, report->n_conditions ? ", or met its condition" : "");
}

void record_put_unread(const struct programs *programs, char *buf, size_t size)
{
    char error[sizeof programs->unread.path + sizeof programs->unread.what + 16];

    error_print(&programs->unread, error, sizeof error);
    snprintf(
        buf, size,
        "the rings of '%s' could not be read: %s; 'strata recover -o DIR %s' saves what is in them",
        programs->main_command[0], error, programs->rings.path);
}

const char *record_nothing_reason(const struct programs *programs, const struct strings *patterns,
                                  char *buf, size_t size)
{
    const char *command = programs->main_command[0];
    struct no_rings report = {0};
    uint32_t n_processes;
    uint64_t events = programs_no_ring(programs, &n_processes);

    if (events > 0)
        snprintf(buf, size,
                 "%" PRIu64 " events of %" PRIu32
                 " process%s were lost, because the process%s could not create rings",
                 events, n_processes, n_processes == 1 ? "" : "es", n_processes == 1 ? "" : "es");
    else if (programs->unread.code)
        record_put_unread(programs, buf, size);
    else if (no_rings_read(programs->rings.path, &report) > 0)
        put_reason(&report, patterns, buf, size);
    else
        snprintf(buf, size,
                 "'%s' reported no events; a program has to be built with libstrata "
                 "(strata-gen(1))%s",
                 command,
                 is_script(command)
                     ? ", and of a script that starts QEMU --qemu=PROGRAM is required"
                     : "");
    no_rings_done(&report);
    return buf;
}
