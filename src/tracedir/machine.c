/* SPDX-License-Identifier: MIT */
#include "tracedir/machine.h"

#include <stdio.h>

bool machine_is_vm(const struct manifest_source *source)
{
    return strcmp(source->layer, "vmm") == 0 && source->vmm &&
           (source->vmm->version || source->vmm->accelerator);
}

/* Copies one value of a QEMU option from P to BUF. In it, a comma is doubled. Returns the end of the value. */
static const char *get_value(const char *p, char *buf, size_t size)
{
    size_t len = 0;

    for (; *p && (*p != ',' || p[1] == ','); p++) {
        if (len + 1 < size)
            buf[len++] = *p;
        p += *p == ',';
    }
    buf[len] = '\0';
    return p;
}

bool machine_name_of_option(const char *value, char *buf, size_t size)
{
    char part[MACHINE_NAME_SIZE];
    bool is_first = true, found = false;

    for (const char *p = value; *p; p += *p == ',', is_first = false) {
        size_t key = strcspn(p, "=,");
        bool has_key = p[key] == '=';

        if (has_key ? key == 5 && strncmp(p, "guest", 5) == 0 : is_first) {
            p = get_value(has_key ? p + key + 1 : p, part, sizeof part);
            snprintf(buf, size, "%s", part);
            found = part[0] != '\0';
        } else {
            p = get_value(p, part, sizeof part);
        }
    }
    return found;
}

bool machine_vm_name(const struct manifest_vmm *vmm, char *buf, size_t size)
{
    bool found = vmm->name && *vmm->name;

    if (found)
        snprintf(buf, size, "%s", vmm->name);
    for (unsigned i = 0; !found && i + 1 < vmm->n_command; i++)
        if (strcmp(vmm->command[i], "-name") == 0 || strcmp(vmm->command[i], "--name") == 0)
            found = machine_name_of_option(vmm->command[i + 1], buf, size);
    return found;
}

/* True if another monitor of MANIFEST than VMM runs a machine called NAME. */
static bool is_name_taken(const struct manifest *manifest, const struct manifest_vmm *vmm,
                          const char *name)
{
    for (unsigned i = 0; i < manifest->n_sources; i++) {
        const struct manifest_vmm *other = manifest->sources[i].vmm;
        char own[MACHINE_NAME_SIZE];

        if (other && other != vmm && other->pid != vmm->pid &&
            machine_vm_name(other, own, sizeof own) && strcmp(own, name) == 0)
            return true;
    }
    return false;
}

void machine_vm_label(const struct manifest *manifest, const struct manifest_vmm *vmm,
                      char buf[static MACHINE_LABEL_SIZE])
{
    const char *slash = vmm->program ? strrchr(vmm->program, '/') : NULL;
    const char *program = slash ? slash + 1 : vmm->program ? vmm->program : "vm";
    char name[MACHINE_NAME_SIZE];

    if (!machine_vm_name(vmm, name, sizeof name))
        snprintf(buf, MACHINE_LABEL_SIZE, "%.100s-%ld", program, (long)vmm->pid);
    else if (is_name_taken(manifest, vmm, name))
        snprintf(buf, MACHINE_LABEL_SIZE, "%s-%ld", name, (long)vmm->pid);
    else
        snprintf(buf, MACHINE_LABEL_SIZE, "%s", name);
}

/* Copies the name of the only virtual machine in MANIFEST with a name. False if none or several have one. */
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

/* The length of NAME without the number of a boot ("guest.2"). */
static size_t guest_name_len(const char *name)
{
    const char *dot = strrchr(name, '.');

    if (!dot || dot == name || dot[1] == '\0' || dot[1 + strspn(dot + 1, "0123456789")] != '\0')
        return strlen(name);
    return (size_t)(dot - name);
}

static const char *boot_of(const struct manifest_source *source)
{
    return source->host && source->host->boot_id ? source->host->boot_id : "";
}

const struct manifest_vmm *machine_vmm(const struct manifest *manifest,
                                       const struct manifest_source *source)
{
    for (unsigned i = 0; i < manifest->n_sources; i++) {
        const struct manifest_source *other = &manifest->sources[i];

        /* A guest names its monitor by the process ID alone. */
        if (other->vmm && strcmp(other->layer, "guest") != 0 && other->vmm->pid > 0 &&
            other->vmm->pid == source->vmm->pid && strcmp(boot_of(other), boot_of(source)) == 0)
            return other->vmm;
    }
    return source->vmm;
}

static bool is_called(const struct manifest_source *guest, const char *name, size_t len)
{
    return guest_name_len(guest->name) == len && strncmp(guest->name, name, len) == 0;
}

const struct manifest_vmm *machine_vmm_of_guest(const struct manifest *manifest,
                                                const struct manifest_source *source)
{
    size_t len = guest_name_len(source->name);
    const struct manifest_vmm *vmm = NULL;
    bool is_only = true;

    if (source->vmm)
        return machine_vmm(manifest, source);
    for (unsigned i = 0; i < manifest->n_sources; i++) {
        const struct manifest_source *other = &manifest->sources[i];

        if (other->vmm && vmm && machine_vmm(manifest, other) != vmm)
            return NULL;
        if (other->vmm)
            vmm = machine_vmm(manifest, other);
        if (strcmp(other->layer, "guest") == 0)
            is_only = is_only && is_called(other, source->name, len);
    }
    return is_only || is_called(source, MACHINE_GUEST_OF_QEMU, strlen(MACHINE_GUEST_OF_QEMU))
               ? vmm
               : NULL;
}

bool machine_has_name(const struct manifest *manifest, const struct manifest_source *source,
                      char *buf, size_t size)
{
    size_t len = guest_name_len(source->name);

    if (strcmp(source->layer, "guest") != 0)
        return machine_is_vm(source) && machine_vm_name(source->vmm, buf, size);
    return len == strlen(MACHINE_GUEST_OF_QEMU) &&
           strncmp(source->name, MACHINE_GUEST_OF_QEMU, len) == 0 && find_vm(manifest, buf, size);
}

void machine_name(const struct manifest *manifest, const struct manifest_source *source, char *buf,
                  size_t size)
{
    if (machine_has_name(manifest, source, buf, size))
        return;
    if (strcmp(source->layer, "guest") == 0)
        snprintf(buf, size, "%.*s", (int)guest_name_len(source->name), source->name);
    else if (machine_is_vm(source))
        snprintf(buf, size, "%s", source->vmm->version ? MACHINE_GUEST_OF_QEMU : source->name);
    else
        snprintf(buf, size, "%s", source->host && source->host->name ? source->host->name : "");
}
