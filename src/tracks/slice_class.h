/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds how the events of a class are drawn on a timeline, once per class. */

#include "event/kernel_event.h"
#include "event/marker.h"
#include "event/value.h"
#include "tracks/counter_tracks.h"
#include "tracks/slices.h"
#include "tracks/span_styles.h"

#define KERNEL_LAYER(layer) ((layer) == LAYER_GUEST || (layer) == LAYER_HOST)

/* A piece of a slice's name: text, followed by the value of a field. */
struct name_piece {
    const char *text;
    size_t len;
    int field; /* -1: none; or PIECE_… */
};
#define PIECE_EXIT_REASON (-2)
#define PIECE_MARKER (-3) /* in field `marker` */

#define NAME_PIECES 4
#define NO_RULE (-1)

/* Fields are numbers of the class's fields, or -1. */
struct slice_class {
    bool made;
    bool on_thread; /* an instant is drawn on the thread's track */
    bool is_switch; /* it names the next thread of its CPU */
    bool in_spans;  /* it matches one of the first `n_rules` rules of slices->spans */
    /* By its name it begins or ends spans, but there is no class for the other end yet. */
    bool partner_missing;
    struct kernel_thread_end thread_end;
    int task, comm;     /* fields with a thread and its name */
    unsigned n_classes; /* number of classes when this was made */
    unsigned n_rules;
    int begins; /* rule of the spans that it begins and as whose begin it is drawn, or NO_RULE */
    const struct span_style *style; /* of these spans */
    struct pair *pair;              /* of these spans */
    const char *title;
    /* The same for events of the class that differ by conditions. Their slices have names of the same kind. */
    int begins_else;
    const struct span_style *style_else;
    struct name_piece name[NAME_PIECES];
    unsigned n_name;
    const struct exit_class *exit; /* used if a piece is PIECE_EXIT_REASON */
    int flow[STYLE_FLOW_FIELDS];
    int flow_kind;
    char flow_letter;  /* W or R; 0: decided by `flow_kind` */
    struct pair *ends; /* spans that it may end, or NULL */
    const struct counter_rule *counter;
    int counter_value, counter_id;
    int marker; /* field with a line of trace_marker */
};

/* Adds the rules of all styles to slices->spans. 0, -ENOMEM. */
int slice_classes_init(struct slices *slices);
/* Checks CLASS against the rules that were added since. 0, -ENOMEM. */
int slice_class_look_again(struct slices *slices, const struct event_class *class);
/* Finds how CLASS is drawn. 0, -ENOMEM. */
int slice_class_make(struct slices *slices, struct group *group, const struct event_class *class);

/* NULL if out of memory. */
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

/* Returns the number in FIELD of ITEM, or 0. */
static inline uint64_t slice_number(const struct item *item, int field)
{
    struct value value;

    if (field < 0)
        return 0;
    value = item_value(item, (unsigned)field);
    return value.present && item->class->fields[field].storage == STORE_SCALAR ? value.u : 0;
}

/* Puts the name of the slice that ITEM begins. Sets slices->error if out of memory. */
void slice_class_put_name(struct slices *slices, const struct slice_class *class,
                          const struct item *item, struct slice *slice);
/* Parses ITEM as a line of trace_marker. False if it is not one. */
bool slice_class_marker(const struct slice_class *class, const struct item *item,
                        struct marker *ret);
/* Returns 'W' if the request that ITEM begins is a write, 'R' for a read, otherwise 0. */
char slice_class_flow_kind(const struct slice_class *class, const struct item *item);
