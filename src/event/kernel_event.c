/* SPDX-License-Identifier: MIT */
#include "event/kernel_event.h"

#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "base/macro.h"
#include "event/value.h"

/* LTTng's bits of what a request does. */
#define RWBS_WRITE 0x001
#define RWBS_DISCARD 0x002
#define RWBS_READ 0x004
#define RWBS_FLUSH 0x100

static const char *const rwbs_bits[] = {"W", "D", "R",     "A",   "B",       "S",
                                        "M", "E", "flush", "FUA", "preflush"};
const struct value_names kernel_event_rwbs_names = {
    .names = rwbs_bits, .n = ARRAY_SIZE(rwbs_bits), .bits = true};

/* Whether a tracer without groups may have written CLASS, of a kernel. */
static bool has_no_groups(const struct event_class *class)
{
    return !class->group &&
           (class->origin->layer == LAYER_GUEST || class->origin->layer == LAYER_HOST);
}

/* What follows PREFIX and "_" in NAME; NULL: it begins otherwise. */
static const char *skip_prefix(const char *name, const char *prefix)
{
    size_t len = strlen(prefix);

    return strncmp(name, prefix, len) == 0 && name[len] == '_' ? name + len + 1 : NULL;
}

unsigned kernel_event_aliases(const struct event_class *class, const char *group,
                              const char *pattern,
                              struct kernel_event_alias aliases[KERNEL_EVENT_ALIASES])
{
    const char *x86 = skip_prefix(class->name, "x86");
    const char *rest;
    unsigned n = 0;

    if (!has_no_groups(class)) {
        aliases[0] = (struct kernel_event_alias){pattern, class->name};
        return class->group && strcmp(class->group, group) == 0;
    }
    /* "*_entry" of irq_vectors is not any name with that end. */
    if (*pattern != '*')
        aliases[n++] = (struct kernel_event_alias){pattern, class->name};
    rest = skip_prefix(x86 ? x86 : class->name, group);
    if (rest)
        aliases[n++] = (struct kernel_event_alias){pattern, rest};
    rest = skip_prefix(class->name, "kvm_x86");
    if (rest && strcmp(group, "kvm") == 0 && strncmp(pattern, "kvm_", 4) == 0)
        aliases[n++] = (struct kernel_event_alias){pattern + 4, rest};
    return n;
}

bool kernel_event_is(const struct event_class *class, const char *group, const char *name)
{
    struct kernel_event_alias aliases[KERNEL_EVENT_ALIASES];
    unsigned n = kernel_event_aliases(class, group, name, aliases);

    for (unsigned i = 0; i < n; i++)
        if (glob_match(aliases[i].pattern, aliases[i].name))
            return true;
    return false;
}

const char *kernel_event_field_name(const struct event_class *class, const struct field *field,
                                    char buf[KERNEL_FIELD_NAME])
{
    size_t len = strlen(field->name);

    if (!has_no_groups(class) || len < 3 || len >= KERNEL_FIELD_NAME ||
        strcmp(field->name + len - 3, "tid") != 0 || (len > 3 && field->name[len - 4] != '_'))
        return field->name;
    memcpy(buf, field->name, len + 1);
    buf[len - 3] = 'p';
    return buf;
}

static int find_field(const struct event_class *class, const char *name, size_t len)
{
    char buf[KERNEL_FIELD_NAME];

    for (unsigned kernels = 0; kernels < 2; kernels++) {
        for (unsigned i = 0; i < class->n_fields; i++) {
            const char *own = kernels ? kernel_event_field_name(class, &class->fields[i], buf)
                                      : class->fields[i].name;

            if (strlen(own) == len && memcmp(own, name, len) == 0)
                return (int)i;
        }
    }
    return -1;
}

int kernel_event_field(const struct event_class *class, const char *name)
{
    int i = -1;

    while (name && i < 0) {
        size_t len = strcspn(name, "|");

        i = find_field(class, name, len);
        name = name[len] ? name + len + 1 : NULL;
    }
    return i;
}

char kernel_event_rwbs(const struct item *item, unsigned field)
{
    struct value value = item_value(item, field);

    if (!value.present)
        return 0;
    if (item->class->fields[field].storage == STORE_SCALAR)
        return value.u & RWBS_DISCARD ? 'D'
               : value.u & RWBS_READ  ? 'R'
               : value.u & RWBS_WRITE ? 'W'
               : value.u & RWBS_FLUSH ? 'F'
                                      : 'N';
    /* A flag before the direction says that the request flushes first. */
    if (value.len > 1 && value.s[0] == 'F' && value.s[1] != 'F')
        return value.s[1];
    return value.len > 0 ? value.s[0] : 0;
}
