/* SPDX-License-Identifier: MIT */
#include "analysis/exit_events.h"

#include <string.h>

#include "analysis/spans/span_match.h"
#include "analysis/spans/span_rule.h"
#include "analysis/states/states.h"
#include "base/glob.h"
#include "base/hash.h"
#include "base/macro.h"
#include "base/printable.h"
#include "event/kernel_event.h"
#include "event/msr_names.h"
#include "event/program.h"
#include "event/value.h"

/* ioctl(KVM_RUN) */
#define KVM_RUN 0xae80

const struct span_rule exit_rules[EXIT_TRACERS] = {
    [EXITS_OF_KVM] = {.name = "KVM",
                      .steps = {{.group = KERNEL_GUEST_GROUP, .event = KERNEL_GUEST_EXIT},
                                {.group = KERNEL_GUEST_GROUP, .event = KERNEL_GUEST_ENTRY}},
                      .n_steps = 2,
                      .place = SPAN_ON_THREAD},
    [EXITS_OF_XEN] = {.name = "Xen",
                      .steps = {{.layers = 1u << LAYER_HYPERVISOR, .event = "vmexit|nested_vmexit"},
                                {.layers = 1u << LAYER_HYPERVISOR,
                                 .event = "vmentry|nested_vmentry"}},
                      .n_steps = 2,
                      .place = SPAN_ON_VCPU},
    [EXITS_OF_QEMU] = {.name = "QEMU",
                       .steps = {{.layers = 1u << LAYER_VMM,
                                  .event = "kvm_run_exit",
                                  .keys = {{.field = "cpu_index"}}},
                                 {.layers = 1u << LAYER_VMM,
                                  .event = "kvm_vcpu_ioctl",
                                  .keys = {{.field = "cpu_index"}}}},
                       .n_steps = 2,
                       .n_keys = 1},
};

/* How a number is shown. */
enum number_form {
    NUMBER_HEX,
    NUMBER_NAMED, /* by the field's names, otherwise decimal */
    NUMBER_MSR,   /* hexadecimal, with its name */
};

/* The direction of the request. */
enum direction {
    DIRECTION_NONE,
    DIRECTION_READ,
    DIRECTION_WRITE,
    DIRECTION_FIELD,        /* a field is 0: read, 1: write */
    DIRECTION_FIELD_UPWARD, /* a field is 2 or more: write (KVM's mmio: unsatisfied read, read, write) */
};

struct exit_handler {
    const char *event;
    const char *number; /* field */
    const char *word;
    const char *direction_field;
    enum exit_tracer tracer;
    enum number_form form;
    enum direction direction;
    unsigned rank; /* a page counts less than the device at it */
};

