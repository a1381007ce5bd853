/* SPDX-License-Identifier: MIT */
#include "capture/xen_control.h"

#include <string.h>

#define XEN_CONTROL_BYTES 65536 /* the topology of all CPUs there can be is 48 KB */

#define HYPERCALL_XEN_VERSION 17
#define HYPERCALL_SYSCTL 35

enum sysctl_command {
    SYSCTL_TBUF_OP = 2,
    SYSCTL_PHYSINFO = 3,
    SYSCTL_SCHED_ID = 4,
    SYSCTL_CPUTOPOINFO = 16,
};

enum tbuf_op {
    TBUF_GET_INFO,
    TBUF_SET_CPU_MASK,
    TBUF_SET_EVT_MASK,
    TBUF_SET_SIZE,
    TBUF_ENABLE,
    TBUF_DISABLE,
};

struct tbuf {
    uint32_t op;
    uint64_t cpu_mask;
    uint32_t cpu_mask_bits, gap;
    uint32_t event_mask;
    uint64_t frame;
    uint32_t size;
};

struct physinfo {
    uint32_t threads_per_core, cores_per_socket, cpus_online, cpu_max, nodes, node_max, tsc_khz;
};

struct topology {
    uint32_t n;
    uint64_t entries;
};

struct topology_entry {
    uint32_t core, socket, node;
};

#define NO_CORE UINT32_MAX

struct sysctl {
    uint32_t command, version;
    union {
        struct tbuf tbuf;
        struct physinfo physinfo;
        struct topology topology;
        uint32_t scheduler;
        uint8_t room[128];
    } u;
};

_Static_assert(sizeof(struct sysctl) == 136 && offsetof(struct sysctl, u) == 8, "as Xen has it");
_Static_assert(offsetof(struct tbuf, event_mask) == 24 && offsetof(struct tbuf, size) == 40,
               "as Xen has it");

static int sysctl(struct xen_control *control, enum sysctl_command command, struct sysctl *sysctl)
{
    struct xen_library *library = control->library;

    sysctl->command = command;
    sysctl->version = control->version;
    memcpy(control->sysctl, sysctl, sizeof *sysctl);
    if (library->call1(library->call, HYPERCALL_SYSCTL, (uint64_t)(uintptr_t)control->sysctl) < 0)
        return errno ? -errno : -EIO;
    memcpy(sysctl, control->sysctl, sizeof *sysctl);
    return 0;
}

static int tbuf(struct xen_control *control, struct tbuf *op)
{
    struct sysctl s = {.u.tbuf = *op};
    int r = sysctl(control, SYSCTL_TBUF_OP, &s);

    *op = s.u.tbuf;
    return r;
}

/* ---- Opening ---- */

/* Xen answers a wrong version with -EACCES. Newer ones than are known are tried too: the layouts used here
 * have outlived each so far, and what comes back is checked. */
static int find_version(struct xen_control *control, struct fault *fault)
{
    static const uint32_t versions[] = {0x15, 0x16, 0x14, 0x17, 0x18, 0x19, 0x1a};
    struct xen_physinfo physinfo;
    int r = -EACCES;

    for (size_t i = 0; i < ARRAY_SIZE(versions) && r == -EACCES; i++) {
        control->version = versions[i];
        r = xen_control_physinfo(control, &physinfo);
    }
    if (r == -EACCES)
        return fault_plain(fault, -EPROTO, "",
                           "this Xen's sysctl interface is of a version that is not known here "
                           "(0x14 to 0x1a are): a newer strata is needed");
    if (r < 0)
        return fault_plain(fault, r, "", "Xen refuses to be asked about itself: %s", strerror(-r));
    if (physinfo.cpu_max >= CPU_LIST_MAX || physinfo.cpus_online == 0 ||
        physinfo.cpus_online > physinfo.cpu_max + 1)
        return fault_plain(fault, -EPROTO, "",
                           "this Xen's answers (sysctl interface 0x%x) are not as those of 4.17 to "
                           "4.22: a newer strata is needed",
                           (unsigned)control->version);
    return 0;
}

int xen_control_init(struct xen_control *ret, struct xen_library *library, struct fault *fault)
{
    struct xen_control control = {.library = library};
    int r;

    control.sysctl = library->alloc(library->call, sizeof(struct sysctl));
    control.bytes = library->alloc(library->call, XEN_CONTROL_BYTES);
    if (!control.sysctl || !control.bytes)
        r = fault_plain(fault, -ENOMEM, "", "there is no memory for hypercalls");
    else
        r = find_version(&control, fault);
    if (r < 0) {
        xen_control_done(&control);
        return r;
    }
    *ret = control;
    return 0;
}

