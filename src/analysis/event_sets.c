/* SPDX-License-Identifier: MIT */
#include "analysis/event_sets.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "base/macro.h"

#define WITHOUT_FORMAT_LISTED 4

#define LIST(...)         \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

#define SWITCHES                                                          \
    "sched:sched_switch", "sched:sched_waking", "sched:sched_wakeup_new", \
        "sched:sched_migrate_task", "sched:sched_process_exit"
#define INTERRUPTS                                                                             \
    "irq:irq_handler_entry", "irq:irq_handler_exit", "irq:softirq_raise", "irq:softirq_entry", \
        "irq:softirq_exit"
#define DISKS                                                                   \
    "block:block_bio_queue", "block:block_rq_issue", "block:block_rq_complete", \
        "irq:irq_handler_entry", "irq:irq_handler_exit"
/* Events of s390, POWER and LoongArch. They are not requested from a kernel that lacks them. */
#define KVM_EXITS_OF_OTHERS                                                            \
    "kvm:kvm_s390_sie_exit", "kvm:kvm_s390_sie_enter", "kvm:kvm_s390_handle_diag",     \
        "kvm:kvm_s390_handle_sigp", "kvm_hv:kvm_guest_exit", "kvm_hv:kvm_guest_enter", \
        "kvm_hv:kvm_hcall_enter", "kvm:kvm_enter", "kvm:kvm_reenter"
#define KVM_EXITS                                                                             \
    "kvm:kvm_exit", "kvm:kvm_entry", "kvm:kvm_pio", "kvm:kvm_mmio", "kvm:kvm_msr",            \
        "kvm:kvm_cpuid", "kvm:kvm_hypercall", "kvm:kvm_page_fault", "kvm:kvm_userspace_exit", \
        KVM_EXITS_OF_OTHERS

const struct event_set event_sets[] = {
    {.name = "exits",
     .events = "VM exits are in this trace (kvm_exit and kvm_entry; of Xen, vmexit and vmentry, or "
               "class pv; of QEMU, kvm_run_exit and kvm_vcpu_ioctl; of s390, kvm_s390_sie_exit and "
               "kvm_s390_sie_enter; of POWER, kvm_guest_exit and kvm_guest_enter; of LoongArch, "
               "kvm_exit and kvm_enter)",
     .host = LIST(KVM_EXITS, "sched:sched_switch", "sched:sched_waking"),
     .vmm = LIST("kvm_run_exit", "kvm_vcpu_ioctl"),
     .xen = LIST("hvm", "sched_min")},
    {.name = "sched",
     .events = "scheduler events are in this trace (sched_switch; of Xen, RUNSTATE_CHANGE)",
     .host = LIST(SWITCHES, "kvm:kvm_entry", "kvm:kvm_exit"),
     .guest = LIST(SWITCHES),
     .xen = LIST("sched_min", "sched_class")},
    {.name = "io",
     .events =
         "requests to disks are in this trace (block_rq_issue and block_rq_complete; of QEMU, "
         "virtio_blk_handle_* and virtio_blk_req_complete)",
     .host = LIST(DISKS, SWITCHES),
     .guest = LIST(DISKS),
     .vmm = LIST("virtio_queue_notify", "virtio_notify*", "virtio_blk_*", "blk_co_p*",
                 "thread_pool_*", "luring_*")},
    {.name = "irq",
     .events = "interrupts are in this trace (irq_handler_entry and irq_handler_exit, softirqs, "
               "timers)",
     .host = LIST(INTERRUPTS, "irq_vectors:*", "timer:hrtimer_*", "kvm:kvm_inj_virq",
                  "kvm:kvm_apic_accept_irq", "kvm:kvm_msi_set_irq", "kvm:kvm_entry"),
     .guest = LIST(INTERRUPTS, "irq_vectors:*", "timer:hrtimer_*"),
     .vmm = LIST("apic_deliver_irq", "virtio_notify*"),
     .xen = LIST("hvm", "sched_min", "hw_irq")},
    {0},
};

/* Each costs a guest a few hundred instructions (bench/kvm). Without softirq_raise and timers, which --for irq adds,
 * and without KVM's events that repeat an exit in other words: kvm_fpu is the most frequent, before kvm_exit. */
#define USUAL_OF_KERNELS                                                                  \
    "sched:sched_switch", "sched:sched_wakeup", "irq:irq_handler_*", "irq:softirq_entry", \
        "irq:softirq_exit"

const struct event_set event_set_usual = {
    /* kvm_guest_fault is arm64's kvm_page_fault. */
    .host = LIST("kvm:kvm_entry", "kvm:kvm_exit",
                 /* of s390, POWER and LoongArch */
                 "kvm:kvm_s390_sie_enter", "kvm:kvm_s390_sie_exit", "kvm_hv:kvm_guest_enter",
                 "kvm_hv:kvm_guest_exit", "kvm:kvm_enter", "kvm:kvm_reenter",
                 "kvm:kvm_userspace_exit", "kvm:kvm_pio", "kvm:kvm_mmio", "kvm:kvm_msr",
                 "kvm:kvm_cpuid", "kvm:kvm_hypercall", "kvm:kvm_page_fault", "kvm:kvm_guest_fault",
                 "kvm:kvm_inj_*", "kvm:kvm_vcpu_wakeup", USUAL_OF_KERNELS),
    .guest = LIST(USUAL_OF_KERNELS),
    .vmm = LIST("runstate_set", "vm_state_notify", "qemu_system_*", "system_wakeup_request",
                "virtio_set_status", "virtio_queue_notify", "virtio_notify*", "blk_co_preadv",
                "blk_co_pwritev"),
};