static const struct exit_handler handlers[] = {
    {"kvm_pio", "port", "port", "rw", EXITS_OF_KVM, NUMBER_HEX, DIRECTION_FIELD, 3},
    {"kvm_mmio", "gpa", "mmio", "type", EXITS_OF_KVM, NUMBER_HEX, DIRECTION_FIELD_UPWARD, 3},
    {"kvm_msr", "ecx", "msr", "write", EXITS_OF_KVM, NUMBER_MSR, DIRECTION_FIELD, 3},
    {"kvm_cpuid", "function", "leaf", NULL, EXITS_OF_KVM, NUMBER_HEX, DIRECTION_NONE, 3},
    {"kvm_hypercall", "nr", "call", NULL, EXITS_OF_KVM, NUMBER_NAMED, DIRECTION_NONE, 3},
    {"kvm_hv_hypercall", "code", "Hyper-V call", NULL, EXITS_OF_KVM, NUMBER_HEX, DIRECTION_NONE, 3},
    {"kvm_cr", "cr", "cr", "rw", EXITS_OF_KVM, NUMBER_NAMED, DIRECTION_FIELD, 3},
    {"kvm_page_fault", "fault_address", "page", NULL, EXITS_OF_KVM, NUMBER_HEX, DIRECTION_NONE, 1},
    {"kvm_s390_intercept_prog", "code", "program interruption", NULL, EXITS_OF_KVM, NUMBER_HEX,
     DIRECTION_NONE, 3},
    {"kvm_s390_handle_sigp", "order_code", "sigp", NULL, EXITS_OF_KVM, NUMBER_HEX, DIRECTION_NONE,
     3},
    {"kvm_s390_handle_diag", "code", "diag", NULL, EXITS_OF_KVM, NUMBER_HEX, DIRECTION_NONE, 3},
    {"kvm_hcall_enter", "req", "hcall", NULL, EXITS_OF_KVM, NUMBER_HEX, DIRECTION_NONE, 3},
    {"ioport_read", "port", "port", NULL, EXITS_OF_XEN, NUMBER_HEX, DIRECTION_READ, 3},
    {"ioport_write", "port", "port", NULL, EXITS_OF_XEN, NUMBER_HEX, DIRECTION_WRITE, 3},
    {"io_read", "port", "port", NULL, EXITS_OF_XEN, NUMBER_HEX, DIRECTION_READ, 3},
    {"io_write", "port", "port", NULL, EXITS_OF_XEN, NUMBER_HEX, DIRECTION_WRITE, 3},
    {"mmio_read", "addr", "mmio", NULL, EXITS_OF_XEN, NUMBER_HEX, DIRECTION_READ, 3},
    {"mmio_write", "addr", "mmio", NULL, EXITS_OF_XEN, NUMBER_HEX, DIRECTION_WRITE, 3},
    {"msr_read", "msr", "msr", NULL, EXITS_OF_XEN, NUMBER_MSR, DIRECTION_READ, 3},
    {"msr_write", "msr", "msr", NULL, EXITS_OF_XEN, NUMBER_MSR, DIRECTION_WRITE, 3},
    {"cpuid", "leaf", "leaf", NULL, EXITS_OF_XEN, NUMBER_HEX, DIRECTION_NONE, 3},
    {"vmmcall", "func", "call", NULL, EXITS_OF_XEN, NUMBER_NAMED, DIRECTION_NONE, 3},
    {"cr_read", "cr", "cr", NULL, EXITS_OF_XEN, NUMBER_NAMED, DIRECTION_READ, 3},
    {"cr_write", "cr", "cr", NULL, EXITS_OF_XEN, NUMBER_NAMED, DIRECTION_WRITE, 3},
    {"intr", "vector", "vector", NULL, EXITS_OF_XEN, NUMBER_NAMED, DIRECTION_NONE, 2},
    {"trap", "vector", "exception", NULL, EXITS_OF_XEN, NUMBER_NAMED, DIRECTION_NONE, 2},
    {"npf", "gpa", "page", NULL, EXITS_OF_XEN, NUMBER_HEX, DIRECTION_NONE, 1},
    {"pf_xen", "addr", "page", NULL, EXITS_OF_XEN, NUMBER_HEX, DIRECTION_NONE, 1},
    /* of paravirtualised guests */
    {"hypercall", "op", "call", NULL, EXITS_OF_XEN, NUMBER_NAMED, DIRECTION_NONE, 3},
    {"trap", "trap", "exception", NULL, EXITS_OF_XEN, NUMBER_NAMED, DIRECTION_NONE, 3},
    {"page_fault", "addr", "page", NULL, EXITS_OF_XEN, NUMBER_HEX, DIRECTION_NONE, 1},
    {"paging_fixup", "addr", "page", NULL, EXITS_OF_XEN, NUMBER_HEX, DIRECTION_NONE, 1},
    {"ptwr_emulation", "addr", "page", NULL, EXITS_OF_XEN, NUMBER_HEX, DIRECTION_NONE, 1},
};

/* ---- classes ---- */

static enum exit_state to_exit_state(enum state state)
{
    switch (state) {
    case STATE_RUNNING: return EXIT_RUNS;
    case STATE_RUNNABLE: return EXIT_WAITS;
    case STATE_SLEEPING: return EXIT_SLEEPS;
    case STATE_OFFLINE: return EXIT_OFFLINE;
    default: return EXIT_STATE_UNKNOWN;
    }
}

