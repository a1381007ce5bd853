/* SPDX-License-Identifier: MIT */
#include "event/kernel_event.h"

#include <string.h>

#include "base/glob.h"
#include "base/macro.h"
#include "event/kernel.h"
#include "event/msr_names.h"
#include "event/syscall_names.h"
#include "event/value.h"

/* LTTng's bits of what a request does. */
#define RWBS_WRITE 0x001
#define RWBS_DISCARD 0x002
#define RWBS_READ 0x004
#define RWBS_FLUSH 0x100

static const char *const rwbs_bits[] = {"W", "D", "R",     "A",   "B",       "S",
                                        "M", "E", "flush", "FUA", "preflush"};
static const struct value_names rwbs_names = {
    .names = rwbs_bits, .n = ARRAY_SIZE(rwbs_bits), .bits = true};

static const char *const softirqs[] = {"HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
                                       "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};
const struct value_names kernel_softirq_names = {.names = softirqs, .n = ARRAY_SIZE(softirqs)};

/* Whether a tracer without groups may have written CLASS, of a kernel. */
static bool has_no_groups(const struct event_class *class)
{
    return !class->group &&
           (class->origin->layer == LAYER_GUEST || class->origin->layer == LAYER_HOST);
}

/* What follows one of the GROUPS, "A|B", and "_" in NAME; NULL: it begins otherwise. */
static const char *skip_group(const char *name, const char *groups)
{
    for (const char *p = groups;; p++) {
        size_t len = strcspn(p, "|");

        if (strncmp(name, p, len) == 0 && name[len] == '_')
            return name + len + 1;
        p += len;
        if (*p == '\0')
            return NULL;
    }
}

/* The same as kernel_event_star() of a class without a group that may be an event of KVM on x86, "kvm_x86_exit". */
static const char *find_kvm_x86(const struct event_class *class, const char *pattern,
                                size_t *ret_len)
{
    const char *rest = skip_group(class->name, "kvm_x86");
    char name[KERNEL_FIELD_NAME] = "kvm_";
    const char *star;

    if (!rest || strlen(rest) >= sizeof name - 4)
        return NULL;
    memcpy(name + 4, rest, strlen(rest) + 1);
    star = glob_match_star(pattern, name, ret_len);
    return star && star >= name + 4 ? rest + (star - (name + 4)) : NULL;
}

const char *kernel_event_star(const struct event_class *class, const char *group,
                              const char *pattern, size_t *ret_len)
{
    const char *star = NULL;
    const char *rest;
    size_t len;

    if (!has_no_groups(class))
        return class->group && glob_match_star(group, class->group, &len)
                   ? glob_match_star(pattern, class->name, ret_len)
                   : NULL;
    /* "*_entry" of irq_vectors is not any name with that end. */
    if (*pattern != '*')
        star = glob_match_star(pattern, class->name, ret_len);
    rest = skip_group(class->name, "x86");
    rest = skip_group(rest ? rest : class->name, group);
    if (!star && rest)
        star = glob_match_star(pattern, rest, ret_len);
    if (!star && glob_match_star(group, "kvm", &len))
        star = find_kvm_x86(class, pattern, ret_len);
    return star;
}

bool kernel_event_is(const struct event_class *class, const char *group, const char *pattern)
{
    size_t len;

    return kernel_event_star(class, group, pattern, &len) != NULL;
}

const char *kernel_event_field_name(const struct event_class *class, const struct field *field,
                                    char buf[KERNEL_FIELD_NAME])
{
    size_t len = strlen(field->name);

    if (!has_no_groups(class) || len < 3 || len >= KERNEL_FIELD_NAME ||
        strcmp(field->name + len - 3, "tid") != 0 || (len > 3 && field->name[len - 4] != '_'))
        return field->name;
    memcpy(buf, field->name, len + 1);
    buf[len - 3] = 'p';
    return buf;
}

static int find_field(const struct event_class *class, const char *name, size_t len)
{
    char buf[KERNEL_FIELD_NAME];

    for (unsigned kernels = 0; kernels < 2; kernels++) {
        for (unsigned i = 0; i < class->n_fields; i++) {
            const char *own = kernels ? kernel_event_field_name(class, &class->fields[i], buf)
                                      : class->fields[i].name;

            if (strlen(own) == len && memcmp(own, name, len) == 0)
                return (int)i;
        }
    }
    return -1;
}

int kernel_event_field(const struct event_class *class, const char *name)
{
    int i = -1;

    while (name && i < 0) {
        size_t len = strcspn(name, "|");

        i = find_field(class, name, len);
        name = name[len] ? name + len + 1 : NULL;
    }
    return i;
}

const struct value_names *kernel_event_value_names(const struct event_class *class,
                                                   const struct field *field)
{
    if (field->storage != STORE_SCALAR)
        return NULL;
    if (strcmp(field->name, "ecx") == 0 && kernel_event_is(class, "kvm", "kvm_msr"))
        return &msr_names;
    if (strcmp(field->name, "vec") == 0 && kernel_event_is(class, "irq", "softirq_*"))
        return &kernel_softirq_names;
    if (strcmp(field->name, "id") == 0 && (kernel_event_is(class, "raw_syscalls", "sys_enter") ||
                                           kernel_event_is(class, "raw_syscalls", "sys_exit")))
        return syscall_names(class->origin ? class->origin->machine : NULL);
    return strcmp(field->name, "rwbs") == 0 && kernel_event_is(class, "block", "block_*")
               ? &rwbs_names
               : NULL;
}

bool kernel_event_has_function(const struct event_class *class, unsigned field)
{
    const char *name = class->fields[field].name;

    return class->origin && class->origin->kernel && class->origin->kernel->put_function &&
           (strcmp(name, "function") == 0 || strcmp(name, "func") == 0);
}

bool kernel_event_put_function(const struct item *item, unsigned field, uint64_t address,
                               struct text *text)
{
    return kernel_event_has_function(item->class, field) &&
           item->origin->kernel->put_function(item->origin, address, text);
}

char kernel_event_rwbs(const struct item *item, unsigned field)
{
    struct value value = item_value(item, field);

    if (!value.present)
        return 0;
    if (item->class->fields[field].storage == STORE_SCALAR)
        return value.u & RWBS_DISCARD ? 'D'
               : value.u & RWBS_READ  ? 'R'
               : value.u & RWBS_WRITE ? 'W'
               : value.u & RWBS_FLUSH ? 'F'
                                      : 'N';
    /* A flag before the direction says that the request flushes first. */
    if (value.len > 1 && value.s[0] == 'F' && value.s[1] != 'F')
        return value.s[1];
    return value.len > 0 ? value.s[0] : 0;
}

struct kernel_thread_end kernel_thread_end_of(const struct event_class *class)
{
    struct kernel_thread_end end = {.pid = -1, .state = -1};

    if (kernel_event_is(class, "sched", "sched_process_exit")) {
        end.may = true;
    } else if (kernel_event_is(class, "sched", "sched_switch")) {
        end.pid = kernel_event_field(class, "prev_pid");
        end.state = kernel_event_field(class, "prev_state");
        end.may = end.pid >= 0 && end.state >= 0;
    }
    return end;
}

int32_t kernel_ended_thread(const struct kernel_thread_end *end, const struct item *item)
{
    if (!end->may)
        return PID_UNKNOWN;
    if (end->state < 0)
        return item->pid;
    if (likely(!(item_value(item, (unsigned)end->state).u & KERNEL_PREV_DEAD)))
        return PID_UNKNOWN;
    return (int32_t)item_value(item, (unsigned)end->pid).u;
}

bool kernel_event_context(const struct item *item, struct kernel_context *ret_context)
{
    const struct origin_kernel *kernel = item->origin->kernel;

    if (item->kind != ITEM_EVENT || !kernel || item->class->id == 0 || !item->class->group ||
        kernel->flags_offset >= item->size || kernel->preempt_offset >= item->size)
        return false;
    *ret_context = (struct kernel_context){.flags = item->payload[kernel->flags_offset],
                                           .preempt_count = item->payload[kernel->preempt_offset]};
    return true;
}

/* A count of four bits, or '.'. */
static char count_digit(unsigned count)
{
    return count > 0 ? "0123456789abcdef"[count & 15] : '.';
}

char *kernel_context_put(const struct kernel_context *context, char *p)
{
    enum {
        IRQS_OFF = 0x01,
        RESCHED_LAZY = 0x02,
        RESCHED = 0x04,
        HARDIRQ = 0x08,
        SOFTIRQ = 0x10,
        RESCHED_PREEMPT = 0x20,
        NMI = 0x40,
        SOFTIRQS_OFF = 0x80,
    };
    unsigned flags = context->flags;
    unsigned resched = (flags & RESCHED ? 1u : 0) | (flags & RESCHED_PREEMPT ? 2u : 0) |
                       (flags & RESCHED_LAZY ? 4u : 0);

    *p++ = flags & IRQS_OFF ? (flags & SOFTIRQS_OFF ? 'D' : 'd') : flags & SOFTIRQS_OFF ? 'b' : '.';
    *p++ = ".npNlbLB"[resched];
    *p++ = flags & NMI                              ? (flags & HARDIRQ ? 'Z' : 'z')
           : (flags & HARDIRQ) && (flags & SOFTIRQ) ? 'H'
           : flags & HARDIRQ                        ? 'h'
           : flags & SOFTIRQ                        ? 's'
                                                    : '.';
    *p++ = count_digit(context->preempt_count & 15);
    *p++ = count_digit(context->preempt_count >> 4);
    return p;
}
