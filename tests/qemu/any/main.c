/* SPDX-License-Identifier: MIT */
/* Calls every event of the stand-in, off and on, in C and in C++. */
#include "qemu/osdep.h"

#include "qemu/log-for-trace.h"
#include "standin.h"
#include "trace-standin.h"

#ifdef STANDIN_VCPU_IDS
#include "trace-root.h"
#endif
#ifdef WITH_MESSAGE
#include "qemu/error-report.h"
#endif

void call_from_cplusplus(void);

static void call_all(void)
{
    static char text[600];

    memset(text, 'x', sizeof text - 1);
    trace_plain();
    trace_numbers(-1, 4000000000U, INT64_MIN, 255, true, 7);
    trace_words("one", (void *)0x10, "");
    trace_words(text, NULL, "two");
    trace_pointers((const void *)0x20, (const char **)0x30, (uint32_t *)0x40);
    trace_keywords(1, 2, 3);
    trace_silent(5);
    trace_absent(6);
    trace_ten(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
}

#ifdef STANDIN_VCPU_IDS
static void call_vcpu(void)
{
    CPUState on = {.trace_dstate = {~0UL}}, off = {.trace_dstate = {0}};

    trace_guest_step(&off);
    trace_guest_call(&off, 1, "off");
    trace_guest_absent(&on);
    trace_guest_call(&on, 2, "on");
}
#endif

/* With an argument: only with events off. */
int main(int argc, char **argv)
{
    unsigned n;

    (void)argv;
    setvbuf(stdout, NULL, _IONBF, 0);
    qemu_loglevel = LOG_TRACE;
    call_all();
    call_from_cplusplus();
    printf("off: %d %d\n", trace_event_get_state(TRACE_PLAIN),
           trace_event_get_state_backends(TRACE_PLAIN));

    if (argc > 1)
        return 0;
    standin_enable(true);
    printf("on: %d %d %d\n", trace_event_get_state(TRACE_PLAIN),
           trace_event_get_state_backends(TRACE_PLAIN),
           trace_event_get_state_backends(TRACE_ABSENT));
    call_all();
#ifdef STANDIN_VCPU_IDS
    call_vcpu();
#endif
#ifdef WITH_MESSAGE
    message_with_timestamp = true;
#endif
    call_from_cplusplus();
    qemu_loglevel = 0;
    trace_plain();
    n = standin_list();
    printf("%u events\n", n);
    return 0;
}