/* Xen's `running_to_blocked`. */
static bool is_runstate(const struct event_class *class, struct exit_class *found)
{
    enum state from, to;

    if (!states_parse_change(class, &from, &to))
        return false;
    found->from = to_exit_state(from);
    found->to = to_exit_state(to);
    found->vcpu = event_class_field(class, "vcpu");
    found->domain = event_class_field(class, "dom");
    return found->vcpu >= 0 && found->domain >= 0;
}

/* Events of the kernel's scheduler. */
static bool is_sched(const struct event_class *class, struct exit_class *found)
{
    if (kernel_event_is(class, "sched", "sched_switch")) {
        found->prev_pid = kernel_event_field(class, "prev_pid");
        found->prev_state = kernel_event_field(class, "prev_state");
        found->next_pid = kernel_event_field(class, "next_pid");
        return found->prev_pid >= 0 && found->prev_state >= 0 && found->next_pid >= 0;
    }
    if (!kernel_event_is(class, "sched", "sched_waking") &&
        !kernel_event_is(class, "sched", "sched_wakeup"))
        return false;
    found->pid = kernel_event_field(class, "pid");
    return found->pid >= 0;
}

static bool is_step(const struct event_class *class, struct exit_class *found)
{
    const char *star;
    size_t len;

    for (unsigned i = 0; i < EXIT_TRACERS; i++) {
        const struct span_rule *rule = &exit_rules[i];

        for (unsigned j = 0; j < rule->n_steps; j++) {
            if (!span_step_matches(&rule->steps[j], class, &star, &len))
                continue;
            found->tracer = i;
            found->begins = j == 0;
            return true;
        }
    }
    return false;
}

/* The field with the reason tells the processor; on x86 another field tells the vendor. */
static const struct {
    const char *field, *kind;
    enum exit_isa isa;
} kvm_reasons[] = {
    {"exit_reason", NULL, EXIT_ISA_UNKNOWN}, {"esr_ec", "ret", EXIT_ISA_ARM64},
    {"scause", NULL, EXIT_ISA_RISCV},        {"icptcode", NULL, EXIT_ISA_S390},
    {"trap", NULL, EXIT_ISA_POWER},          {"reason", NULL, EXIT_ISA_LOONGARCH},
};

/* Finds the fields of an event that begins or ends an exit. */
static void find_reason(const struct event_class *class, struct exit_class *found)
{
    found->is_nested = strncmp(class->name, "nested_", 7) == 0;
    switch (found->tracer) {
    case EXITS_OF_QEMU:
        found->fixed_isa = EXIT_ISA_KVM_USER;
        found->kind = event_class_field(class, "type");
        found->reason = event_class_field(class, "reason");
        break;
    case EXITS_OF_XEN: found->reason = event_class_field(class, "reason"); break;
    case EXITS_OF_KVM:
        found->vcpu = kernel_event_field(class, KERNEL_GUEST_VCPU);
        found->isa = event_class_field(class, "isa");
        for (unsigned i = 0; i < ARRAY_SIZE(kvm_reasons) && found->reason < 0; i++) {
            found->reason = event_class_field(class, kvm_reasons[i].field);
            found->kind = event_class_field(class, kvm_reasons[i].kind);
            found->fixed_isa = found->reason >= 0 ? kvm_reasons[i].isa : EXIT_ISA_UNKNOWN;
        }
        found->is_named = found->reason >= 0 && class->fields[found->reason].type == FIELD_STRING;
        break;
    }
}

static bool is_handler(const struct event_class *class, struct exit_class *found)
{
    for (unsigned i = 0; i < ARRAY_SIZE(handlers); i++) {
        const struct exit_handler *handler = &handlers[i];

        if ((handler->tracer == EXITS_OF_XEN) != (class->origin->layer == LAYER_HYPERVISOR) ||
            !(handler->tracer == EXITS_OF_KVM
                  ? kernel_event_is(class, KERNEL_GUEST_GROUP, handler->event)
                  : strcmp(handler->event, class->name) == 0))
            continue;
        found->tracer = handler->tracer;
        found->handler = handler;
        found->number = event_class_field(class, handler->number);
        found->direction =
            handler->direction_field ? event_class_field(class, handler->direction_field) : -1;
        if (found->number >= 0)
            return true;
    }
    found->handler = NULL;
    return false;
}

