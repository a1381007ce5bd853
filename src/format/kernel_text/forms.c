/* SPDX-License-Identifier: MIT */
#include "format/kernel_text/forms.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "event/item.h"
#include "format/kernel_text/fields.h"
#include "format/kernel_text/line.h"

#define FORM_LINES 64u

static bool begins(const char *text, size_t len, const char *with)
{
    size_t n = strlen(with);

    return len >= n && memcmp(text, with, n) == 0;
}

bool kernel_form_is_no_event(const char *text, size_t len)
{
    static const char *const lines[] = {
        "cpus=",
        "version =",
        "trace-cmd ",
        "TRACE:",
        /* Of the option -w. */
        "Average wakeup latency: ",
        "Maximum Latency: ",
        "Minimum Latency: ",
        "RT task timings:",
        /* Of -V, and of its long name, --verbose. */
        "registering plugin: ",
        "overriding event (",
        "removing override handler for event (",
    };

    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        if (begins(text, len, lines[i]))
            return true;
    return false;
}

/* "# nop latency trace v1.1.5 on 6.18.0". */
static bool is_latency_format(const char *text, size_t len)
{
    return len > 0 && *text == '#' && memmem(text, len, " latency trace v", 16);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

/* How many signs IS_ONE that TEXT begins with, and the blank after them; 0: there is none of these, or no blank. */
static size_t word(const char *text, size_t len, bool (*is_one)(char c))
{
    size_t n = 0;

    while (n < len && is_one(text[n]))
        n++;
    return n > 0 && n < len && text[n] == ' ' ? n + 1 : 0;
}

/* The option of ftrace, "raw", "hex" or "bin", by which the line has thread, CPU and time as numbers, and no name of the event:
 * "44 1 2552952676970 type: 275", "0000002c 00000001 0000025267d6626a type: 275", or their bytes. NULL: none. */
static const char *option_of(const char *text, size_t len)
{
    bool is_binary = memchr(text, '\0', len);
    size_t first = word(text, len, is_digit), second = 0, third = 0;
    bool is_raw;

    if (first)
        second = word(text + first, len - first, is_digit);
    if (second)
        third = word(text + first + second, len - first - second, is_digit);
    is_raw = third > 0 &&
             (text[first + second + third] == '#' ||
              begins(text + first + second + third, len - first - second - third, "type: "));
    /* All digits of a line in hexadecimal may be decimal ones. */
    if (is_raw && !(first == 9 && second == 9 && third == 17))
        return "raw";
    if (word(text, len, is_hex) == 9 && word(text + 9, len - 9, is_hex) == 9 &&
        word(text + 18, len - 18, is_hex) == 17)
        return "hex";
    return is_binary && memmem(text, len, "type: ", 6) ? "bin" : NULL;
}

/* "FILE: cpus=2". */
static bool is_of_several_files(const char *text, size_t len)
{
    const char *cpus = memmem(text, len, ": cpus=", 7);

    while (len > 0 && *text == ' ') {
        text++;
        len--;
    }
    return cpus > text && !memchr(text, ' ', (size_t)(cpus - text));
}

/* True if the line names an event whose fields are known to fields.h: "sched:sched_switch:". */
static bool names_known_event(const char *text, size_t len)
{
    const char *end = text + len;

    while (text < end) {
        const char *blank = memchr(text, ' ', (size_t)(end - text));
        const char *word_end = blank ? blank : end;
        const char *colon = memchr(text, ':', (size_t)(word_end - text));
        const char *group;

        if (colon && word_end - colon > 2 && word_end[-1] == ':') {
            group = kernel_pattern_group_of(colon + 1, (size_t)(word_end - colon - 2));
            if (group && strlen(group) == (size_t)(colon - text) &&
                memcmp(group, text, strlen(group)) == 0)
                return true;
        }
        text = word_end + (blank != NULL);
    }
    return false;
}

/* Whether LINE is an event that has fields, and perf printed none of them: nothing, or the address only. */
static bool has_no_fields(const struct kernel_line *line)
{
    size_t digits = 0;

    if (!kernel_pattern_group_of(line->name, line->name_len))
        return false;
    while (digits < line->text_len && memchr("0123456789abcdef", line->text[digits], 16))
        digits++;
    return line->text_len == 0 ||
           (digits >= 8 && (digits == line->text_len || line->text[digits] == ' '));
}

#define USE "; use perf script without -F, or with -F comm,tid,cpu,time,event,trace"

/* The option of function_graph that is off, so that lines do not have what a head of it names otherwise. NULL: none. */
static const char *graph_option_of(const char *text, size_t len)
{
    if (len == 0 || *text != '#' || !memmem(text, len, "FUNCTION CALLS", 14))
        return NULL;
    if (!memmem(text, len, "CPU", 3))
        return "funcgraph-cpu";
    return memmem(text, len, "DURATION", 8) ? NULL : "funcgraph-duration";
}

/* "sys_exit: NR 257 = 3": the event alone, as without the option context-info. */
static bool is_without_context(const char *text, size_t len)
{
    size_t n = 0;

    while (n < len && (is_digit(text[n]) || (text[n] >= 'a' && text[n] <= 'z') || text[n] == '_'))
        n++;
    return n > 0 && n + 1 < len && text[n] == ':' && text[n + 1] == ' ';
}

const char *kernel_form_refused(const char *head, size_t n, char *message, size_t size)
{
    bool is_of_tracer = begins(head, n, "# tracer: ");
    const char *p = head;
    const char *option;
    const char *end = head + n;
    int64_t before = TIME_UNKNOWN;
    bool begins_at_0 = false;

    for (unsigned lines = 0; p < end && lines < FORM_LINES; lines++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        size_t len = (size_t)((newline ? newline : end) - p);
        struct kernel_line line;

        /* A header may have any number of lines. */
        lines -= len > 0 && *p == '#' && lines > 0;
        if (is_latency_format(p, len))
            return "the tracer's option latency-format wrote it, which is not read; 'echo 0 "
                   ">/sys/kernel/tracing/options/latency-format' and read the trace again";
        option = option_of(p, len);
        if (option && before == TIME_UNKNOWN) {
            snprintf(message, size,
                     "text with the tracer's option %s is not read, because it has no names of "
                     "events; 'echo 0 >/sys/kernel/tracing/options/%s' and read the trace again",
                     option, option);
            return message;
        }
        if (is_of_tracer && begins(p, len, "# tracer: blk"))
            return "the tracer blk wrote it, which is not read; 'echo 1 "
                   ">/sys/kernel/tracing/events/block/enable' with the tracer nop traces the same";
        option = is_of_tracer ? graph_option_of(p, len) : NULL;
        if (!option && is_of_tracer && before == TIME_UNKNOWN && newline &&
            is_without_context(p, len))
            option = "context-info";
        if (option) {
            snprintf(message, size,
                     "without the tracer's option %s, lines say too little to be read; 'echo 1 "
                     ">/sys/kernel/tracing/options/%s' and read the trace again",
                     option, option);
            return message;
        }
        if (is_of_several_files(p, len))
            return "trace-cmd report printed several files, whose CPUs have the same numbers; use "
                   "it for one file, or give the files to strata";
        if (kernel_line_read(p, len, &line)) {
            if (line.kind == KERNEL_TEXT_PERF && !line.is_record && has_no_fields(&line))
                return "the lines of perf script have no fields of events" USE;
            begins_at_0 |= before == TIME_UNKNOWN && line.time == 0;
            if (begins_at_0 && line.kind == KERNEL_TEXT_PERF && line.time < before)
                return "perf script --deltatime printed it: times are those since the event "
                       "before; use perf script without --deltatime";
            before = line.time;
        } else if (before == TIME_UNKNOWN && len > 0 && *p != '#' && newline) {
            if (names_known_event(p, len))
                return "the lines of perf script have no times" USE;
            if (kernel_line_is_nameless(p, len))
                return "the lines of perf script have no names of events" USE;
        }
        p += len + 1;
    }
    return NULL;
}
