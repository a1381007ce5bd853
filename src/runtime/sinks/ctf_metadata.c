/* SPDX-License-Identifier: MIT */
#include "runtime/sinks/ctf_metadata.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/wide.h"
#include "runtime/events.h"
#include "runtime/format.h"

/* Writes a quoted string, with escapes for characters that TSDL's strings cannot contain and for the end of a comment
 * around it. */
static void put_quoted(FILE *f, const char *text)
{
    const char *start = text;

    putc('"', f);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(f, "\\%c", *text);
        else if ((unsigned char)*text < ' ' || (*text == '/' && text > start && text[-1] == '*'))
            fprintf(f, "\\%03o", (unsigned)(unsigned char)*text);
        else
            putc(*text, f);
    }
    putc('"', f);
}

static void put_start(FILE *f, const struct ctf_metadata *m)
{
    const uint8_t *u = m->uuid;
    struct utsname system;
    wide ticks, hz = wide_of_u64(m->clock_hz);
    int64_t offset_s;
    int64_t offset;

    fprintf(
        f,
        "/* CTF 1.8 */\n"
        "\n"
        "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
        "typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := text_t;\n"
        "typealias integer { size = 16; align = 64; signed = false; } := class_t;\n"
        "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
        "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
        "\n"
        "trace {\n"
        "    major = 1;\n"
        "    minor = 8;\n"
        "    uuid = \"%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x\";\n"
        "    byte_order = %s;\n"
        "    packet.header := struct {\n"
        "        uint32_t magic;\n"
        "        uint8_t uuid[16];\n"
        "        uint32_t stream_id;\n"
        "    };\n"
        "};\n"
        "\n",
        u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
        u[14], u[15], __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "le" : "be");

    fputs("env {\n    tracer_name = \"strata\";\n", f);
    fprintf(f, "    tracer_version = \"%s\";\n", STRATA_VERSION);
    if (uname(&system) == 0) {
        fputs("    hostname = ", f);
        put_quoted(f, system.nodename);
        fputs(";\n", f);
    }
    fputs("    procname = ", f);
    put_quoted(f, m->program);
    fprintf(f, ";\n    vpid = %ld;\n", (long)m->pid);
    /* A reading of the clock and the CLOCK_MONOTONIC of the same moment, for merging several traces on
     * one timeline. */
    fprintf(f, "    clock_ticks = %" PRIu64 ";\n", m->start.ticks);
    fprintf(f, "    clock_monotonic = %" PRId64 ";\n", m->start.monotonic);
    fprintf(f, "    clock_realtime = %" PRId64 ";\n};\n\n", m->start.realtime);

    /* When the clock was 0, in seconds of 1970 and ticks. */
    ticks = wide_div(wide_mul(wide_of(m->start.realtime), hz), wide_of(1000000000));
    ticks = wide_sub(ticks, wide_of_u64(m->start.ticks));
    offset_s = (int64_t)wide_low(wide_div(ticks, hz));
    offset = (int64_t)wide_low(wide_rem(ticks, hz));
    if (offset < 0) {
        offset += (int64_t)m->clock_hz;
        offset_s--;
    }
    fprintf(f,
            "clock {\n"
            "    name = \"%s\";\n"
            "    description = \"%s\";\n"
            "    freq = %" PRIu64 ";\n"
            "    offset_s = %" PRId64 ";\n"
            "    offset = %" PRId64 ";\n"
            "};\n"
            "\n",
            m->clock_kind == CLOCK_KIND_MONOTONIC ? "monotonic"
            : m->clock_kind == CLOCK_KIND_TSC     ? "tsc"
                                                  : "cntvct",
            m->clock_kind == CLOCK_KIND_MONOTONIC ? "CLOCK_MONOTONIC" : "the processor's counter",
            m->clock_hz, offset_s, offset);
}

static void put_stream(FILE *f, const struct ctf_metadata *m)
{
    const char *clock = m->clock_kind == CLOCK_KIND_MONOTONIC ? "monotonic"
                        : m->clock_kind == CLOCK_KIND_TSC     ? "tsc"
                                                              : "cntvct";

    fprintf(f,
            "typealias integer { size = 48; align = 8; signed = false; map = clock.%s.value; } := "
            "short_time_t;\n"
            "typealias integer { size = 64; align = 8; signed = false; map = clock.%s.value; } := "
            "time_t;\n"
            "\n"
            "stream {\n"
            "    id = 0;\n"
            "    packet.context := struct {\n"
            "        time_t timestamp_begin;\n"
            "        time_t timestamp_end;\n"
            "        uint64_t content_size;\n"
            "        uint64_t packet_size;\n"
            "        uint64_t packet_seq_num;\n"
            "        uint64_t events_discarded;\n"
            "        uint32_t pid;\n"
            "        uint32_t tid;\n"
            "        text_t thread_name[16];\n"
            "    };\n"
            "    event.header := struct {\n"
            "        class_t id;\n"
            "        short_time_t timestamp;\n"
            "    };\n"
            "};\n",
            clock, clock);
}

/* In which base field NUMBER is shown: as the format does. */
static unsigned base_of(const struct trace_class *class, unsigned number)
{
    unsigned argument = 0;

    if (class->fields[number].kind == STRATA_FIELD_POINTER)
        return 16;
    for (const char *p = class->format; p && (p = strchr(p, '%'));) {
        struct conversion c;
        const char *behind = conversion_parse(p + 1, &c);

        p = behind ? behind : p + 1;
        if (!behind || c.kind == '%')
            continue;
        argument += c.width == FROM_ARGUMENT ? 1 : 0;
        argument += c.precision == FROM_ARGUMENT ? 1 : 0;
        if (argument++ == number)
            return c.kind == 'x' || c.kind == 'X' || c.kind == 'p' ? 16 : c.kind == 'o' ? 8 : 10;
    }
    return 10;
}

/* The names of fields get a '_' in front, which readers take away: so they may be called as TSDL's own
 * words are. What TSDL has no words for, formats and types of C, stands in comments, as
 * format/ctf/tsdl/tsdl.h says. */
void ctf_metadata_put_class(FILE *f, const struct trace_class *class)
{
    fprintf(f, "\nevent {\n    id = %" PRIu32 ";\n    name = ", class->id);
    put_quoted(f, class->name);
    fputs(";\n    stream_id = 0;\n", f);
    if (class->format) {
        fputs("    /* format ", f);
        put_quoted(f, class->format);
        fputs(" */\n", f);
    }
    if (class->n_fields) {
        fputs("    fields := struct {\n", f);
        for (unsigned i = 0; i < class->n_fields; i++) {
            const struct strata_field *field = &class->fields[i];

            if (field->kind == STRATA_FIELD_STRING)
                fprintf(f, "        string { encoding = UTF8; } _%s; /* type ", field->name);
            else
                fprintf(f,
                        "        integer { size = %u; align = 8; signed = %s; base = %u; } _%s; "
                        "/* type ",
                        field->size * 8U, field->kind == STRATA_FIELD_SIGNED ? "true" : "false",
                        base_of(class, i), field->name);
            put_quoted(f, field->type);
            fputs(" */\n", f);
        }
        fputs("    };\n", f);
    }
    fputs("};\n", f);
}

void ctf_metadata_put_start(FILE *f, const struct ctf_metadata *metadata)
{
    put_start(f, metadata);
    put_stream(f, metadata);
}
