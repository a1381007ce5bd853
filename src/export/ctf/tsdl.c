/* SPDX-License-Identifier: MIT */
#include "export/ctf/tsdl.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "event/kernel_event.h"
#include "event/origin_flags.h"
#include "event/program.h"

void tsdl_put_quoted(struct text *text, const char *s)
{
    text_put_char(text, '"');
    for (const char *p = s; *p; p++) {
        unsigned char c = (unsigned char)*p;

        if (c == '"' || c == '\\') {
            text_put_char(text, '\\');
            text_put_char(text, (char)c);
        } else if (c < ' ' || c >= 0x7f || (c == '/' && p > s && p[-1] == '*')) {
            text_printf(text, "\\%03o", c);
        } else {
            text_put_char(text, (char)c);
        }
    }
    text_put_char(text, '"');
}

void tsdl_put_start(struct text *text, const struct clock *clock, int64_t offset_s)
{
    text_printf(text,
                "/* CTF 1.8 */\n"
                "\n"
                "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
                "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
                "typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
                "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
                "\n"
                "trace {\n"
                "    major = 1;\n"
                "    minor = 8;\n"
                "    byte_order = %s;\n"
                "    packet.header := struct {\n"
                "        uint32_t magic;\n"
                "        uint32_t stream_id;\n"
                "    };\n"
                "};\n"
                "\n"
                "clock {\n"
                "    name = \"strata\";\n"
                "    description = ",
                __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "le" : "be");
    tsdl_put_quoted(text, clock->name);
    text_printf(text,
                ";\n"
                "    freq = 1000000000;\n" /* export_ns() */
                "    offset_s = %" PRId64 ";\n"
                "};\n"
                "\n"
                "typealias integer { size = 64; align = 8; signed = false; map = "
                "clock.strata.value; } := time_t;\n"
                "\n"
                "env {\n"
                "    " TSDL_EXPORTED "\n"
                "    tracer_version = \"" STRATA_VERSION "\";\n",
                offset_s);
    if (clock->hz == 0)
        text_put_literal(text, "    time_unit = \"ticks of a rate that is not known\";\n");
}

void tsdl_put_source(struct text *text, unsigned number, const struct origin *origin,
                     uint64_t complete_from)
{
    text_printf(text, "    source_%u_layer = \"%s\";\n", number, layer_name(origin->layer));
    text_printf(text, "    source_%u_format = ", number);
    tsdl_put_quoted(text, origin->format);
    text_printf(text, ";\n    source_%u_path = ", number);
    tsdl_put_quoted(text, origin->path);
    text_put_literal(text, ";\n");
    if (complete_from != 0)
        text_printf(text, "    source_%u_complete_from = %" PRIu64 ";\n", number, complete_from);
    for (unsigned i = 0; origin_flag_names[i]; i++)
        if (origin_has_flag(origin, i))
            text_printf(text, "    source_%u_%s = 1;\n", number, origin_flag_names[i]);
}

void tsdl_put_stream(struct text *text, unsigned id, const struct origin *origin, bool cpus)
{
    text_printf(text,
                "\nstream {\n"
                "    id = %u;\n"
                "    packet.context := struct {\n"
                "        time_t timestamp_begin;\n"
                "        time_t timestamp_end;\n"
                "        uint64_t content_size;\n"
                "        uint64_t packet_size;\n"
                "        uint64_t packet_seq_num;\n"
                "        uint64_t events_discarded;\n"
                "        uint32_t source;\n"
                "%s"
                "    };\n"
                "    event.header := struct {\n"
                "        uint32_t id;\n"
                "        time_t timestamp;\n"
                "    };\n"
                "    event.context := struct {\n",
                id, cpus ? "        uint32_t cpu_id;\n" : "");
    if (ctf_has_thread(origin))
        text_put_literal(text, "        int32_t _tid;\n");
    if (origin->task_name)
        text_put_literal(text, "        string { encoding = UTF8; } _procname;\n");
    text_put_literal(text, "    };\n};\n");
}

/* Puts the name of field NUMBER as an identifier after a '_', which readers remove. So it may be any keyword of
 * TSDL. */
