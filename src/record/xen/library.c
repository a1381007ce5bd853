/* SPDX-License-Identifier: MIT */
#include "record/xen/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/library.h"

/* Discards messages that the libraries would print to standard error, because the caller reports errors. The layout is
 * from their logger, libxentoollog.so.1. */
struct xen_logger {
    void (*message)(struct xen_logger *logger, int level, int error, const char *context,
                    const char *format, va_list args);
    void (*progress)(struct xen_logger *logger, const char *context, const char *what, int percent,
                     unsigned long done, unsigned long total);
    void (*destroy)(struct xen_logger *logger);
};

static void no_message(struct xen_logger *logger, int level, int error, const char *context,
                       const char *format, va_list args)
{
    (void)logger;
    (void)level;
    (void)error;
    (void)context;
    (void)format;
    (void)args;
}

static void no_destroy(struct xen_logger *logger)
{
    (void)logger;
}

static struct xen_logger silent = {.message = no_message, .destroy = no_destroy};

/* ---- Is there a Xen, and may we? ---- */

/* The first line of a small file; false: it cannot be read. */
static bool read_line(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, buf, size - 1);
    close(fd);
    if (n < 0)
        return false;
    buf[n] = 0;
    buf[strcspn(buf, "\n")] = 0;
    return true;
}

static int check_host(struct error *error)
{
    char type[32] = "";
    char capabilities[64];

    if (!read_line("/sys/hypervisor/type", type, sizeof type) || strcmp(type, "xen") != 0)
        return error_set(
            error, -ENODEV, "",
            "this machine does not run on Xen (/sys/hypervisor/type %s%s): Xen's trace "
            "buffers are there in its control domain, dom0, only",
            *type ? "says " : "is not there", type);
    if (read_line("/proc/xen/capabilities", capabilities, sizeof capabilities) &&
        !strstr(capabilities, "control_d"))
        return error_set(error, -EPERM, "",
                         "this is a guest of Xen, not its control domain, and only that may see "
                         "Xen's trace buffers: record in dom0");
    if (geteuid() != 0)
        return error_set(error, -EACCES, "",
                         "only root may see Xen's trace buffers: run it as root, or with sudo");
    return 0;
}

/* ---- Opening ---- */

struct part {
    struct library library;
    const char *open; /* void *(logger, flags) */
    size_t object;
    const char *device; /* that it opens, for messages */
    const char *module; /* of Linux, that makes the device */
};

#define AT(member) offsetof(struct xen_library, member)

static const struct library_symbol call_symbols[] = {
    {"xencall1", AT(call1)},
    {"xencall2", AT(call2)},
    {"xencall_alloc_buffer", AT(alloc)},
    {"xencall_free_buffer", AT(free)},
    {"xencall_close", AT(call_close)},
    {NULL, 0},
};

static const struct library_symbol evtchn_symbols[] = {
    {"xenevtchn_fd", AT(evtchn_fd)},
    {"xenevtchn_bind_virq", AT(evtchn_bind_virq)},
    {"xenevtchn_unbind", AT(evtchn_unbind)},
    {"xenevtchn_pending", AT(evtchn_pending)},
    {"xenevtchn_unmask", AT(evtchn_unmask)},
    {"xenevtchn_close", AT(evtchn_close)},
    {NULL, 0},
};

static const struct library_symbol foreign_symbols[] = {
    {"xenforeignmemory_map", AT(foreign_map)},
    {"xenforeignmemory_unmap", AT(foreign_unmap)},
    {"xenforeignmemory_close", AT(foreign_close)},
    {NULL, 0},
};

#define PACKAGE "Xen's libraries, Debian's packages that xen-utils brings along"

static const struct part parts[] = {
    {{"libxencall.so.1", PACKAGE, call_symbols},
     "xencall_open",
     AT(call),
     "/dev/xen/privcmd",
     "xen-privcmd"},
    {{"libxenevtchn.so.1", PACKAGE, evtchn_symbols},
     "xenevtchn_open",
     AT(evtchn),
     "/dev/xen/evtchn",
     "xen-evtchn"},
    {{"libxenforeignmemory.so.1", PACKAGE, foreign_symbols},
     "xenforeignmemory_open",
     AT(foreign),
     "/dev/xen/privcmd",
     "xen-privcmd"},
};

static int open_part(struct xen_library *library, unsigned i, struct error *error)
{
    const struct part *part = &parts[i];
    void *(*function)(struct xen_logger * logger, unsigned flags);
    void *object;
    void *symbol;
    int r = library_load(&part->library, library, &library->handles[i], error);

    if (r < 0)
        return r;
    symbol = dlsym(library->handles[i], part->open);
    if (!symbol)
        return error_set(error, -ELIBACC, "", "%s has no function %s", part->library.file,
                         part->open);
    memcpy(&function, &symbol, sizeof function);
    object = function(&silent, 0);
    if (!object)
        return error_set(error, errno ? -errno : -EIO, "", "%s cannot be opened: %s%s%s%s",
                         part->device, strerror(errno), errno == ENOENT ? "; try 'modprobe " : "",
                         errno == ENOENT ? part->module : "", errno == ENOENT ? "'" : "");
    memcpy((char *)library + part->object, &object, sizeof object);
    return 0;
}

int xen_library_open(struct xen_library *ret, struct error *error)
{
    struct xen_library library = {0};
    int r = check_host(error);

    for (unsigned i = 0; r >= 0 && i < ARRAY_SIZE(parts); i++)
        r = open_part(&library, i, error);
    if (r < 0) {
        xen_library_close(&library);
        return r;
    }
    *ret = library;
    return 0;
}

void xen_library_close(struct xen_library *library)
{
    if (library->foreign)
        library->foreign_close(library->foreign);
    if (library->evtchn)
        library->evtchn_close(library->evtchn);
    if (library->call)
        library->call_close(library->call);
    for (unsigned i = 0; i < ARRAY_SIZE(library->handles); i++)
        if (library->handles[i])
            dlclose(library->handles[i]);
    *library = (struct xen_library){0};
}
