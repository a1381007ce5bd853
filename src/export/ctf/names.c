/* SPDX-License-Identifier: MIT */
#include "export/ctf/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/map.h"
#include "event/class_map.h"
#include "event/kernel_event.h"
#include "event/program.h"
#include "export/ctf/tsdl.h"

/* Values of a field; the names of further values are left out. */
#define NAMES_MAX 4096

struct field_names {
    unsigned field;
    bool has_recent;
    uint64_t recent;   /* the last value that was looked up */
    struct map values; /* name of each value; "": it has none */
    unsigned n;
};

struct ctf_class_names {
    const struct event_class *class; /* NULL: it has no event yet */
    struct field_names *fields;      /* those that may have names */
    unsigned n;
};

static int note_class(struct ctf_names *names, const struct event_class *class)
{
    struct ctf_class_names *made;

    if (class_map_grow(names->classes, names->n_classes, class) < 0)
        return -ENOMEM;
    made = &names->classes[class->index];
    made->fields = calloc(class->n_fields + 1u, sizeof *made->fields);
    if (!made->fields)
        return -ENOMEM;
    made->class = class;
    for (unsigned i = 0; i < class->n_fields; i++)
        if (tsdl_has_names(class, i))
            made->fields[made->n++].field = i;
    return 0;
}

/* Keeps the name of VALUE, which is new. */
static _cold_ int note_value(struct ctf_names *names, struct field_names *of,
                             const struct item *item, const struct value *value)
{
    struct text text = TEXT_IN_MEMORY;
    const char *name = "";
    int r;

    if (item_put_name(item, of->field, value, &text) ||
        kernel_event_put_function(item, of->field, value->u, &text))
        name = arena_strndup(&names->arena, text.start, text_len(&text));
    r = text.error || !name ? -ENOMEM : map_put(&of->values, value->u, (void *)name);
    text_done(&text);
    if (r >= 0)
        of->n++;
    return r;
}

int ctf_names_note(struct ctf_names *names, const struct item *item, const struct value *values)
{
    unsigned index = item->class->index;
    struct ctf_class_names *class;

    if (unlikely(index >= names->n_classes || !names->classes[index].class)) {
        int r = note_class(names, item->class);

        if (r < 0)
            return r;
    }
    class = &names->classes[index];
    for (unsigned i = 0; i < class->n; i++) {
        struct field_names *of = &class->fields[i];
        const struct value *value = &values[of->field];
        int r;

        if (!value->present || (of->has_recent && of->recent == value->u))
            continue;
        of->has_recent = true;
        of->recent = value->u;
        if (of->n >= NAMES_MAX || map_get(&of->values, value->u))
            continue;
        r = note_value(names, of, item, value);
        if (r < 0)
            return r;
    }
    return 0;
}

struct label {
    uint64_t value;
    const char *name;
};

static int compare_labels(const void *pa, const void *pb)
{
    const struct label *a = pa, *b = pb;

    return a->value < b->value ? -1 : a->value > b->value;
}

/* An enum of the values that have names, or an integer where none has. */
static void put_type(const struct event_class *class, const struct field_names *of,
                     struct text *text)
{
    const struct field *field = &class->fields[of->field];
    struct label *labels = calloc(of->n + 1u, sizeof *labels);
    unsigned n = 0;
    size_t iter = 0;
    uint64_t value;
    void *name;

    if (!labels) {
        text->error = -ENOMEM;
        return;
    }
    while (map_next(&of->values, &iter, &value, &name))
        if (*(const char *)name)
            labels[n++] = (struct label){value, name};
    qsort(labels, n, sizeof *labels, compare_labels);
    text_put_literal(text, "\ntypealias ");
    text_put_str(text, n ? "enum : " : "");
    tsdl_put_integer(text, field);
    for (unsigned i = 0; i < n; i++) {
        text_put_str(text, i ? ",\n    " : "{\n    ");
        tsdl_put_quoted(text, labels[i].name);
        if (field->type == FIELD_INT)
            text_printf(text, " = %" PRId64, (int64_t)labels[i].value);
        else
            text_printf(text, " = %" PRIu64, labels[i].value);
    }
    text_put_str(text, n ? "\n} := " : ":= ");
    tsdl_put_names_type(text, class, of->field);
    text_put_literal(text, ";\n");
    free(labels);
}

void ctf_names_put(const struct ctf_names *names, struct text *text)
{
    for (unsigned i = 0; i < names->n_classes; i++)
        for (unsigned k = 0; k < names->classes[i].n; k++)
            put_type(names->classes[i].class, &names->classes[i].fields[k], text);
}

void ctf_names_done(struct ctf_names *names)
{
    for (unsigned i = 0; i < names->n_classes; i++) {
        for (unsigned k = 0; k < names->classes[i].n; k++)
            map_done(&names->classes[i].fields[k].values);
        free(names->classes[i].fields);
    }
    free(names->classes);
    arena_done(&names->arena);
}
