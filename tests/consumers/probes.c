/* SPDX-License-Identifier: MIT */
/* Calls every event of probes.trace-events with values that tests know, as often as the first argument
 * says, and waits that many milliseconds in between as the second one says. Prints which events it
 * found switched on from outside. */
#include "trace-probes.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SEEN(name)                                    \
    if (trace_event_get_state_backends(TRACE_##name)) \
    seen[TRACE_INDEX_##name] = true

enum { TRACE_INDEX_NOTHING, TRACE_INDEX_TEXTS, TRACE_INDEX_NEVER, N_SEEN };

static bool seen[N_SEEN];

/* Null pointers, as a compiler that sees one warns where it is printed. */
static const char *volatile no_text;
static char *volatile no_characters;

static void call_all(void)
{
    static const unsigned char bytes[] = "bytes";
    void *pointer = NULL;
    char other[] = "other";

    SEEN(NOTHING);
    SEEN(TEXTS);
    SEEN(NEVER);
    trace_nothing();
    trace_numbers(-8, 208, -1600, 65000, -320000, 0xdeadbeef, -64000000000, 0xfedcba9876543210,
                  true, 4096);
    trace_ten(1, -2, 3, -4, 5, -6, 7, -8, 9, -10);
    trace_texts("a name", other, (void *)0x1234, "address");
    trace_texts(no_text, no_characters, NULL, no_text);
    trace_words(1, 0x22, "self", 4, 5, 6, 7);
    trace_types(18446744073709551615ULL, 'c', bytes, &pointer, -1, 4000000000U, -5);
    trace_stars(6, "right", 3, "cut off");
    trace_never(1);
    trace_linux(7);
    trace_last__one(0xffffffff00000000, -1);
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1;
    int ms = argc > 2 ? atoi(argv[2]) : 0;
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};

    for (int i = 0; i < times; i++) {
        if (ms > 0)
            nanosleep(&pause, NULL);
        call_all();
    }
    printf("nothing %d texts %d never %d\n", seen[TRACE_INDEX_NOTHING], seen[TRACE_INDEX_TEXTS],
           seen[TRACE_INDEX_NEVER]);
    return 0;
}