static void put_name(struct text *text, const struct event_class *class, unsigned number)
{
    const char *name = class->fields[number].name;
    bool again = false;

    text_put_char(text, '_');
    for (const char *p = name; *p; p++)
        text_put_char(text, isalnum((unsigned char)*p) ? *p : '_');
    for (unsigned i = 0; i < number && !again; i++) {
        const char *p = class->fields[i].name;
        const char *q = name;

        while (*p && *q &&
               (*p == *q || (!isalnum((unsigned char)*p) && !isalnum((unsigned char)*q))))
            p++, q++;
        again = *p == *q;
    }
    if (again)
        text_printf(text, "_%u", number);
}

void tsdl_put_integer(struct text *text, const struct field *field)
{
    text_printf(text, "integer { size = %u; align = 8; signed = %s; base = %u; } ",
                8 * ctf_scalar_size(field), field->type == FIELD_INT ? "true" : "false",
                (field->hex && field->type != FIELD_INT) || field->type == FIELD_POINTER ? 16U
                                                                                         : 10U);
}

bool tsdl_has_names(const struct event_class *class, unsigned field)
{
    const struct field *of = &class->fields[field];

    return of->storage == STORE_SCALAR && of->type != FIELD_FLOAT && of->type != FIELD_STRING &&
           of->type != FIELD_BYTES &&
           (class_may_name(class, field) || kernel_event_has_function(class, field));
}

void tsdl_put_names_type(struct text *text, const struct event_class *class, unsigned field)
{
    text_printf(text, "names_%u_%u", class->index, field);
}

static void put_field(struct text *text, const struct event_class *class, unsigned number)
{
    const struct field *field = &class->fields[number];

    switch (field->type) {
    case FIELD_STRING: text_put_literal(text, "        string { encoding = UTF8; } "); break;
    case FIELD_FLOAT:
        text_put_literal(text,
                         "        floating_point { exp_dig = 11; mant_dig = 53; align = 8; } ");
        break;
    case FIELD_BYTES:
        text_put_literal(text, "        uint32_t ");
        put_name(text, class, number);
        text_printf(text,
                    "_length;\n        integer { size = %u; align = 8; signed = %s; base = %u; } ",
                    8 * ctf_element_size(field), field->element_signed ? "true" : "false",
                    field_has_decimal_elements(field) ? 10U : 16U);
        break;
    default:
        text_put_literal(text, "        ");
        if (tsdl_has_names(class, number)) {
            tsdl_put_names_type(text, class, number);
            text_put_char(text, ' ');
        } else {
            tsdl_put_integer(text, field);
        }
    }
    put_name(text, class, number);
    if (field->type == FIELD_BYTES) {
        text_put_char(text, '[');
        put_name(text, class, number);
        text_put_literal(text, "_length]");
    }
    text_put_literal(text, "; /* type ");
    tsdl_put_quoted(text, field->c_type);
    text_put_literal(text, " */\n");
}

/* Puts "GROUP:NAME" as LTTng and perf do. A comment repeats the group, because names may contain colons. */
static void put_event_name(struct text *text, const struct event_class *class)
{
    struct text name = TEXT_IN_MEMORY;

    if (!class->group || !*class->group) {
        tsdl_put_quoted(text, class->name);
        text_put_literal(text, ";\n");
        return;
    }
    text_put_str(&name, class->group);
    text_put_char(&name, ':');
    text_put_str(&name, class->name);
    text_put_char(&name, '\0');
    if (name.error < 0)
        text->error = name.error;
    else
        tsdl_put_quoted(text, name.start);
    text_done(&name);
    text_put_literal(text, "; /* group ");
    tsdl_put_quoted(text, class->group);
    text_put_literal(text, " */\n");
}

void tsdl_put_class(struct text *text, unsigned id, unsigned stream,
                    const struct event_class *class, unsigned n_fields, bool vcpu)
{
    text_printf(text, "\nevent {\n    id = %u;\n    name = ", id);
    put_event_name(text, class);
    text_printf(text, "    stream_id = %u;\n", stream);
    if (class->program && class->format && !class->put_text) {
        text_put_literal(text, "    /* format ");
        tsdl_put_quoted(text, class->format);
        text_put_literal(text, " */\n");
    }
    if (vcpu)
        text_printf(text, "    context := struct {\n        %s _vcpu;\n    };\n",
                    class->origin->put_vcpu ? "string { encoding = UTF8; }" : "int32_t");
    text_put_literal(text, "    fields := struct {\n");
    for (unsigned i = 0; i < n_fields; i++)
        put_field(text, class, i);
    text_put_literal(text, "    };\n};\n");
}
