/* SPDX-License-Identifier: MIT */
#pragma once

/* What events tell about VM exits: why the vCPU left its guest, what it requested, and what its thread did meanwhile.
 * Computed once per event class. */

#include "analysis/exit_reasons.h"
#include "analysis/spans/span_rule.h"
#include "base/text.h"
#include "event/item.h"

/* Who recorded the exits. Each has a rule of spans (exit_rules). */
enum exit_tracer {
    EXITS_OF_KVM, /* a host's kernel */
    EXITS_OF_XEN,
    EXITS_OF_QEMU, /* with KVM: only the exits that reach QEMU */
};
#define EXIT_TRACERS (EXITS_OF_QEMU + 1)

extern const struct span_rule exit_rules[EXIT_TRACERS];

enum exit_role {
    EXIT_NOTHING,
    EXIT_STEP,    /* begins or ends an exit, by a rule */
    EXIT_HANDLER, /* tells what was requested */
    EXIT_STATE,   /* changes the state of the vCPU, or its thread */
    EXIT_TO_VMM,  /* the kernel passes the exit to the VMM */
    EXIT_PV,      /* a paravirtualised guest enters Xen; its return is not recorded */
    EXIT_UNUSED,  /* matches a rule, but its fields say that it is not a step (another ioctl) */
};

/* What a vCPU or its thread does. */
enum exit_state {
    EXIT_RUNS,
    EXIT_WAITS,   /* runnable */
    EXIT_SLEEPS,  /* blocked */
    EXIT_OFFLINE, /* Xen: paused or taken away */
    EXIT_STATE_UNKNOWN,
};
#define EXIT_STATES (EXIT_STATE_UNKNOWN + 1)

struct exit_handler;

/* What is known of a class. Fields are numbers; -1 if there is none. */
struct exit_class {
    enum exit_role role;
    enum exit_tracer tracer;
    bool is_noted; /* it was noted that its source has such events */
    /* for EXIT_STEP */
    bool begins; /* begins an exit; otherwise it ends one */
    int reason, isa, kind;
    bool is_named; /* the reason is text */
    enum exit_isa fixed_isa;
    bool is_nested; /* the exit of a guest's guest */
    int vcpu;       /* the vCPU's number in its VM */
    /* for EXIT_HANDLER, and for EXIT_PV, where `handler` may be NULL */
    const struct exit_handler *handler;
    int number, direction;
    /* for EXIT_PV: its name as a number; events of 32-bit and 64-bit guests are one kind */
    uint64_t pv_kind;
    /* Row of all its events; NULL if not known yet, or if they have several rows. */
    struct row *pv_row;
    /* for EXIT_STATE. Xen's events have both states, and the vCPU in two fields; the kernel's switches have two
     * threads */
    enum exit_state from, to;
    int domain, prev_pid, prev_state, next_pid, pid;
};

void exit_class_find(const struct event_class *class, struct exit_class *ret_class);

/* True if an event of EXIT_STEP's class is not a step, by its fields. */
bool exit_is_unused(const struct exit_class *class, const struct item *item);

/* Why the guest was left. */
struct exit_reason {
    enum exit_isa isa;
    bool is_nested;
    uint64_t number;
};

void exit_reason_of(const struct exit_class *class, const struct item *item,
                    struct exit_reason *ret_reason);
/* Puts the reason of ITEM by name, or as a number. */
void exit_reason_put(const struct exit_class *class, const struct item *item,
                     const struct exit_reason *reason, struct text *text);
/* The same without a reason at hand. CLASS->begins must be true. */
void exit_item_put_reason(const struct exit_class *class, const struct item *item,
                          struct text *text);

/* True if the event tells what was requested. Some events do so only on some processors. */
bool exit_has_detail(const struct exit_class *class, const struct item *item);

/* Returns a number for what was requested, which distinguishes rows and is never 0. If an exit has several such events,
 * the one with the highest *RET_RANK counts, and the first of these. */
uint64_t exit_detail_number(const struct exit_class *class, const struct item *item,
                            unsigned *ret_rank);
/* Puts "port 0x3f8 write". */
void exit_detail_put(const struct exit_class *class, const struct item *item, struct text *text);
