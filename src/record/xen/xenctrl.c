/* SPDX-License-Identifier: MIT */
#include "record/xen/xenctrl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/library.h"

/* The largest that Xen's structure of physical facts may grow to. */
#define PHYSINFO_MAX 1024

static const struct library_symbol symbols[] = {
    {"xc_interface_close", offsetof(struct xen_xenctrl, close)},
    {"xc_tbuf_enable", offsetof(struct xen_xenctrl, enable)},
    {"xc_tbuf_disable", offsetof(struct xen_xenctrl, disable)},
    {"xc_tbuf_set_cpu_mask", offsetof(struct xen_xenctrl, set_cpus)},
    {"xc_tbuf_set_evt_mask", offsetof(struct xen_xenctrl, set_events)},
    {"xc_physinfo", offsetof(struct xen_xenctrl, physinfo)},
    {"xc_sched_id", offsetof(struct xen_xenctrl, sched_id)},
    {NULL, 0},
};

int xen_xenctrl_open(struct xen_xenctrl *ret, uint32_t version, struct error *error)
{
    struct xen_xenctrl xenctrl = {0};
    void *(*function)(void *logger, void *dombuild_logger, unsigned flags);
    char file[64];
    struct library library = {file, "Xen's libraries of this version", symbols};
    void *symbol;
    int r;

    snprintf(file, sizeof file, "libxenctrl.so.%u.%u", (unsigned)(version >> 16),
             (unsigned)(version & 0xffff));
    r = library_load(&library, &xenctrl, &xenctrl.handle, error);
    if (r < 0)
        return r;
    symbol = dlsym(xenctrl.handle, "xc_interface_open");
    if (symbol) {
        memcpy(&function, &symbol, sizeof function);
        xenctrl.xch = function(NULL, NULL, 0);
    }
    if (!xenctrl.xch) {
        dlclose(xenctrl.handle);
        return error_set(error, -EIO, "", "%s cannot reach Xen", file);
    }
    *ret = xenctrl;
    return 0;
}

void xen_xenctrl_close(struct xen_xenctrl *xenctrl)
{
    if (xenctrl->xch)
        xenctrl->close(xenctrl->xch);
    if (xenctrl->handle)
        dlclose(xenctrl->handle);
    *xenctrl = (struct xen_xenctrl){0};
}

static int result(int r)
{
    if (r >= 0)
        return 0;
    return errno ? -errno : -EIO;
}

int xen_xenctrl_enable(struct xen_xenctrl *xenctrl, unsigned pages, uint64_t *ret_frame,
                       uint32_t *ret_size)
{
    unsigned long frame = 0;
    unsigned long size = 0;
    int r = result(xenctrl->enable(xenctrl->xch, pages, &frame, &size));

    if (r >= 0) {
        *ret_frame = frame;
        *ret_size = (uint32_t)size;
    }
    return r;
}

int xen_xenctrl_disable(struct xen_xenctrl *xenctrl)
{
    return result(xenctrl->disable(xenctrl->xch));
}

int xen_xenctrl_set_events(struct xen_xenctrl *xenctrl, uint32_t mask)
{
    return result(xenctrl->set_events(xenctrl->xch, mask));
}

int xen_xenctrl_set_cpus(struct xen_xenctrl *xenctrl, const struct cpu_set *cpus)
{
    /* Of as many bits as any Xen has CPUs; the library takes those of this one. */
    uint8_t mask[CPU_SET_MAX / 8];

    for (unsigned i = 0; i < sizeof mask; i++)
        mask[i] = (uint8_t)(cpus ? cpus->bits[i / 8] >> i % 8 * 8 : 0xff);
    return result(xenctrl->set_cpus(xenctrl->xch, mask));
}

int xen_xenctrl_physinfo(struct xen_xenctrl *xenctrl, uint32_t *words, unsigned n)
{
    uint64_t info[PHYSINFO_MAX / 8] = {0};
    int r = result(xenctrl->physinfo(xenctrl->xch, info));

    if (r >= 0)
        memcpy(words, info, MIN(n * sizeof *words, sizeof info));
    return r;
}

int xen_xenctrl_scheduler(struct xen_xenctrl *xenctrl, uint32_t *ret)
{
    int id = 0;
    int r = result(xenctrl->sched_id(xenctrl->xch, &id));

    if (r >= 0)
        *ret = (uint32_t)id;
    return r;
}
