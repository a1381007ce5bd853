/* SPDX-License-Identifier: MIT */
#pragma once

/* Which events begin something, which end it, and what they have in common: tables, and what they say of
 * one class. */

#include "event/catalogue.h"

/* Where what a pair encloses is drawn. */
enum pair_place {
    ON_THREAD,     /* the event's thread */
    ON_CPU,        /* its CPU: what runs there */
    ON_INTERRUPTS, /* its CPU, in interrupts: they nest in each other, not in what they interrupt */
    ON_VCPU,
    ON_LANES, /* a track for each of those that are open at a time, as they end in any order */
};

#define PAIR_IDS 2

/* A '*' in a name stands for any letters, the same in all names of a rule. */
struct pair_rule {
    unsigned layers;   /* bits: 1 << enum layer */
    const char *group; /* of both classes; NULL: any */
    const char *begin;
    const char *end;          /* NULL: what it begins is ended by the next one of `pair` */
    const char *pair;         /* what such slices are called together */
    const char *name;         /* of a slice; {FIELD} stands for the value of a field of `begin` */
    const char *id[PAIR_IDS]; /* fields of both that are the same in begin and end */
    const char *idle;         /* a field; of this value, nothing begins; NULL: none */
    uint64_t idle_value;
    enum pair_place place;
    bool by_name; /* a rule of names alone: holds where there are classes of both names */
    bool nests;   /* within itself */
    bool alone;   /* there is one on a track at a time, whatever its ids */
    /* Fields that tell the same of what another layer does for it (analysis/joins.h); NULL: none. */
    const char *flow[PAIR_IDS];
    const char
        *flow_kind; /* a field whose text tells writes (W) from reads (R); or itself "W", "R" */
};

/* A field of an event that is worth a curve. */
struct counter_rule {
    unsigned layers;
    const char *group;
    const char *event;
    const char *value;
    const char *id;   /* a field of 32 bits: a curve for each value; NULL: one curve */
    const char *name; /* of the curve */
    const char *unit; /* NULL: a number */
};

enum pair_role {
    PAIR_NONE,
    PAIR_BEGINS,
    PAIR_ENDS,
};

/* What the tables say of a class. Fields are numbers of the class's fields, -1: none. */
struct pair_match {
    enum pair_role role;
    const struct pair_rule *rule;
    const char *pair; /* what begin and end have in common; in the arena, or the rule's */
    const char *name; /* of the slice; the same */
    enum pair_place place;
    int id[PAIR_IDS];
    int idle;
    int flow[PAIR_IDS];
    int flow_kind;
    bool partner_missing; /* it would match by name, if there were the other class */
};

/* What CLASS is. Memory comes from ARENA. 0, -ENOMEM. */
int pair_find(const struct catalogue *catalogue, const struct event_class *class,
              struct arena *arena, struct pair_match *ret_match);

/* NULL: none. */
const struct counter_rule *counter_find(const struct event_class *class);
/* From 0, of all rules. */
unsigned counter_number(const struct counter_rule *rule);
