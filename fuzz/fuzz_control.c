/* SPDX-License-Identifier: MIT */

/* Requests to the control socket, a line each, of a program with a few events: whatever is asked, the
 * reply is a status line and as many bytes as it says, all of them text in whole lines. Runs in an empty
 * directory, and passes over requests with a '/' in them, as they may write to any path. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/control/control.h"
#include "strata/ring.h"
#include "strata/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t states[3];
static const struct strata_field fields[] = {
    {"n", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
    {"s", "const char *", STRATA_FIELD_STRING, 0},
};
static struct strata_event events[] = {
    {"fuzz_one", "n %u s %s", fields, &states[0], "fuzz", 1, 0, 2, true},
    {"fuzz_two", NULL, fields, &states[1], "fuzz", 2, 0, 1, true},
    {"fuzz_off", NULL, NULL, &states[2], NULL, 3, 0, 0, false},
};
static struct strata_group group = {STRATA_TRACE_ABI, 3, "fuzz", events, NULL};

static char dir[] = "/tmp/strata-fuzz-control-XXXXXX";

static void leave(void)
{
    char command[sizeof(dir) + 16];

    snprintf(command, sizeof(command), "rm -rf %s", dir);
    if (chdir("/") < 0 || system(command) != 0) /* NOLINT(cert-env33-c): our own name */
        abort();
}

static void begin(void)
{
    static bool begun;

    if (begun)
        return;
    begun = true;
    if (!mkdtemp(dir) || chdir(dir) < 0 || setenv("XDG_RUNTIME_DIR", dir, 1) < 0 ||
        setenv("STRATA_CONTROL", "off", 1) < 0)
        abort();
    atexit(leave);
    strata_group_register(&group);
}

static void emit(void)
{
    struct strata_slot slot;
    const uint64_t n = 1;
    uint8_t *at;

    if (states[1] && (at = strata_ring_begin_slow(&slot, events[1].id, 16))) {
        (void)strata_ring_put(at, &n, sizeof(n));
        strata_ring_end(&slot);
    }
}

static void check(const char *reply, size_t len)
{
    const char *newline = memchr(reply, '\n', len);
    size_t body;

    if (!newline || (memcmp(reply, "ok ", 3) != 0 && memcmp(reply, "error ", 6) != 0))
        abort();
    body = len - (size_t)(newline + 1 - reply);
    while (newline[-1] != ' ')
        newline--;
    if (strtoul(newline, NULL, 10) != body || reply[len - 1] != '\n')
        abort();
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)reply[i] < ' ' && reply[i] != '\n')
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    begin();
    while (size > 0) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t len = end ? (size_t)(end - data) : size;
        size_t reply_len;
        char *reply;

        if (!memchr(data, '/', len) &&
            control_requests.answer((const char *)data, len, &reply, &reply_len) >= 0) {
            check(reply, reply_len);
            free(reply);
            emit();
        }
        data += len;
        size -= len;
        if (end) {
            data++;
            size--;
        }
    }
    return 0;
}
