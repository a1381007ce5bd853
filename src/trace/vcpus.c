/* SPDX-License-Identifier: MIT */
/* Finds the vCPU of an event by the thread that runs it, from the virtual machine monitor's list of
 * threads. */

#include <string.h>

#include "timeline/transform.h"
#include "trace/open.h"

struct thread {
    int32_t id;
    int32_t vcpu;
};

struct vcpus {
    struct transform each;
    struct thread last; /* the one that was asked for last */
    unsigned n;
    struct thread threads[]; /* ascending, no id twice */
};

static int compare_threads(const void *a, const void *b)
{
    const struct thread *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static _cold_ int32_t find_vcpu(const struct vcpus *vcpus, int32_t id)
{
    const struct thread key = {.id = id};
    const struct thread *found =
        bsearch(&key, vcpus->threads, vcpus->n, sizeof *vcpus->threads, compare_threads);

    return found ? found->vcpu : VCPU_UNKNOWN;
}

static void by_thread(struct transform *each, struct item *items, unsigned n)
{
    struct vcpus *vcpus = container_of(each, struct vcpus, each);

    for (unsigned i = 0; i < n; i++) {
        if (items[i].pid != vcpus->last.id)
            vcpus->last = (struct thread){items[i].pid, find_vcpu(vcpus, items[i].pid)};
        items[i].vcpu = vcpus->last.vcpu;
    }
}

/* A CPU of a guest's kernel is a vCPU. */
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

/* Those of its threads that run one, and only one. */
static struct vcpus *make_vcpus(const struct manifest_vmm *vmm)
{
    struct vcpus *vcpus = calloc(1, sizeof *vcpus + vmm->n_threads * sizeof *vcpus->threads);
    unsigned n = 0;

    if (!vcpus)
        return NULL;
    for (unsigned i = 0; i < vmm->n_threads; i++)
        vcpus->threads[i] = (struct thread){vmm->threads[i].id, vmm->threads[i].vcpu};
    qsort(vcpus->threads, vmm->n_threads, sizeof *vcpus->threads, compare_threads);
    for (unsigned i = 0; i < vmm->n_threads; i++) {
        if (n > 0 && vcpus->threads[n - 1].id == vcpus->threads[i].id) {
            if (vcpus->threads[n - 1].vcpu != vcpus->threads[i].vcpu)
                vcpus->threads[n - 1].vcpu = VCPU_UNKNOWN;
        } else {
            vcpus->threads[n++] = vcpus->threads[i];
        }
    }
    vcpus->n = n;
    vcpus->last = (struct thread){PID_UNKNOWN, VCPU_UNKNOWN};
    return vcpus;
}

/* The virtual machine monitor of the directory; NULL if there are several, because their vCPUs could
 * not be distinguished. */
static const struct manifest_vmm *find_vmm(const struct manifest *manifest)
{
    const struct manifest_vmm *vmm = NULL;

    for (unsigned i = 0; manifest && i < manifest->n_sources; i++) {
        if (!manifest->sources[i].vmm)
            continue;
        if (vmm)
            return NULL;
        vmm = manifest->sources[i].vmm;
    }
    return vmm;
}

int vcpus_identify(struct trace *trace, struct trace_input *input)
{
    const struct manifest_vmm *vmm = find_vmm(input->manifest);
    enum layer layer = input->origin->layer;

    (void)trace;
    /* A VMM's own threads are known even if there are other VMMs. */
    if (input->recorded && input->recorded->vmm)
        vmm = input->recorded->vmm;
    if (!vmm || (layer != LAYER_VMM && layer != LAYER_HOST && layer != LAYER_GUEST) ||
        (layer != LAYER_GUEST && vmm->n_threads == 0))
        return 0;
    for (unsigned i = 0; i < input->n_sources; i++) {
        struct source *source = input->sources[i];
        struct vcpus *vcpus = make_vcpus(vmm);
        int r;

        if (!vcpus)
            return -ENOMEM;
        vcpus->each = (struct transform){layer == LAYER_GUEST ? by_cpu : by_thread, vcpus_free};
        input->sources[i] = NULL;
        r = transform_open(source, &vcpus->each, &input->sources[i]);
        if (r < 0)
            return r;
    }
    return 0;
}
