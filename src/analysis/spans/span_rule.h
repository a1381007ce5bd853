/* SPDX-License-Identifier: MIT */
#pragma once

/* Rules of spans. A rule names the event that begins a span, the event that ends it, possibly others between them, and
 * the keys that they share. Rules are built in (span_builtins.c) or written by users (strata-analysis(7)):
 *
 *     [NAME:] STEP -> STEP [-> STEP…] [by cpu|thread|vcpu] [again=cut|first|nest|queue|replace] [unique]
 *     STEP  = [LAYER:][GROUP:]EVENT[(KEY,…)][{CONDITION}][?]
 *     KEY   = FIELD | FIELD&MASK | FIELD>>BITS | task | cpu | vcpu | field:FIELD
 *
 * EVENT may have one `*`, which stands for the same letters in all steps with a `*`. GROUP and EVENT may be "A|B". The
 * keys of a step are compared in their order, and their fields may have other names in each step. "field:" precedes a
 * field that is called task, cpu or vcpu. For a text, FIELD>>BYTES skips its first bytes. A step with `?` may be
 * missing. */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

#define SPAN_KEYS 4
#define SPAN_STEPS 8

/* The source of a key's value. */
enum span_key_kind {
    SPAN_KEY_FIELD,
    SPAN_KEY_TASK, /* the thread */
    SPAN_KEY_CPU,
    SPAN_KEY_VCPU,
};

struct span_key {
    enum span_key_kind kind;
    const char *field; /* for SPAN_KEY_FIELD */
    uint64_t mask;     /* 0: all bits */
    unsigned shift;
    unsigned column; /* of the mask or shift in the rule's text, from 1 on; 0: none */
};

struct span_step {
    unsigned layers;   /* bits 1 << enum layer; 0: any */
    const char *group; /* may be "A|B"; NULL: any */
    const char *event; /* may have one '*', or be "A|B" */
    struct span_key keys[SPAN_KEYS];
    const char *condition; /* on its fields (analysis/condition.h); may be NULL */
    bool optional;
};

/* Where both ends of a span must be. */
enum span_place {
    SPAN_ANYWHERE,
    SPAN_ON_CPU,
    SPAN_ON_THREAD,
    SPAN_ON_VCPU,
};

/* What a begin means while a span with the same key is open. */
enum span_again {
    SPAN_AGAIN_CUT,   /* the open span has no end */
    SPAN_AGAIN_FIRST, /* nothing: the open span continues */
    SPAN_AGAIN_NEST,  /* another span, which ends before the open one */
    SPAN_AGAIN_QUEUE, /* another span, which ends after the open one */
    /* The open span at its place has no end, whatever its keys are, because only one is open at a place. */
    SPAN_AGAIN_REPLACE,
};

struct span_rule {
    const char *name; /* of all its spans; may have the '*' of the steps */
    struct span_step steps[SPAN_STEPS];
    unsigned n_steps; /* at least 2 */
    unsigned n_keys;  /* in each step */
    enum span_place place;
    enum span_again again;
    bool unique; /* a key is used once, so a loss elsewhere does not affect its span */
};

/* Parses TEXT, a rule as users write it, into ARENA. A rule without a name gets the name "BEGIN -> END". WHERE names
 * the text in errors. -EINVAL with ERROR, which names the column; -ENOMEM. */
int span_rule_parse(const char *text, const char *where, struct arena *arena,
                    struct span_rule *ret_rule, struct error *error);

/* Adds the rules of a file to LIST. The file has one rule per line; `#` begins a comment. Strings are in ARENA. -EINVAL
 * with ERROR; -ENOMEM. */
struct span_rule_list {
    struct span_rule *rules; /* malloc()ed */
    unsigned n;
};

int span_rules_read(const char *text, size_t len, const char *path, struct arena *arena,
                    struct span_rule_list *list, struct error *error);
int span_rule_list_add(struct span_rule_list *list, const struct span_rule *rule);
void span_rule_list_done(struct span_rule_list *list);

/* A built-in rule, which users select by its name. */
struct span_builtin {
    const char *rule;  /* as users write it */
    const char *about; /* a line for `strata latency --list` */
};

/* Terminated by an entry without a rule. */
extern const struct span_builtin span_builtins[];
/* The text of the first rule that begins with START ("irq:"), or NULL. */
const char *span_builtin_find(const char *start);