void xen_control_done(struct xen_control *control)
{
    struct xen_library *library = control->library;

    if (control->sysctl)
        library->free(library->call, control->sysctl);
    if (control->bytes)
        library->free(library->call, control->bytes);
    *control = (struct xen_control){0};
}

/* ---- Trace buffers ---- */

int xen_control_info(struct xen_control *control, struct xen_tbuf_info *ret)
{
    struct tbuf op = {.op = TBUF_GET_INFO};
    int r = tbuf(control, &op);

    if (r >= 0)
        *ret = (struct xen_tbuf_info){op.event_mask, op.frame, op.size};
    return r;
}

int xen_control_set_events(struct xen_control *control, uint32_t mask)
{
    struct tbuf op = {.op = TBUF_SET_EVT_MASK, .event_mask = mask};

    return tbuf(control, &op);
}

int xen_control_set_cpus(struct xen_control *control, const struct cpu_list *cpus)
{
    struct tbuf op = {.op = TBUF_SET_CPU_MASK,
                      .cpu_mask = (uint64_t)(uintptr_t)control->bytes,
                      .cpu_mask_bits = CPU_LIST_MAX};

    if (cpus)
        memcpy(control->bytes, cpus->bits, sizeof cpus->bits);
    else
        memset(control->bytes, 0xff, sizeof cpus->bits);
    return tbuf(control, &op);
}

int xen_control_set_size(struct xen_control *control, unsigned pages)
{
    struct tbuf op = {.op = TBUF_SET_SIZE, .size = pages};

    return tbuf(control, &op);
}

int xen_control_enable(struct xen_control *control)
{
    struct tbuf op = {.op = TBUF_ENABLE};

    return tbuf(control, &op);
}

int xen_control_disable(struct xen_control *control)
{
    struct tbuf op = {.op = TBUF_DISABLE};

    return tbuf(control, &op);
}

/* ---- The host ---- */

int xen_control_physinfo(struct xen_control *control, struct xen_physinfo *ret)
{
    struct sysctl s = {0};
    int r = sysctl(control, SYSCTL_PHYSINFO, &s);

    if (r >= 0)
        *ret = (struct xen_physinfo){s.u.physinfo.cpus_online, s.u.physinfo.cpu_max,
                                     s.u.physinfo.tsc_khz};
    return r;
}

int xen_control_scheduler(struct xen_control *control, const char **ret)
{
    static const char *const names[] = {
        [4] = "sedf", [5] = "credit", [6] = "credit2", [7] = "arinc653", [8] = "rtds", [9] = "null",
    };
    struct sysctl s = {0};
    int r = sysctl(control, SYSCTL_SCHED_ID, &s);

    if (r >= 0)
        *ret = s.u.scheduler < ARRAY_SIZE(names) ? names[s.u.scheduler] : NULL;
    return r;
}

int xen_control_online(struct xen_control *control, unsigned n, struct cpu_list *ret)
{
    struct sysctl s = {.u.topology = {.n = n, .entries = (uint64_t)(uintptr_t)control->bytes}};
    const struct topology_entry *entries = control->bytes;
    struct cpu_list online = {0};
    int r;

    if (n > CPU_LIST_MAX)
        return -EINVAL;
    memset(control->bytes, 0xff, n * sizeof *entries);
    r = sysctl(control, SYSCTL_CPUTOPOINFO, &s);
    if (r < 0)
        return r;
    for (unsigned cpu = 0; cpu < MIN(n, s.u.topology.n); cpu++)
        if (entries[cpu].core != NO_CORE)
            cpu_list_add(&online, cpu);
    *ret = online;
    return 0;
}

int xen_control_version(struct xen_control *control, uint32_t *ret)
{
    struct xen_library *library = control->library;
    int r = library->call2(library->call, HYPERCALL_XEN_VERSION, 0, 0);

    if (r < 0)
        return errno ? -errno : -EIO;
    *ret = (uint32_t)r;
    return 0;
}

int xen_control_text(struct xen_control *control, enum xen_text which, char *buf, size_t size)
{
    struct xen_library *library = control->library;
    size_t len;

    memset(control->bytes, 0, 1024);
    if (library->call2(library->call, HYPERCALL_XEN_VERSION, which,
                       (uint64_t)(uintptr_t)control->bytes) < 0)
        return errno ? -errno : -EIO;
    len = strnlen(control->bytes, MIN(size - 1, (size_t)1023));
    memcpy(buf, control->bytes, len);
    buf[len] = 0;
    return 0;
}
