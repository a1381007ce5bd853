/* SPDX-License-Identifier: MIT */
#include "record/xen/control.h"

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
    _Alignas(8) uint64_t cpu_mask;
    uint32_t cpu_mask_bits, gap;
    uint32_t event_mask;
    _Alignas(8) uint64_t frame;
    uint32_t size;
};

struct physinfo {
    uint32_t threads_per_core, cores_per_socket, cpus_online, cpu_max, nodes, node_max, tsc_khz;
};

struct topology {
    uint32_t n;
    _Alignas(8) uint64_t entries;
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

/* Xen answers a wrong version with -EACCES. */
static int find_version(struct xen_control *control, struct error *error)
{
    static const uint32_t versions[] = {0x15, 0x16};
    struct xen_physinfo physinfo;
    int r = -EACCES;

    for (size_t i = 0; i < ARRAY_SIZE(versions) && r == -EACCES; i++) {
        control->version = versions[i];
        r = xen_control_physinfo(control, &physinfo);
    }
    if (r == -EACCES)
        control->version = 0;
    else if (r < 0)
        return error_set(error, r, "", "Xen refuses to describe itself: %s", strerror(-r));
    return 0;
}

static int open_xenctrl(struct xen_control *control, struct error *error)
{
    struct error why = {0};
    struct xen_physinfo physinfo;
    uint32_t version = 0;
    int r = xen_control_version(control, &version);

    if (r >= 0)
        r = xen_xenctrl_open(&control->xenctrl, version, &why);
    if (r >= 0)
        r = xen_control_physinfo(control, &physinfo);
    if (r < 0)
        return error_set(error, -EPROTO, "",
                         "unsupported Xen interface (supported: 4.17 to 4.22), and libxenctrl of "
                         "this Xen does not help: %s",
                         *why.what ? why.what : strerror(-r));
    if (physinfo.cpu_max >= CPU_SET_MAX || physinfo.cpus_online == 0 ||
        physinfo.cpus_online > physinfo.cpu_max + 1)
        return error_set(error, -EPROTO, "", "unsupported Xen interface (supported: 4.17 to 4.22)");
    return 0;
}

int xen_control_init(struct xen_control *ret, struct xen_library *library, bool xenctrl,
                     struct error *error)
{
    struct xen_control control = {.library = library};
    int r = 0;

    control.sysctl = library->alloc(library->call, sizeof(struct sysctl));
    control.bytes = library->alloc(library->call, XEN_CONTROL_BYTES);
    if (!control.sysctl || !control.bytes)
        r = error_set(error, -ENOMEM, "", "no memory for hypercalls");
    if (r >= 0 && !xenctrl)
        r = find_version(&control, error);
    if (r >= 0 && control.version == 0)
        r = open_xenctrl(&control, error);
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
    xen_xenctrl_close(&control->xenctrl);
    *control = (struct xen_control){0};
}

/* ---- Trace buffers ---- */

static int enable_by_xenctrl(struct xen_control *control, unsigned pages, struct xen_tbuf_info *ret)
{
    struct xen_tbuf_info info = {.events = XEN_CONTROL_ALL};
    int r = xen_xenctrl_enable(&control->xenctrl, pages, &info.t_info, &info.t_info_size);

    if (r >= 0)
        *ret = info;
    return r;
}

int xen_control_info(struct xen_control *control, struct xen_tbuf_info *ret)
{
    struct tbuf op = {.op = TBUF_GET_INFO};
    int r;

    if (control->version == 0) {
        *ret = (struct xen_tbuf_info){.events = XEN_CONTROL_ALL};
        return 0;
    }
    r = tbuf(control, &op);
    if (r >= 0)
        *ret = (struct xen_tbuf_info){true, op.event_mask, op.frame, op.size};
    return r;
}

int xen_control_set_events(struct xen_control *control, uint32_t mask)
{
    struct tbuf op = {.op = TBUF_SET_EVT_MASK, .event_mask = mask};

    if (control->version == 0)
        return xen_xenctrl_set_events(&control->xenctrl, mask);
    return tbuf(control, &op);
}

int xen_control_set_cpus(struct xen_control *control, const struct cpu_set *cpus)
{
    struct tbuf op = {.op = TBUF_SET_CPU_MASK,
                      .cpu_mask = (uint64_t)(uintptr_t)control->bytes,
                      .cpu_mask_bits = CPU_SET_MAX};

    if (control->version == 0)
        return xen_xenctrl_set_cpus(&control->xenctrl, cpus);
    if (cpus)
        memcpy(control->bytes, cpus->bits, sizeof cpus->bits);
    else
        memset(control->bytes, 0xff, sizeof cpus->bits);
    return tbuf(control, &op);
}

int xen_control_set_size(struct xen_control *control, unsigned pages, struct xen_tbuf_info *ret)
{
    struct tbuf op = {.op = TBUF_SET_SIZE, .size = pages};
    int r;

    if (control->version == 0)
        return enable_by_xenctrl(control, pages, ret);
    r = tbuf(control, &op);
    return r < 0 ? r : xen_control_info(control, ret);
}

int xen_control_enable(struct xen_control *control)
{
    struct tbuf op = {.op = TBUF_ENABLE};
    struct xen_tbuf_info info;

    return control->version == 0 ? enable_by_xenctrl(control, 0, &info) : tbuf(control, &op);
}

int xen_control_disable(struct xen_control *control)
{
    struct tbuf op = {.op = TBUF_DISABLE};

    return control->version == 0 ? xen_xenctrl_disable(&control->xenctrl) : tbuf(control, &op);
}

/* ---- The host ---- */

int xen_control_physinfo(struct xen_control *control, struct xen_physinfo *ret)
{
    struct sysctl s = {0};
    struct physinfo *physinfo = &s.u.physinfo;
    int r = control->version == 0
                ? xen_xenctrl_physinfo(&control->xenctrl, &physinfo->threads_per_core,
                                       sizeof *physinfo / sizeof(uint32_t))
                : sysctl(control, SYSCTL_PHYSINFO, &s);

    if (r >= 0)
        *ret = (struct xen_physinfo){physinfo->cpus_online, physinfo->cpu_max, physinfo->tsc_khz};
    return r;
}

int xen_control_scheduler(struct xen_control *control, const char **ret)
{
    static const char *const names[] = {
        [4] = "sedf", [5] = "credit", [6] = "credit2", [7] = "arinc653", [8] = "rtds", [9] = "null",
    };
    struct sysctl s = {0};
    int r = control->version == 0 ? xen_xenctrl_scheduler(&control->xenctrl, &s.u.scheduler)
                                  : sysctl(control, SYSCTL_SCHED_ID, &s);

    if (r >= 0)
        *ret = s.u.scheduler < ARRAY_SIZE(names) ? names[s.u.scheduler] : NULL;
    return r;
}

int xen_control_online(struct xen_control *control, unsigned n, struct cpu_set *ret)
{
    struct sysctl s = {.u.topology = {.n = n, .entries = (uint64_t)(uintptr_t)control->bytes}};
    const struct topology_entry *entries = control->bytes;
    struct cpu_set online = {0};
    int r;

    if (control->version == 0)
        return -EOPNOTSUPP;
    if (n > CPU_SET_MAX)
        return -EINVAL;
    memset(control->bytes, 0xff, n * sizeof *entries);
    r = sysctl(control, SYSCTL_CPUTOPOINFO, &s);
    if (r < 0)
        return r;
    for (unsigned cpu = 0; cpu < MIN(n, s.u.topology.n); cpu++)
        if (entries[cpu].core != NO_CORE)
            cpu_set_add(&online, cpu);
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