/* A part of a hypercall is not an entry of its own. */
static bool is_pv(const struct event_class *class)
{
    return class->origin->layer == LAYER_HYPERVISOR && class->group &&
           strcmp(class->group, "pv") == 0 && strcmp(class->name, "hypercall_subcall") != 0;
}

void exit_class_find(const struct event_class *class, struct exit_class *ret_class)
{
    struct exit_class found = {.role = EXIT_NOTHING,
                               .reason = -1,
                               .isa = -1,
                               .kind = -1,
                               .vcpu = -1,
                               .number = -1,
                               .direction = -1,
                               .domain = -1,
                               .prev_pid = -1,
                               .prev_state = -1,
                               .next_pid = -1,
                               .pid = -1};

    if (is_step(class, &found)) {
        found.role = EXIT_STEP;
        find_reason(class, &found);
    } else if (is_pv(class)) {
        is_handler(class, &found);
        found.role = EXIT_PV;
        found.pv_kind = hash_bytes(class->name, strlen(class->name));
    } else if (is_handler(class, &found)) {
        found.role = EXIT_HANDLER;
    } else if (kernel_event_is(class, "kvm", "kvm_userspace_exit")) {
        found.tracer = EXITS_OF_KVM;
        found.role = EXIT_TO_VMM;
    } else if (class->origin->layer == LAYER_HYPERVISOR ? is_runstate(class, &found)
                                                        : is_sched(class, &found)) {
        found.tracer = class->origin->layer == LAYER_HYPERVISOR ? EXITS_OF_XEN : EXITS_OF_KVM;
        found.role = EXIT_STATE;
    }
    *ret_class = found;
}

/* ---- reasons ---- */

static uint64_t number_of(const struct item *item, int field)
{
    struct value value;

    if (field < 0)
        return 0;
    value = item_value(item, (unsigned)field);
    return value.present ? value.u : 0;
}

bool exit_has_detail(const struct exit_class *class, const struct item *item)
{
    return item_value(item, (unsigned)class->number).present;
}

bool exit_is_unused(const struct exit_class *class, const struct item *item)
{
    return class->tracer == EXITS_OF_QEMU && class->reason < 0 &&
           number_of(item, class->kind) != KVM_RUN;
}

/* The reason that the text of ITEM names. An unknown name gets a number of its own. */
static struct exit_reason named_reason(const struct exit_class *class, const struct item *item)
{
    struct value value = item_value(item, (unsigned)class->reason);
    struct exit_reason reason = {.isa = EXIT_ISA_UNKNOWN, .is_nested = class->is_nested};

    if (value.present && !exit_reason_of_name(value.s, value.len, &reason.isa, &reason.number)) {
        reason.isa = EXIT_ISA_UNKNOWN;
        reason.number = hash_bytes(value.s, value.len);
    }
    return reason;
}

void exit_reason_of(const struct exit_class *class, const struct item *item,
                    struct exit_reason *ret_reason)
{
    if (class->is_named) {
        *ret_reason = named_reason(class, item);
        return;
    }
    struct exit_reason reason = {.isa = class->fixed_isa,
                                 .is_nested = class->is_nested,
                                 .number = number_of(item, class->reason)};
    uint64_t kind;

    if (class->tracer == EXITS_OF_KVM) {
        switch (class->fixed_isa) {
        case EXIT_ISA_ARM64:
            kind = number_of(item, class->kind);
            if (class->kind >= 0 && kind != EXIT_ARM64_TRAP)
                reason.number = EXIT_ARM64_OTHER + kind;
            break;
        case EXIT_ISA_RISCV:
        case EXIT_ISA_S390:
        case EXIT_ISA_POWER:
        case EXIT_ISA_LOONGARCH: break;
        default:
            kind = number_of(item, class->isa);
            reason.isa = kind == EXIT_ISA_VMX || kind == EXIT_ISA_SVM ? (enum exit_isa)kind
                                                                      : EXIT_ISA_UNKNOWN;
            /* Above them are flags. */
            reason.number &= reason.isa == EXIT_ISA_VMX ? 0xffff : UINT32_MAX;
            break;
        }
    }
    *ret_reason = reason;
}

