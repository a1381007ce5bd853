/* SPDX-License-Identifier: MIT */
#pragma once

/* How the events of a class are drawn on a timeline. Found once per class. */

#include "event/kernel_event.h"
#include "event/marker.h"
#include "event/value.h"
#include "tracks/counters.h"
#include "tracks/slices.h"
#include "tracks/span_styles.h"

#define KERNEL_LAYER(layer) ((layer) == LAYER_GUEST || (layer) == LAYER_HOST)

/* A piece of a slice's name: text, and the value of a field after it. */
struct name_piece {
    const char *text;
    size_t len;
    int field; /* -1: none; PIECE_… */
};
#define PIECE_EXIT_REASON (-2)
#define PIECE_MARKER (-3) /* of field `marker` */

#define NAME_PIECES 4
#define NO_RULE (-1)

/* Fields are numbers of the class's fields, -1: none. */
struct slice_class {
    bool made;
    bool on_thread; /* an instant is drawn on the thread's track */
    bool is_switch; /* it names the thread that its CPU runs next */
    bool in_spans;  /* it is something by the first `n_rules` rules of slices->spans */
    /* By its name it begins or ends spans, but there is no class for the other end. */
    bool partner_missing;
    struct kernel_thread_end thread_end;
    int task, comm;     /* fields with a thread and its name */
    unsigned n_classes; /* that there were when it was made */
    unsigned n_rules;
    int begins; /* rule of the spans that it begins and is drawn as the begin of, or NO_RULE */
    const struct span_style *style; /* of these */
    struct pair *pair;              /* the same */
    const char *title;
    /* The same of events of the class that differ by conditions; their slices have names of the same kind. */
    int begins_else;
    const struct span_style *style_else;
    struct name_piece name[NAME_PIECES];
    unsigned n_name;
    const struct exit_class *exit; /* if a piece is PIECE_EXIT_REASON */
    int flow[STYLE_FLOW_FIELDS];
    int flow_kind;
    char flow_letter;  /* W, R; 0: by FLOW_KIND */
    struct pair *ends; /* what it may end; NULL: nothing */
    const struct counter_rule *counter;
    int counter_value, counter_id;
    int marker; /* the field with a line of trace_marker */
};

/* Adds the rules of all styles to slices->spans. 0, -ENOMEM. */
int slice_classes_init(struct slices *slices);
/* Checks CLASS against the rules that were added since. 0, -ENOMEM. */
int slice_class_look_again(struct slices *slices, const struct event_class *class);
/* Finds how CLASS is drawn. 0, -ENOMEM. */
int slice_class_make(struct slices *slices, struct group *group, const struct event_class *class);

/* NULL when memory is out. */
static inline struct slice_class *slice_class_get(struct slices *slices, struct group *group,
                                                  const struct event_class *class)
{
    struct slice_class *found =
        class->index < slices->n_classes ? &slices->classes[class->index] : NULL;

    if (likely(
            found && found->made &&
            (!found->partner_missing || found->n_classes == slices->options.catalogue->n_classes)))
        return found;
    return slice_class_make(slices, group, class) < 0 ? NULL : &slices->classes[class->index];
}

/* The number in FIELD of ITEM; 0: none. */
static inline uint64_t slice_number(const struct item *item, int field)
{
    struct value value;

    if (field < 0)
        return 0;
    value = item_value(item, (unsigned)field);
    return value.present && item->class->fields[field].storage == STORE_SCALAR ? value.u : 0;
}

/* The name of the slice that ITEM begins. Sets slices->error when memory is out. */
void slice_class_put_name(struct slices *slices, const struct slice_class *class,
                          const struct item *item, struct slice *slice);
/* The line of trace_marker that ITEM is. False: it is none. */
bool slice_class_marker(const struct slice_class *class, const struct item *item,
                        struct marker *ret);
/* Whether the request that ITEM begins writes ('W'), reads ('R') or does neither (0). */
char slice_class_flow_kind(const struct slice_class *class, const struct item *item);
