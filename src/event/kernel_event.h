/* SPDX-License-Identifier: MIT */
#pragma once

/* Recognises events of a Linux kernel by their class, whichever tracer wrote them.
 *
 * The kernel's own tracers, perf and trace-cmd call an event GROUP:NAME. LTTng has no groups. It calls the event NAME,
 * GROUP_NAME or x86_GROUP_NAME, and an event of KVM on x86 kvm_x86_… instead of kvm_…. The number of a thread is called pid
 * by the kernel and tid by LTTng. What a request does to a disk ("rwbs") is a text in the kernel and a set of bits in
 * LTTng.
 *
 * Source: include/instrumentation/events of lttng-modules 2.13 to 2.15. */

#include "event/class.h"
#include "event/item.h"

/* Events at which a vCPU leaves its guest and enters it: x86, arm64 and RISC-V; s390; POWER; LoongArch. */
#define KERNEL_GUEST_GROUP "kvm|kvm_hv"
#define KERNEL_GUEST_EXIT "kvm_exit|kvm_s390_sie_exit|kvm_guest_exit"
#define KERNEL_GUEST_ENTRY "kvm_entry|kvm_s390_sie_enter|kvm_guest_enter|kvm_enter|kvm_reenter"
#define KERNEL_GUEST_VCPU "vcpu_id|id" /* the field with the vCPU's number, if the event has one */

/* If CLASS is an event PATTERN of GROUP, returns the part of its name, *RET_LEN bytes, that the `*` of PATTERN matches, as
 * glob_match_star() does. NULL: CLASS is not such an event. GROUP may be "A|B". */
const char *kernel_event_star(const struct event_class *class, const char *group,
                              const char *pattern, size_t *ret_len);

/* True if CLASS is an event PATTERN of GROUP. */
bool kernel_event_is(const struct event_class *class, const char *group, const char *pattern);

/* The index of the field of CLASS that is called NAME here, or else in the kernel. "A|B" is A, or else B. -1: there is no such
 * field, or NAME is NULL. */
int kernel_event_field(const struct event_class *class, const char *name);

/* The kernel's name of FIELD of CLASS, or else the field's own name. BUF is room for the name. */
#define KERNEL_FIELD_NAME 64
const char *kernel_event_field_name(const struct event_class *class, const struct field *field,
                                    char buf[KERNEL_FIELD_NAME]);

/* The bits of a zombie or a dead thread in the prev_state of a switch, from Linux 4.14 on. */
#define KERNEL_PREV_DEAD 0x30

/* How events of a class end a thread. A field of -1 is missing. */
struct kernel_thread_end {
    bool may; /* they do, or may */
    int pid;
    int state; /* of a switch: the field with the state; in certain states the thread has ended */
};

/* CLASS may be any; sched_process_exit and sched_switch end threads. */
struct kernel_thread_end kernel_thread_end_of(const struct event_class *class);
/* The thread that ITEM, of a class with END, ends; PID_UNKNOWN: no thread. */
int32_t kernel_ended_thread(const struct kernel_thread_end *end, const struct item *item);

/* By the number of a softirq. */
extern const struct value_names kernel_softirq_names;

/* Names of values of FIELD of CLASS that are missing in the formats of the kernel and of LTTng: MSRs; system calls, if the
 * machine is known; softirqs; LTTng's bits of what a request does, as the letters of the kernel's text. NULL: none. */
const struct value_names *kernel_event_value_names(const struct event_class *class,
                                                   const struct field *field);

/* True if FIELD of CLASS holds a function of the kernel: of a timer, softirq work or a workqueue. */
bool kernel_event_has_function(const struct event_class *class, unsigned field);
/* Puts the name of the function at ADDRESS, which FIELD of ITEM holds. False: the name is not known. */
bool kernel_event_put_function(const struct item *item, unsigned field, uint64_t address,
                               struct text *text);

/* What the kernel noted of its CPU at an event: common_flags and common_preempt_count. */
struct kernel_context {
    uint8_t flags, preempt_count;
};
/* False: ITEM has none. */
bool kernel_event_context(const struct item *item, struct kernel_context *ret_context);
/* Writes CONTEXT at P as the kernel's own text does, "d.h1.": which interrupts are off, whether to reschedule, the kind of
 * interrupt, how often preemption is off, how often migration is off. Returns the end. The letters are those of Linux 6.13;
 * before, flag 2 had another meaning on processors without flags for interrupts. */
#define KERNEL_CONTEXT_WIDTH 5
char *kernel_context_put(const struct kernel_context *context, char *p);

/* What the request of ITEM does, by FIELD ("rwbs"): 'R', 'W', 'D' (discard), 'F' (flush), or another letter; 0: not known. The
 * flag of a request that flushes first is ignored. */
char kernel_event_rwbs(const struct item *item, unsigned field);
