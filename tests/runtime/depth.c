/* SPDX-License-Identifier: MIT */

/* How much of a stack events need: each is the first of its process, in a signal handler on an alternate
 * stack that was painted before.
 *
 *     depth [-t OPTIONS]... [-l] CASE      prints "CASE BYTES"
 *
 *     -t  strata_trace_opt_parse()
 *     -l  closes all descriptors first, so that they have to be opened again
 *
 * Cases: ring, string, filter, log, ftrace, syslog, float; with the suffix "-again", the second event. */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/ring_emit.h"
#include "strata/trace.h"

enum { NUMBER, TEXT, EVENTS };

static uint8_t states[EVENTS];

static const struct strata_field number_fields[] = {
    {"id", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
};
static const struct strata_field text_fields[] = {
    {"name", "const char *", STRATA_FIELD_STRING, 0},
};

static struct strata_event events[EVENTS] = {
    {.name = "number",
     .format = "id %" PRIu64,
     .fields = number_fields,
     .state = &states[NUMBER],
     .file = "depth",
     .line = 1,
     .n_fields = 1,
     .compiled_in = true},
    {.name = "text",
     .format = "name %s",
     .fields = text_fields,
     .state = &states[TEXT],
     .file = "depth",
     .line = 2,
     .n_fields = 1,
     .compiled_in = true},
};

static struct strata_group group = {STRATA_TRACE_ABI, EVENTS, "depth", events, NULL};

static void __attribute__((constructor)) register_events(void)
{
    strata_ring_bind();
    strata_backend_register(STRATA_BACKEND_RING);
    strata_group_register(&group);
}

static void emit_number(uint64_t id)
{
    struct strata_slot slot;
    uint8_t *at = states[NUMBER] ? ring_open(&slot, events[NUMBER].id, 16) : NULL;

    if (!at)
        return;
    (void)strata_ring_put(at, &id, sizeof(id));
    strata_ring_end(&slot);
}

static void emit_text(const char *name)
{
    struct strata_slot slot;
    uint8_t *at = states[TEXT] ? ring_open(&slot, events[TEXT].id, 9) : NULL;

    if (at && ring_string(&slot, at, name))
        strata_ring_end(&slot);
}

static const char *volatile text = "some text that is not known when this is compiled";
static volatile double number = 1e300 / 3;
static enum { RING, STRING, FILTER, LOG, FTRACE, SYSLOG, FLOAT, CASES } which;
static const char *const case_names[CASES] = {"ring",   "string", "filter", "log",
                                              "ftrace", "syslog", "float"};
static unsigned char *volatile frame;

/* No call but those that are measured. */
static void __attribute__((noinline)) call(void)
{
    const uint64_t values[] = {(uintptr_t)text};

    switch (which) {
    case RING: emit_number(1); break;
    case STRING: emit_text(text); break;
    case FILTER:
        if (states[TEXT] != STRATA_STATE_ON && strata_filter_pass(&events[TEXT], values))
            emit_text(text);
        break;
    case LOG: strata_log("text %s number %d %#x", text, 12, 34); break;
    case FTRACE: strata_ftrace("text %s number %d %#x", text, 12, 34); break;
    case SYSLOG: strata_syslog("text %s number %d %#x", text, 12, 34); break;
    case FLOAT: strata_log("text %s number %f", text, number); break;
    default: break;
    }
}

static void on_signal(int signal)
{
    (void)signal;
    frame = __builtin_frame_address(0);
    call();
}

#define STACK_SIZE (256U << 10)
#define PAINT 0xa5

int main(int argc, char **argv)
{
    static unsigned char stack[STACK_SIZE];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    bool lose = false, again;
    size_t lowest = 0;
    int option;

    while ((option = getopt(argc, argv, "t:l")) != -1) {
        if (option == 'l')
            lose = true;
        else if (option != 't' || strata_trace_opt_parse(optarg) != 0)
            return 1;
    }
    if (argc - optind != 1)
        return 2;
    again = strstr(argv[optind], "-again") != NULL;
    for (which = 0; which < CASES; which++)
        if (strncmp(case_names[which], argv[optind], strlen(case_names[which])) == 0)
            break;
    if (which == CASES)
        return 2;
    sigaltstack(&alternate, NULL);
    sigaction(SIGUSR1, &action, NULL);
    if (again)
        raise(SIGUSR1);
    if (lose)
        for (int n = 3; n < 1024; n++)
            close(n);
    memset(stack, PAINT, sizeof(stack));
    raise(SIGUSR1);
    while (lowest < sizeof(stack) && stack[lowest] == PAINT)
        lowest++;
    printf("%s%s %zu\n", argv[optind], lose ? "-lost" : "", (size_t)(frame - (stack + lowest)));
    return 0;
}
