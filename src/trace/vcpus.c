/* SPDX-License-Identifier: MIT */
/* Finds the virtual machine and the vCPU of an event by its thread, from the thread lists of the virtual machine
 * monitors. In the host's kernel, kvm_entry and kvm_exit of a listed thread name the vCPU exactly, and replace the list
 * from there on, because a recorder may know only a thread's name, or not what the thread runs. */

#include <stdlib.h>
#include <string.h>

#include "event/kernel_event.h"
#include "event/value.h"
#include "timeline/transform.h"
#include "trace/open.h"
#include "tracedir/machine.h"

struct vm_thread {
    int32_t id;
    int32_t vcpu;
    bool is_exact; /* or nothing could tell more */
    const char *vm;
    const struct manifest_vmm *monitor;
};

/* Threads of all monitors. */
struct vm_threads {
    unsigned n;
    struct vm_thread items[]; /* ascending, no id twice */
};

/* Of one reader. */
struct vcpus {
    struct transform each;
    struct vm_threads *threads; /* of the input; what one of its readers has learnt holds for all */
    struct vm_thread *last;     /* the thread that was looked up last */
    int32_t last_id;
};

static int compare_threads(const void *a, const void *b)
{
    const struct vm_thread *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static const struct vm_thread *find_thread(const struct vm_threads *threads, int32_t id)
{
    const struct vm_thread key = {.id = id};

    return bsearch(&key, threads->items, threads->n, sizeof *threads->items, compare_threads);
}

/* Learns from ITEM which vCPU its thread runs. */
static void learn(struct vcpus *vcpus, const struct item *item)
{
    const struct event_class *class = item->class;
    struct value value;
    int field;

    if (item->kind != ITEM_EVENT || strncmp(class->name, "kvm_", 4) != 0 ||
        (!kernel_event_is(class, KERNEL_GUEST_GROUP, KERNEL_GUEST_ENTRY) &&
         !kernel_event_is(class, KERNEL_GUEST_GROUP, KERNEL_GUEST_EXIT)))
        return;
    field = kernel_event_field(class, KERNEL_GUEST_VCPU);
    if (field < 0 || class->fields[field].storage != STORE_SCALAR)
        return;
    value = item_value(item, (unsigned)field);
    if (!value.present || value.u >= MANIFEST_CPUS_MAX)
        return;
    vcpus->last->vcpu = (int32_t)value.u;
    vcpus->last->is_exact = true;
}

static void by_thread(struct transform *each, struct item *items, unsigned n)
{
    struct vcpus *vcpus = container_of(each, struct vcpus, each);

    for (unsigned i = 0; i < n; i++) {
        if (items[i].pid != vcpus->last_id) {
            vcpus->last_id = items[i].pid;
            vcpus->last = (struct vm_thread *)(uintptr_t)find_thread(vcpus->threads, items[i].pid);
        }
        if (unlikely(vcpus->last && !vcpus->last->is_exact))
            learn(vcpus, &items[i]);
        items[i].vcpu = vcpus->last ? vcpus->last->vcpu : VCPU_UNKNOWN;
    }
}

/* Sets the vCPU of events by their CPU: a CPU of a guest's kernel is a vCPU. */
static void by_cpu(struct transform *each, struct item *items, unsigned n)
{
    (void)each;
    for (unsigned i = 0; i < n; i++)
        items[i].vcpu = items[i].cpu == CPU_UNKNOWN ? VCPU_UNKNOWN : items[i].cpu;
}

static void vcpus_free(struct transform *each)
{
    free(container_of(each, struct vcpus, each));
}

/* ---- Which threads ---- */

/* True if its threads are known. Threads of programs are not. */
static bool is_listed(const struct manifest_vmm *vmm)
{
    return vmm && vmm->n_threads > 0;
}

static const char *boot_of(const struct manifest_source *source)
{
    return source->host && source->host->boot_id ? source->host->boot_id : "";
}

/* True if INPUT has events of the threads of VMM, a source. */
static bool is_of(const struct trace_input *input, const struct manifest_source *vmm)
{
    const struct manifest_vmm *own = input->recorded->vmm;

    if (!is_listed(vmm->vmm) || strcmp(boot_of(vmm), boot_of(input->recorded)) != 0)
        return false;
    /* A monitor's own threads are known even if there are other monitors. */
    return input->origin->layer == LAYER_HOST || !own || own == vmm->vmm;
}

/* Sorts, and removes the second of equal threads. */
static void sort_threads(struct vm_threads *threads)
{
    unsigned n = 0;

    qsort(threads->items, threads->n, sizeof *threads->items, compare_threads);
    for (unsigned i = 0; i < threads->n; i++)
        if (n == 0 || threads->items[n - 1].id != threads->items[i].id)
            threads->items[n++] = threads->items[i];
        else if (threads->items[n - 1].vcpu != threads->items[i].vcpu)
            threads->items[n - 1].vcpu = VCPU_UNKNOWN; /* one that runs several identifies none */
    threads->n = n;
}

/* Lists the threads whose events INPUT may have. -ENOMEM. */
static int list_threads(struct trace *trace, const struct trace_input *input,
                        struct vm_threads **ret)
{
    const struct manifest *manifest = input->manifest;
    struct arena *arena = &trace->catalogue.arena;
    struct vm_threads *threads;
    unsigned n_vmms = 0;
    size_t room = 0;
    bool is_exact;

    for (unsigned i = 0; i < manifest->n_sources; i++) {
        if (!is_of(input, &manifest->sources[i]))
            continue;
        n_vmms++;
        room += manifest->sources[i].vmm->n_threads;
    }
    threads = arena_alloc(arena, sizeof *threads + room * sizeof *threads->items);
    if (!threads)
        return -ENOMEM;
    *ret = threads;
    threads->n = 0;
    /* Merged traces may be of several machines, with threads of the same numbers. */
    if (n_vmms == 0 || (n_vmms > 1 && strncmp(boot_of(input->recorded), "merge:", 6) == 0))
        return 0;
    is_exact = input->origin->layer != LAYER_HOST || n_vmms > 1;
    for (unsigned i = 0; i < manifest->n_sources; i++) {
        const struct manifest_vmm *vmm = manifest->sources[i].vmm;
        char label[MACHINE_LABEL_SIZE];
        const char *name;

        if (!is_of(input, &manifest->sources[i]))
            continue;
        machine_vm_label(manifest, vmm, label);
        name = arena_strdup(arena, label);
        if (!name)
            return -ENOMEM;
        /* vCPUs of several monitors could not be distinguished by their numbers. */
        for (unsigned j = 0; j < vmm->n_threads; j++)
            threads->items[threads->n++] = (struct vm_thread){
                .id = input->origin->layer == LAYER_VMM ? manifest_thread_own_id(&vmm->threads[j])
                                                        : vmm->threads[j].id,
                .vcpu = n_vmms > 1 ? VCPU_UNKNOWN : vmm->threads[j].vcpu,
                .is_exact = is_exact,
                .vm = name,
                .monitor = machine_vmm(manifest, &manifest->sources[i]),
            };
    }
    sort_threads(threads);
    return 0;
}

/* True if a machine whose threads INPUT may have has a name. */
static bool has_named_vm(const struct trace_input *input)
{
    char name[MACHINE_NAME_SIZE];
    bool found = false;

    for (unsigned i = 0; i < input->manifest->n_sources; i++) {
        const struct manifest_source *source = &input->manifest->sources[i];

        found |= is_of(input, source) && machine_vm_name(source->vmm, name, sizeof name);
    }
    return found;
}

static const char *vm_name(const struct origin *origin, int32_t pid)
{
    const struct vm_thread *thread = find_thread(origin->vm_threads, pid);

    return thread ? thread->vm : NULL;
}

static const void *vm_of(const struct origin *origin, int32_t pid)
{
    const struct vm_thread *thread = find_thread(origin->vm_threads, pid);

    return thread ? thread->monitor : NULL;
}

/* Puts a stage on SOURCE, and owns it from then on. THREADS NULL: the source is a guest's. */
static int add_stage(struct source *source, struct vm_threads *threads, struct source **ret)
{
    struct vcpus *vcpus = calloc(1, sizeof *vcpus);

    if (!vcpus) {
        source_free(source);
        return -ENOMEM;
    }
    vcpus->threads = threads;
    vcpus->last_id = PID_UNKNOWN;
    vcpus->each = (struct transform){.change = threads ? by_thread : by_cpu, .free = vcpus_free};
    return transform_open(source, &vcpus->each, ret);
}

/* Notes on which machine the kernel of INPUT runs. -ENOMEM. */
static int note_machine(struct trace *trace, const struct trace_input *input)
{
    const struct manifest_guest *kernel = input->recorded->guest;
    const char *machine;

    if (!kernel || !kernel->machine)
        return 0;
    machine = arena_strdup(&trace->catalogue.arena, kernel->machine);
    if (!machine)
        return -ENOMEM;
    for (unsigned i = 0; i < input->n_origins; i++)
        trace->catalogue.origins[input->first_origin + i]->machine = machine;
    return 0;
}

/* Notes which process recorded the events of ORIGIN, of INPUT. */
static void note_recorder(const struct trace_input *input, struct origin *origin)
{
    const struct manifest_source *recorded = input->recorded;

    origin->pid_filter |= recorded->pid_filter;
    if (origin->layer != LAYER_GUEST)
        origin->recorder_pid =
            recorded->host && recorded->host->recorder > 0 ? recorded->host->recorder : PID_UNKNOWN;
    if (recorded->guest)
        origin->agent_pid = recorded->guest->agent_pid;
}

int vcpus_identify(struct trace *trace, struct trace_input *input)
{
    enum layer layer = input->origin->layer;
    struct vm_threads *threads = NULL;
    int r = 0;

    if (!input->manifest || !input->recorded)
        return 0;
    for (unsigned i = 0; i < input->n_origins; i++)
        note_recorder(input, trace->catalogue.origins[input->first_origin + i]);
    r = note_machine(trace, input);
    if (r < 0)
        return r;
    if (layer == LAYER_GUEST) {
        const struct manifest_vmm *vm = machine_vmm_of_guest(input->manifest, input->recorded);

        if (!vm)
            return 0;
        for (unsigned i = 0; i < input->n_origins; i++)
            trace->catalogue.origins[input->first_origin + i]->vm = vm;
    } else if (layer == LAYER_HOST || layer == LAYER_VMM) {
        r = list_threads(trace, input, &threads);
        if (r < 0 || threads->n == 0)
            return r;
        for (unsigned i = 0; i < input->n_origins; i++) {
            struct origin *origin = trace->catalogue.origins[input->first_origin + i];

            if (layer == LAYER_VMM && input->recorded->vmm)
                origin->vm = machine_vmm(input->manifest, input->recorded);
            origin->vm_threads = threads;
            origin->vm_name = vm_name;
            origin->vm_of = vm_of;
            origin->vms_are_named = has_named_vm(input);
        }
    } else {
        return 0;
    }
    for (unsigned i = 0; i < input->n_sources && r >= 0; i++) {
        struct source *source = input->sources[i];

        input->sources[i] = NULL;
        r = add_stage(source, threads, &input->sources[i]);
    }
    return r;
}
