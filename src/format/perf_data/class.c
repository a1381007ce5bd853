/* SPDX-License-Identifier: MIT */
/* Classes of what is not an event of the kernel's: samples of counters, and what perf itself reports. Their id is 0, as
 * no kernel has formats of them (event/kernel.h). */
#include <string.h>

#include "base/macro.h"
#include "format/perf_data/reader.h"

#define GROUP "perf"

static const struct event_class *add(struct perf_data *perf, const struct perf_origin *of,
                                     const char *name, const struct field *fields, unsigned n)
{
    struct event_class class = {.group = GROUP, .origin = &of->kernel.origin, .n_fields = n};
    struct event_class *made;

    class.name = arena_strdup(&perf->catalogue->arena, name);
    class.fields = arena_memdup(&perf->catalogue->arena, fields, MAX(n, 1u) * sizeof *fields);
    if (!class.name || !class.fields || catalogue_add(perf->catalogue, &class, &made) < 0)
        return NULL;
    return made;
}

/* An u64 of the sample at AT. */
static struct field number(const struct perf_data *perf, const char *name, uint16_t at)
{
    return (struct field){.name = name,
                          .c_type = "u64",
                          .type = FIELD_UINT,
                          .place = PLACE_FIXED,
                          .storage = STORE_SCALAR,
                          .offset = at,
                          .size = 8,
                          .swap = perf->swap};
}

static struct field address(const struct perf_data *perf, const char *name, uint16_t at)
{
    struct field field = number(perf, name, at);

    field.type = FIELD_POINTER;
    return field;
}

/* What ran, as the record says. */
static const struct value_names *get_cpumodes(void)
{
    static const char *const names[] = {"unknown",    "kernel",       "user",
                                        "hypervisor", "guest_kernel", "guest_user"};
    static const struct value_names cpumodes = {.names = names, .n = ARRAY_SIZE(names)};

    return &cpumodes;
}

/* The payload is what is fixed of the sample, a byte with the CPU mode, and then its call chain, or its raw bytes if it has
 * no chain. */
const struct event_class *perf_class_of_samples(struct perf_data *perf,
                                                const struct perf_attr *attr,
                                                const struct perf_origin *of)
{
    uint16_t varying = attr->fixed + 1;
    struct field fields[6];
    char name[256];
    unsigned n = 0;

    if (attr->ip != PERF_NOWHERE)
        fields[n++] = address(perf, "ip", attr->ip);
    if (attr->addr != PERF_NOWHERE)
        fields[n++] = address(perf, "addr", attr->addr);
    if (attr->period != PERF_NOWHERE)
        fields[n++] = number(perf, "period", attr->period);
    fields[n++] = (struct field){.name = "cpumode",
                                 .c_type = "u8",
                                 .type = FIELD_UINT,
                                 .place = PLACE_FIXED,
                                 .storage = STORE_SCALAR,
                                 .offset = attr->fixed,
                                 .size = 1,
                                 .names = get_cpumodes()};
    if (attr->sample_type & SAMPLE_CALLCHAIN) {
        fields[n++] = number(perf, "depth", varying);
        fields[n++] = (struct field){.name = "callchain",
                                     .c_type = "u64[]",
                                     .type = FIELD_BYTES,
                                     .place = PLACE_FIXED,
                                     .storage = STORE_SIZED,
                                     .offset = varying + 8u,
                                     .element = 8,
                                     .hex = true,
                                     .swap = perf->swap};
    } else if (attr->sample_type & SAMPLE_RAW) {
        fields[n++] = (struct field){.name = "raw",
                                     .c_type = "u8[]",
                                     .type = FIELD_BYTES,
                                     .place = PLACE_FIXED,
                                     .storage = STORE_TO_END,
                                     .offset = varying};
    }
    perf_attr_name(attr, name, sizeof name);
    return add(perf, of, name, fields, n);
}

/* The payload is the name of the event. */
static const struct event_class *make_throttle(struct perf_data *perf, const char *name)
{
    const struct field event = {.name = "event",
                                .c_type = "char[]",
                                .type = FIELD_STRING,
                                .place = PLACE_FIXED,
                                .storage = STORE_TO_END};

    return add(perf, perf->origin, name, &event, 1);
}

/* The payload: u8 out, u8 preempted, u32 at 4 process, u32 at 8 thread of the task before or after, if that is known. */
static const struct event_class *make_switch(struct perf_data *perf)
{
    static const struct field fields[] = {
        {.name = "out",
         .c_type = "bool",
         .type = FIELD_BOOL,
         .storage = STORE_SCALAR,
         .offset = 0,
         .size = 1},
        {.name = "preempt",
         .c_type = "bool",
         .type = FIELD_BOOL,
         .storage = STORE_SCALAR,
         .offset = 1,
         .size = 1},
        {.name = "next_prev_pid",
         .c_type = "s32",
         .type = FIELD_INT,
         .storage = STORE_SCALAR,
         .offset = 4,
         .size = 4,
         .optional = true},
        {.name = "next_prev_tid",
         .c_type = "s32",
         .type = FIELD_INT,
         .storage = STORE_SCALAR,
         .offset = 8,
         .size = 4,
         .optional = true},
    };

    return add(perf, perf->origin, "switch", fields, ARRAY_SIZE(fields));
}

const struct event_class *perf_class_own(struct perf_data *perf, enum perf_own_class which)
{
    const struct event_class **class = &perf->own[which];

    if (*class)
        return *class;
    switch (which) {
    case PERF_CLASS_THROTTLE: *class = make_throttle(perf, "throttle"); break;
    case PERF_CLASS_UNTHROTTLE: *class = make_throttle(perf, "unthrottle"); break;
    case PERF_CLASS_SWITCH: *class = make_switch(perf); break;
    }
    return *class;
}
