/* SPDX-License-Identifier: MIT */
#include "record/qemu/domain.h"

#include <stdio.h>
#include <string.h>

/* The directory of a domain has its number in its name: "domain-3-web". */
bool qemu_domain_is(const struct libvirt_domain *domain, const struct qemu_process *running)
{
    const char *slash = running->libvirt ? strrchr(running->libvirt, '/') : NULL;
    char start[32];

    if (!running->uuid || strcmp(running->uuid, libvirt_domain_uuid(domain)) != 0)
        return false;
    snprintf(start, sizeof start, "/domain-%u-", libvirt_domain_id(domain));
    return !slash || strncmp(slash, start, strlen(start)) == 0;
}

int qemu_domain_find(const char *uri, const struct qemu_process *running,
                     struct libvirt_domain **ret, struct error *error)
{
    _cleanup_(libvirt_domain_closep) struct libvirt_domain *domain = NULL;
    const char *name = running->name ? running->name : "";
    struct error why = {0};
    char text[512];
    int r = running->uuid ? libvirt_domain_open(uri, running->uuid, &domain, &why) : -ENOENT;

    if (r >= 0 && !qemu_domain_is(domain, running))
        r = error_set(&why, -ENOENT, libvirt_domain_uri(domain), "its domain is another process");
    if (r >= 0) {
        *ret = TAKE_PTR(domain);
        return 0;
    }
    error_print(&why, text, sizeof text);
    return error_set(
        error, r, NULL,
        "process %ld is the QEMU of libvirt domain '%.80s', and its monitor is reached "
        "through libvirt only: strata record --libvirt %s --libvirt-uri URI; %s",
        (long)running->pid, name, running->uuid ? running->uuid : "UUID", text);
}
