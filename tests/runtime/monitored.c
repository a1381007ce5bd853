/* SPDX-License-Identifier: MIT */

/* A traced program with monitors, for their tests. It emits `serial_write` with 1, 2, 3..., one a
 * millisecond, until SIGTERM comes, or, with -e, until the last session has ended.
 *
 *     monitored [-m WHERE]... [-q WHERE]... [-t OPTIONS]... [-b BACKEND] [-n NAME] [-p PROMPT] [-l] [-e]
 *
 *     -m  the human monitor, -q  QMP, there     -b  ring, simple or log: what its events have
 *     -l  serves from its main loop instead of threads */

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/ring_emit.h"
#include "strata/monitor.h"
#include "strata/trace.h"

static uint8_t states[4];
static const struct strata_field fields[] = {{"value", "uint64_t", STRATA_FIELD_UNSIGNED, 8}};

#define EVENT(number, name_)                                                                     \
    {                                                                                            \
        .name = (name_), .format = "value %" PRIu64, .fields = fields, .state = &states[number], \
        .file = "monitored", .line = (number) + 1, .n_fields = 1, .compiled_in = (number) != 3,  \
    }

/* Names that QEMU has too, so that both can be asked the same. */
static struct strata_event events[4] = {
    EVENT(0, "serial_read"),
    EVENT(1, "serial_write"),
    EVENT(2, "serial_update_parameters"),
    EVENT(3, "never_compiled_in"),
};
static struct strata_group group = {STRATA_TRACE_ABI, 4, "monitored", events, NULL};

static volatile sig_atomic_t stopped;

static void on_term(int number)
{
    (void)number;
    stopped = 1;
}

static void emit(uint64_t value)
{
    struct strata_slot slot;
    uint8_t *at;

    if (!strata_event_is_on(&events[1]))
        return;
    at = ring_open(&slot, events[1].id, 8 + sizeof(value));
    if (!at)
        return;
    strata_ring_put(at, &value, sizeof(value));
    strata_ring_end(&slot);
}

static void fail(const char *what, int r)
{
    fprintf(stderr, "monitored: %s: %s\n", what, strerror(-r));
    exit(1);
}

int main(int argc, char **argv)
{
    struct strata_monitor *monitors[16];
    struct pollfd fds[16];
    const char *name = NULL;
    const char *prompt = NULL;
    const char *backend = "simple";
    unsigned n = 0;
    int loop = 0, end = 0, option, r;

    signal(SIGTERM, on_term);
    while ((option = getopt(argc, argv, "m:q:t:b:n:p:le")) != -1)
        if (option == 'b')
            backend = optarg;
    if (strcmp(backend, "log") != 0)
        strata_backend_register(strcmp(backend, "ring") == 0 ? STRATA_BACKEND_RING
                                                             : STRATA_BACKEND_SIMPLE);
    strata_group_register(&group);

    optind = 1;
    while ((option = getopt(argc, argv, "m:q:t:b:n:p:le")) != -1) {
        switch (option) {
        case 'm':
        case 'q':
            r = strata_monitor_new(option == 'm' ? STRATA_MONITOR_HMP : STRATA_MONITOR_QMP,
                                   &monitors[n]);
            if (r < 0)
                fail("strata_monitor_new", r);
            if (name && (r = strata_monitor_set_name(monitors[n], name)) < 0)
                fail(name, r);
            if (prompt && (r = strata_monitor_set_prompt(monitors[n], prompt)) < 0)
                fail(prompt, r);
            r = strata_monitor_listen(monitors[n], optarg);
            if (r < 0)
                fail(optarg, r);
            n++;
            break;
        case 't':
            r = strata_trace_opt_parse(optarg);
            if (r != 0)
                return r < 0;
            break;
        case 'b': break;
        case 'n': name = optarg; break;
        case 'p': prompt = optarg; break;
        case 'l': loop = 1; break;
        case 'e': end = 1; break;
        default: return 2;
        }
    }
    for (unsigned i = 0; i < n; i++) {
        if (!loop && (r = strata_monitor_start(monitors[i])) < 0)
            fail("strata_monitor_start", r);
        fds[i] = (struct pollfd){.fd = strata_monitor_get_fd(monitors[i]), .events = POLLIN};
    }

    for (uint64_t value = 1; !stopped; value++) {
        int sessions = 0;

        emit(value);
        if (!loop) {
            usleep(1000);
            continue;
        }
        (void)poll(fds, n, 1);
        for (unsigned i = 0; i < n; i++) {
            r = strata_monitor_dispatch(monitors[i]);
            if (r < 0)
                fail("strata_monitor_dispatch", r);
            sessions += r;
        }
        if (end && sessions == 0)
            break;
    }
    for (unsigned i = 0; i < n; i++)
        strata_monitor_free(monitors[i]);
    return 0;
}
