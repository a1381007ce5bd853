/* SPDX-License-Identifier: MIT */
/* Calls all events of tests/data/gen/trace-events, as C or C++, with the generated header in front of
 * all others. Prints what the states are; what the events do is left to the backends. */
#include "trace-gen.h"

#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
#define LANGUAGE "C++"
#else
#define LANGUAGE "C"
#endif

/* A name of the program's own that an event's argument has as well. */
int value = 1;

static void call_all(void)
{
    static const uint8_t bytes[2] = {1, 2};
    char text[] = "text";
    char *texts[] = {text, NULL};
    int i = 5;

    trace_nothing();
    trace_no_format(1, "b");
    trace_no_format_no_arguments();
    trace_number(-7);
    trace_numbers(true, 'c', -1, 255, -32768, 65535, -1, 4294967295U, -1L, 18446744073709551615UL);
    trace_fixed(-128, 255, -1, 0xffff, -1, 1, INT64_MIN, UINT64_MAX);
    trace_others(sizeof text, -1, 0xabc, -2, -3LL, 4ULL);
    trace_strings("a", text, "cut here");
    trace_pointers(NULL, NULL, NULL, NULL, NULL, NULL);
    if (value == 0)
        trace_pointers(&i, bytes, &i, bytes, texts, text);
    trace_stars(4, 2, 3, "abcdef");
    trace_escapes(1);
    trace_keywords(1, 2, 3, 4, 5);
    trace_disabled((uint64_t)i++, "never");
    trace_spaces(9, NULL);
    trace_Mixed_Case9(1, 2);
    trace_x(1);
    trace_x_backend(2);
}

/* What is prepared only where somebody wants it is compiled out with the event. */
static const char *costly(void)
{
    puts("costly");
    return "costly";
}

int main(int argc, char **argv)
{
    const struct strata_event *event = strata_event_find("disabled");

#if TRACE_DISABLED_ENABLED
#error "a disabled event is compiled in"
#endif
    if (trace_event_get_state(TRACE_DISABLED) || trace_event_get_state_backends(TRACE_DISABLED))
        trace_disabled(1, costly());

    printf("%s compiled in %d %d\n", LANGUAGE, TRACE_X_ENABLED, event && event->compiled_in);
    printf("before %d %d\n", trace_event_get_state(TRACE_X),
           trace_event_get_state_backends(TRACE_X));
    call_all();
    if (argc > 1)
        strata_event_set_state(argv[1], true);
    printf("on %d %d, x_backend %d\n", trace_event_get_state(TRACE_X),
           trace_event_get_state_backends(TRACE_X), trace_event_get_state(TRACE_X_BACKEND));
    fflush(stdout);
    call_all();
    strata_event_set_state("*", false);
    printf("after %d\n", trace_event_get_state(TRACE_X));
    fflush(stdout);
    call_all();
    return 0;
}
