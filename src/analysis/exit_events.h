/* SPDX-License-Identifier: MIT */
#pragma once

/* What events say of VM exits: why the vCPU left its guest, what it asked for, and what its thread did meanwhile. Worked
 * out once per event class. */

#include "analysis/exit_reasons.h"
#include "analysis/spans/span_rule.h"
#include "base/text.h"
#include "event/item.h"

/* Who recorded the exits; each has a rule of spans (exit_rules). */
enum exit_tracer {
    EXITS_OF_KVM, /* a host's kernel */
    EXITS_OF_XEN,
    EXITS_OF_QEMU, /* with KVM: only the exits that reach QEMU */
};
#define EXIT_TRACERS (EXITS_OF_QEMU + 1)

extern const struct span_rule exit_rules[EXIT_TRACERS];

enum exit_role {
    EXIT_NOTHING,
    EXIT_STEP,    /* begins or ends one, by a rule */
    EXIT_HANDLER, /* says what is asked for */
    EXIT_STATE,   /* changes the state of the vCPU, or its thread */
    EXIT_TO_VMM,  /* the kernel hands it on to the VMM */
    EXIT_PV,      /* a paravirtualised guest enters Xen; nothing says when it returns */
    EXIT_UNUSED,  /* matches a rule, but is no step of it by its fields (another ioctl) */
};

/* What a vCPU or its thread does. */
enum exit_state {
    EXIT_RUNS,
    EXIT_WAITS,   /* runnable */
    EXIT_SLEEPS,  /* blocked */
    EXIT_OFFLINE, /* of Xen's: paused or taken away */
    EXIT_STATE_UNKNOWN,
};
#define EXIT_STATES (EXIT_STATE_UNKNOWN + 1)

struct exit_handler;

/* What is known of a class. Numbers of fields: -1: it has none. */
struct exit_class {
    enum exit_role role;
    enum exit_tracer tracer;
    bool is_noted; /* its source is known to have such events */
    /* of EXIT_STEP */
    bool begins; /* an exit; otherwise it ends one */
    int reason, isa, kind;
    bool is_named; /* the reason is text */
    enum exit_isa fixed_isa;
    bool is_nested; /* of a guest's guest */
    int vcpu;       /* the vCPU's number in its VM */
    /* of EXIT_HANDLER, and of EXIT_PV, whose handler may be NULL */
    const struct exit_handler *handler;
    int number, direction;
    /* of EXIT_PV: its name as a number. Events of 32-bit and of 64-bit guests are of one kind. */
    uint64_t pv_kind;
    struct row *pv_row; /* of all its events; NULL: not known yet, or they have several */
    /* of EXIT_STATE; Xen's have both states, and the vCPU as two fields; switches of the kernel have two threads. */
    enum exit_state from, to;
    int domain, prev_pid, prev_state, next_pid, pid;
};

void exit_class_find(const struct event_class *class, struct exit_class *ret_class);

/* Whether an event of EXIT_STEP's class is no step, by its fields. */
bool exit_is_unused(const struct exit_class *class, const struct item *item);

/* Why the guest was left. */
struct exit_reason {
    enum exit_isa isa;
    bool is_nested;
    uint64_t number;
};

void exit_reason_of(const struct exit_class *class, const struct item *item,
                    struct exit_reason *ret_reason);
/* The reason of ITEM by name, or as a number. */
void exit_reason_put(const struct exit_class *class, const struct item *item,
                     const struct exit_reason *reason, struct text *text);
/* The same of ITEM alone. CLASS->begins. */
void exit_item_put_reason(const struct exit_class *class, const struct item *item,
                          struct text *text);

/* Whether the event says what was asked for: some only do on some processors. */
bool exit_has_detail(const struct exit_class *class, const struct item *item);

/* What was asked for, as a number that distinguishes rows; never 0. Of several events in one exit, the one with
 * the higher *RET_RANK counts, and the first of these. */
uint64_t exit_detail_number(const struct exit_class *class, const struct item *item,
                            unsigned *ret_rank);
/* "port 0x3f8 write" */
void exit_detail_put(const struct exit_class *class, const struct item *item, struct text *text);
