/* SPDX-License-Identifier: MIT */
#include "tracedir/machine.h"

#include <stdio.h>

bool machine_is_vm(const struct manifest_source *source)
{
    return strcmp(source->layer, "vmm") == 0 && source->vmm &&
           (source->vmm->version || source->vmm->accelerator);
}

bool machine_vm_name(const struct manifest_vmm *vmm, char *buf, size_t size)
{
    for (unsigned i = 0; i + 1 < vmm->n_command; i++) {
        const char *name = vmm->command[i + 1];

        if (strcmp(vmm->command[i], "-name") != 0 && strcmp(vmm->command[i], "--name") != 0)
            continue;
        if (strncmp(name, "guest=", 6) == 0)
            name += 6;
        snprintf(buf, size, "%.*s", (int)strcspn(name, ","), name);
        return true;
    }
    return false;
}

/* The name of the one virtual machine of MANIFEST that has one; false: none has, or several have. */
static bool find_vm(const struct manifest *manifest, char *buf, size_t size)
{
    unsigned n = 0;

    for (unsigned i = 0; i < manifest->n_sources; i++) {
        char name[MACHINE_NAME_SIZE];

        if (!machine_is_vm(&manifest->sources[i]) ||
            !machine_vm_name(manifest->sources[i].vmm, name, sizeof name))
            continue;
        if (n++ == 0)
            snprintf(buf, size, "%s", name);
    }
    return n == 1;
}

/* The length of NAME without the number of a boot, "guest.2". */
static size_t guest_name_len(const char *name)
{
    const char *dot = strrchr(name, '.');

    if (!dot || dot == name || dot[1] == '\0' || dot[1 + strspn(dot + 1, "0123456789")] != '\0')
        return strlen(name);
    return (size_t)(dot - name);
}

void machine_name(const struct manifest *manifest, const struct manifest_source *source, char *buf,
                  size_t size)
{
    if (strcmp(source->layer, "guest") == 0) {
        size_t len = guest_name_len(source->name);

        if (len == strlen(MACHINE_GUEST_OF_QEMU) &&
            strncmp(source->name, MACHINE_GUEST_OF_QEMU, len) == 0 && find_vm(manifest, buf, size))
            return;
        snprintf(buf, size, "%.*s", (int)len, source->name);
    } else if (machine_is_vm(source)) {
        if (!machine_vm_name(source->vmm, buf, size))
            snprintf(buf, size, "%s", source->vmm->version ? MACHINE_GUEST_OF_QEMU : source->name);
    } else {
        snprintf(buf, size, "%s", source->host && source->host->name ? source->host->name : "");
    }
}
