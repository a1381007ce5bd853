/* SPDX-License-Identifier: MIT */
#include "control/libvirt_api.h"

#include <dlfcn.h>

#include "base/library.h"

#define AT(member) offsetof(struct libvirt_api, member)

static const struct library_symbol client_symbols[] = {
    {"virGetLastError", AT(last_error)},
    {"virSetErrorFunc", AT(set_error_func)},
    {"virConnectOpen", AT(open)},
    {"virConnectOpenReadOnly", AT(open_read_only)},
    {"virConnectClose", AT(close)},
    {"virConnectIsAlive", AT(is_alive)},
    {"virConnectGetType", AT(get_type)},
    {"virConnectGetURI", AT(get_uri)},
    {"virConnectListAllDomains", AT(list_domains)},
    {"virDomainLookupByID", AT(find_id)},
    {"virDomainLookupByUUIDString", AT(find_uuid)},
    {"virDomainLookupByName", AT(find_name)},
    {"virDomainRef", AT(ref)},
    {"virDomainFree", AT(free)},
    {"virDomainGetName", AT(get_name)},
    {"virDomainGetID", AT(get_id)},
    {"virDomainGetUUIDString", AT(get_uuid)},
    {"virDomainGetState", AT(get_state)},
    {"virDomainGetXMLDesc", AT(get_xml)},
    {"virDomainAttachDeviceFlags", AT(attach)},
    {"virDomainDetachDeviceFlags", AT(detach)},
    {"virEventRegisterDefaultImpl", AT(register_loop)},
    {"virEventRunDefaultImpl", AT(run_loop)},
    {"virConnectDomainEventRegisterAny", AT(register_event)},
    {"virConnectDomainEventDeregisterAny", AT(deregister_event)},
    {NULL, 0},
};

static const struct library_symbol qemu_symbols[] = {
    {"virDomainQemuMonitorCommand", AT(monitor_command)},
    {"virConnectDomainQemuMonitorEventRegister", AT(register_monitor_event)},
    {"virConnectDomainQemuMonitorEventDeregister", AT(deregister_monitor_event)},
    {NULL, 0},
};

#define PACKAGE "libvirt's client library, Debian's package libvirt0"

static const struct library parts[] = {
    {"libvirt.so.0", PACKAGE, client_symbols},
    {"libvirt-qemu.so.0", PACKAGE, qemu_symbols},
};

/* libvirt would print each error on standard error. The caller reports it. */
static void print_nothing(void *userdata, struct virt_error *error)
{
    (void)userdata;
    (void)error;
}

int libvirt_api_open(const struct libvirt_api **ret, struct error *error)
{
    static struct libvirt_api opened;
    struct libvirt_api api = {0};
    int r = 0;

    if (opened.handles[0]) {
        *ret = &opened;
        return 0;
    }
    for (unsigned i = 0; r >= 0 && i < ARRAY_SIZE(parts); i++)
        r = library_load(&parts[i], &api, &api.handles[i], error);
    if (r < 0) {
        for (unsigned i = 0; i < ARRAY_SIZE(api.handles); i++)
            if (api.handles[i])
                dlclose(api.handles[i]);
        return r;
    }
    api.set_error_func(NULL, print_nothing);
    /* Before the first connection, which then receives events. */
    if (api.register_loop() < 0)
        return error_set(error, -EIO, "", "libvirt cannot make its event loop");
    opened = api;
    *ret = &opened;
    return 0;
}
