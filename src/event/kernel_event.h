/* SPDX-License-Identifier: MIT */
#pragma once

/* Which event of a Linux kernel a class is, whichever tracer wrote it.
 *
 * The kernel's own tracers, perf and trace-cmd call an event GROUP:NAME. LTTng has no groups. It calls the event NAME,
 * GROUP_NAME or x86_GROUP_NAME; of KVM on x86, kvm_x86_… instead of kvm_…. A number of a thread, which the kernel calls
 * pid, is tid there. What a request does to a disk ("rwbs") is a text of the kernel, and a set of bits of LTTng.
 *
 * Source: include/instrumentation/events of lttng-modules 2.13 to 2.15. */

#include "event/class.h"
#include "event/item.h"

/* Where a vCPU leaves its guest, and where it enters it: of x86, arm64 and RISC-V; of s390; of POWER; of LoongArch. */
#define KERNEL_GUEST_GROUP "kvm|kvm_hv"
#define KERNEL_GUEST_EXIT "kvm_exit|kvm_s390_sie_exit|kvm_guest_exit"
#define KERNEL_GUEST_ENTRY "kvm_entry|kvm_s390_sie_enter|kvm_guest_enter|kvm_enter|kvm_reenter"
#define KERNEL_GUEST_VCPU "vcpu_id|id" /* the field with the vCPU's number, if they have one */

/* If CLASS is an event PATTERN of GROUP, what the `*` of PATTERN stands for, as of glob_match_star(): a part of the name of
 * CLASS, of *RET_LEN bytes. NULL: it is not. GROUP may be "A|B". */
const char *kernel_event_star(const struct event_class *class, const char *group,
                              const char *pattern, size_t *ret_len);

/* Whether CLASS is an event PATTERN of GROUP. */
bool kernel_event_is(const struct event_class *class, const char *group, const char *pattern);

/* The index of the field of CLASS that is called NAME, or else of the one that the kernel calls so. "A|B": of A, or else of B.
 * -1: there is none, or NAME is NULL. */
int kernel_event_field(const struct event_class *class, const char *name);

/* How the kernel calls FIELD of CLASS, or else the field's own name. BUF: room for the name. */
#define KERNEL_FIELD_NAME 64
const char *kernel_event_field_name(const struct event_class *class, const struct field *field,
                                    char buf[KERNEL_FIELD_NAME]);

/* In the prev_state of a switch, from Linux 4.14 on: a zombie, or dead. In any order of the two. */
#define KERNEL_PREV_DEAD 0x30

/* How events of a class end a thread. Fields: -1: none. */
struct kernel_thread_end {
    bool may; /* they do, or may */
    int pid;
    int state; /* of a switch, which ends the thread that it leaves in certain states */
};

/* CLASS: any; sched_process_exit and sched_switch end threads. */
struct kernel_thread_end kernel_thread_end_of(const struct event_class *class);
/* The thread that ITEM, of a class with END, ends; PID_UNKNOWN: none. */
int32_t kernel_ended_thread(const struct kernel_thread_end *end, const struct item *item);

/* Names of the values of FIELD of CLASS that no format of the kernel or of LTTng has: MSRs; system calls, if
 * the machine is known; LTTng's bits of what a request does, as the letters of the kernel's text. NULL: none. */
const struct value_names *kernel_event_value_names(const struct event_class *class,
                                                   const struct field *field);

/* What the kernel noted of its CPU at an event: common_flags and common_preempt_count. */
struct kernel_context {
    uint8_t flags, preempt_count;
};
/* False: ITEM has none. */
bool kernel_event_context(const struct item *item, struct kernel_context *ret_context);
/* Writes it as the kernel's own text does, "d.h1.": interrupts and softirqs that are off, whether to reschedule, in what
 * interrupt it is, how often preemption and migration are off. By Linux 6.13, whose flag 2 had another meaning before, on
 * processors without flags for interrupts. Returns the end. */
#define KERNEL_CONTEXT_WIDTH 5
char *kernel_context_put(const struct kernel_context *context, char *p);

/* What the request of ITEM does, by FIELD ("rwbs"): 'R', 'W', 'D' (discard), 'F' (flush), or another letter; 0: not known. A
 * flag that the request flushes first is not what it does. */
char kernel_event_rwbs(const struct item *item, unsigned field);