void exit_reason_put(const struct exit_class *class, const struct item *item,
                     const struct exit_reason *reason, struct text *text)
{
    const char *name = exit_reason_name(reason->isa, reason->number);

    if (reason->is_nested)
        text_put_literal(text, "nested ");
    if (!name && class->reason >= 0 && class->tracer == EXITS_OF_XEN) {
        const struct value_names *names = item->class->fields[class->reason].names;

        name = names ? value_name(names, reason->number) : NULL;
    }
    if (class->reason < 0) {
        text_put_literal(text, "unknown");
        return;
    }
    /* MIPS has events with the same fields, whose formats name its own reasons. */
    if (reason->isa == EXIT_ISA_LOONGARCH) {
        struct value value = item_value(item, (unsigned)class->reason);

        if (value.present && item_put_name(item, (unsigned)class->reason, &value, text))
            return;
    }
    if (!name && class->is_named) {
        struct value value = item_value(item, (unsigned)class->reason);

        if (value.present)
            text_put_safe(text, value.s, value.len);
        else
            text_put_literal(text, "unknown");
    } else if (name)
        text_put_str(text, name);
    else if (reason->isa == EXIT_ISA_RISCV || reason->isa == EXIT_ISA_ARM64 ||
             reason->isa == EXIT_ISA_S390 || reason->isa == EXIT_ISA_POWER)
        text_put_literal(text, "0x"), text_put_hex(text, reason->number);
    else
        text_put_u64(text, reason->number);
}

void exit_item_put_reason(const struct exit_class *class, const struct item *item,
                          struct text *text)
{
    struct exit_reason reason;

    exit_reason_of(class, item, &reason);
    exit_reason_put(class, item, &reason, text);
}

/* ---- details ---- */

static enum direction direction_of(const struct exit_class *class, const struct item *item)
{
    enum direction direction = class->handler->direction;
    uint64_t v;

    if (direction != DIRECTION_FIELD && direction != DIRECTION_FIELD_UPWARD)
        return direction;
    if (class->direction < 0)
        return DIRECTION_NONE;
    v = number_of(item, class->direction);
    return v > (direction == DIRECTION_FIELD ? 0 : 1) ? DIRECTION_WRITE : DIRECTION_READ;
}

uint64_t exit_detail_number(const struct exit_class *class, const struct item *item,
                            unsigned *ret_rank)
{
    uint64_t kind = (uint64_t)(class->handler - handlers) + 1;

    *ret_rank = class->handler->rank;
    /* Addresses have 52 bits at most. Those of one word differ by their events or their direction. */
    return kind << 58 | (uint64_t)(direction_of(class, item)) << 56 |
           (number_of(item, class->number) & ((UINT64_C(1) << 56) - 1));
}

void exit_detail_put(const struct exit_class *class, const struct item *item, struct text *text)
{
    static const char *const directions[] = {
        [DIRECTION_NONE] = "",
        [DIRECTION_READ] = " read",
        [DIRECTION_WRITE] = " write",
    };
    const struct field *field = &item->class->fields[class->number];
    uint64_t v = number_of(item, class->number);
    const char *name =
        class->handler->form == NUMBER_NAMED && field->names ? value_name(field->names, v) : NULL;

    text_put_str(text, class->handler->word);
    text_put_char(text, ' ');
    if (name)
        text_put_str(text, name);
    else if (class->handler->form == NUMBER_NAMED)
        text_put_u64(text, v);
    else
        text_put_literal(text, "0x"), text_put_hex(text, v);
    name = class->handler->form == NUMBER_MSR ? value_name(&msr_names, v) : NULL;
    if (name)
        text_printf(text, " %s", name);
    text_put_str(text, directions[direction_of(class, item)]);
}
