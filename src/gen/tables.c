/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "gen/gen.h"

/* One line for each output format, gen/format/NAME.tmpl: the name, the same as an identifier, what it
 * cannot do without, what it is. The build takes from here which templates there are. */
#define FORMATS(FORMAT)                                                                        \
    FORMAT("c", c, GEN_NEEDS_GROUP, "C: the events' tables and registration")                  \
    FORMAT("d", d, 0, "DTrace's provider, for dtrace(1)")                                      \
    FORMAT("h", h, GEN_NEEDS_GROUP, "C: trace_NAME() and all that callers use")                \
    FORMAT("log-stap", log_stap, GEN_NEEDS_PREFIX, "SystemTap script that prints the events")  \
    FORMAT("rs", rs, GEN_NEEDS_GROUP, "Rust: trace_NAME()")                                    \
    FORMAT("simpletrace-stap", simpletrace_stap, GEN_NEEDS_PREFIX,                             \
           "SystemTap script that writes a simpletrace file")                                  \
    FORMAT("stap", stap, GEN_NEEDS_BINARY | GEN_NEEDS_PREFIX,                                  \
           "SystemTap tapset: the probes and their arguments by name")                         \
    FORMAT("tcg-h", tcg_h, GEN_NEEDS_GROUP, "QEMU before 7.2: calls while code is translated") \
    FORMAT("tcg-helper-c", tcg_helper_c, GEN_NEEDS_GROUP, "QEMU before 7.2: helpers, defined") \
    FORMAT("tcg-helper-h", tcg_helper_h, 0, "QEMU before 7.2: helpers, declared")              \
    FORMAT("tcg-helper-wrapper-h", tcg_helper_wrapper_h, 0,                                    \
           "QEMU before 7.2: calls of the helpers")                                            \
    FORMAT("ust-events-c", ust_events_c, 0, "LTTng-UST: the provider, defined")                \
    FORMAT("ust-events-h", ust_events_h, GEN_NEEDS_GROUP, "LTTng-UST: the provider, declared")

/* One line for each backend, gen/backend/NAME.tmpl, but for nop, which generates nothing. */
#define BACKENDS(BACKEND)                                                           \
    BACKEND("dtrace", dtrace, "static probes for SystemTap, bpftrace, gdb, DTrace") \
    BACKEND("ftrace", ftrace, "text into the kernel's ftrace buffer")               \
    BACKEND("log", log, "lines of text, to standard error or a file")               \
    BACKEND("ring", ring, "binary records in a ring per thread: Strata's own")      \
    BACKEND("simple", simple, "binary records in a simpletrace file")               \
    BACKEND("syslog", syslog, "text to syslog(3)")                                  \
    BACKEND("ust", ust, "LTTng-UST's tracepoints")

#define DECLARE_FORMAT(name, id, needs, summary) \
    extern const char gen_format_##id[];         \
    extern const size_t gen_format_##id##_len;
#define DECLARE_BACKEND(name, id, summary) \
    extern const char gen_backend_##id[];  \
    extern const size_t gen_backend_##id##_len;
FORMATS(DECLARE_FORMAT)
BACKENDS(DECLARE_BACKEND)

#define FORMAT_ROW(name, id, needs, summary) \
    {name, needs, "format/" name ".tmpl", gen_format_##id, &gen_format_##id##_len, summary},
#define BACKEND_ROW(name, id, summary) \
    {name, "backend/" name ".tmpl", gen_backend_##id, &gen_backend_##id##_len, summary},

const struct gen_format gen_formats[] = {FORMATS(FORMAT_ROW){NULL, 0, NULL, NULL, NULL, NULL}};
const struct gen_backend gen_backends[] = {
    {"nop", NULL, NULL, NULL, "nothing: the events are compiled out"},
    BACKENDS(BACKEND_ROW){NULL, NULL, NULL, NULL, NULL},
};

static bool is(const char *name, const char *s, size_t len)
{
    return strncmp(name, s, len) == 0 && name[len] == '\0';
}

const struct gen_format *gen_format_find(const char *name, size_t len)
{
    for (const struct gen_format *format = gen_formats; format->name; format++)
        if (is(format->name, name, len))
            return format;
    return NULL;
}

const struct gen_backend *gen_backend_find(const char *name, size_t len)
{
    for (const struct gen_backend *backend = gen_backends; backend->name; backend++)
        if (is(backend->name, name, len))
            return backend;
    return NULL;
}