static int add_each(struct strings *strings, const char *const *list)
{
    for (; list && *list; list++) {
        bool is_there = false;

        for (unsigned i = 0; i < strings->n; i++)
            is_there = is_there || strcmp(strings->items[i], *list) == 0;
        if (!is_there && strings_add(strings, *list) < 0)
            return -ENOMEM;
    }
    return 0;
}

static const struct event_set *find(const char *name, size_t len)
{
    for (const struct event_set *needs = event_sets; needs->name; needs++)
        if (strlen(needs->name) == len && memcmp(needs->name, name, len) == 0)
            return needs;
    return NULL;
}

/* The place of NAME in LIST, whose items may have a group; UINT_MAX: none. A whole group does not count. */
static unsigned find_place(const char *const *list, const char *name)
{
    for (unsigned i = 0; list && list[i]; i++) {
        const char *colon = strchr(list[i], ':');
        const char *pattern = colon ? colon + 1 : list[i];

        if (pattern[0] != '*' && glob_match(pattern, name))
            return i;
    }
    return UINT_MAX;
}

const char *event_set_analysis(const char *event)
{
    const char *colon = strrchr(event, ':');
    const char *name = colon ? colon + 1 : event, *found = NULL;
    unsigned first = UINT_MAX;

    for (const struct event_set *needs = event_sets; needs->name; needs++) {
        const char *const *lists[] = {needs->host, needs->guest, needs->vmm};

        for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
            unsigned place = find_place(lists[i], name);

            if (place < first) {
                first = place;
                found = needs->name;
            }
        }
    }
    return found;
}

/* Puts ", unless events without a format (unknown-319) are such events" for CLASSES without a format; nothing if all
 * have one. */
static void put_without_format(const struct catalogue *classes, struct text *text)
{
    unsigned n = 0;

    for (unsigned i = 0; i < classes->n_classes; i++)
        if (classes->classes[i]->has_no_format && n++ < WITHOUT_FORMAT_LISTED)
            text_printf(text, "%s%s", n > 1 ? ", " : ", unless events without a format (",
                        classes->classes[i]->name);
    if (n > WITHOUT_FORMAT_LISTED)
        text_printf(text, " and %u more", n - WITHOUT_FORMAT_LISTED);
    if (n > 0)
        text_put_literal(text, ") are such events");
}

/* True if such events are in a text of perf script, whose classes come from its events. Then they lack a CPU, which -F
 * may leave out. */
static bool are_in_text(const struct event_set *needs, const struct catalogue *classes)
{
    char name[64];

    for (unsigned i = 0; i < classes->n_classes; i++) {
        const struct event_class *class = classes->classes[i];

        snprintf(name, sizeof name, "%s:%s", class->group ? class->group : "", class->name);
        for (const char *const *host = needs->host; *host; host++)
            if (strcmp(*host, name) == 0 && class->origin && class->origin->layer == LAYER_HOST &&
                strcmp(class->origin->format, "kernel-text") == 0)
                return true;
    }
    return false;
}

void event_set_put_missing(const char *name, const char *selected, const struct catalogue *classes,
                           struct text *text)
{
    const struct event_set *needs = find(name, strlen(name));

    text_printf(text, "no %s", needs->events);
    if (*selected)
        text_printf(text, ", as far as it is selected by %s", selected);
    put_without_format(classes, text);
    for (unsigned i = 0; i < classes->n_origins; i++)
        if (classes->origins[i]->threads_only) {
            text_put_literal(
                text, ", except for the threads that perf recorded or printed, which are not "
                      "enough for states; record all with perf record -a, and print all");
            return;
        }
    for (unsigned i = 0; i < classes->n_origins; i++)
        if (classes->origins[i]->lacks_switches) {
            text_put_literal(text,
                             ", except for switches between which others were left out, which are "
                             "not enough for states; record them without a filter");
            return;
        }
    if (!*selected && are_in_text(needs, classes))
        text_put_literal(text, ", or their CPU is not; use perf script with -F +cpu");
    else if (!*selected)
        text_printf(text,
                    "; record with 'strata record --for %s' and --host, --guest, --xen or '-- "
                    "qemu-system-...'",
                    name);
}

int needed_events_find(const char *names, struct needed_events *ret_events, struct error *error)
{
    struct needed_events events = {0};

    for (const char *p = names;; p++) {
        size_t len = strcspn(p, ",");
        const struct event_set *needs = find(p, len);

        if (!needs) {
            needed_events_done(&events);
            return error_set(error, -EINVAL, NULL,
                             "invalid analysis '%.*s' (they are exits, sched, io and irq)",
                             (int)len, p);
        }
        if (add_each(&events.host, needs->host) < 0 || add_each(&events.guest, needs->guest) < 0 ||
            add_each(&events.vmm, needs->vmm) < 0 || add_each(&events.xen, needs->xen) < 0) {
            needed_events_done(&events);
            return -ENOMEM;
        }
        p += len;
        if (*p == '\0')
            break;
    }
    *ret_events = events;
    return 0;
}

void needed_events_done(struct needed_events *events)
{
    strings_done(&events->host);
    strings_done(&events->guest);
    strings_done(&events->vmm);
    strings_done(&events->xen);
}
