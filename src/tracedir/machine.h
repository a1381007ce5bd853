/* SPDX-License-Identifier: MIT */
#pragma once

/* Names the machines in a trace directory: which machine a source belongs to. */

#include "tracedir/manifest.h"

#define MACHINE_NAME_SIZE 256
#define MACHINE_LABEL_SIZE (MACHINE_NAME_SIZE + 16)
/* The name of the guest's source, for the QEMU that `strata record` starts or attaches to. */
#define MACHINE_GUEST_OF_QEMU "guest"

/* True for a QEMU with a known version and for another monitor with a known accelerator. False for a program that only
 * has events of that layer. */
bool machine_is_vm(const struct manifest_source *source);
/* Copies the name from VALUE, the argument of QEMU's -name ("web7", "guest=web7,process=x"), to BUF. False if it has
 * none. */
bool machine_name_of_option(const char *value, char *buf, size_t size);
/* Copies the name of VMM's virtual machine to BUF: the name that the recorder noted, or QEMU's -name. False if it has
 * none. */
bool machine_vm_name(const struct manifest_vmm *vmm, char *buf, size_t size);
/* Writes a unique name of VMM's machine in MANIFEST: its name; with the monitor's process ID if another machine has
 * that name ("web7-4711"); for a machine without a name, the monitor's program and process ID ("firecracker-4711"). */
void machine_vm_label(const struct manifest *manifest, const struct manifest_vmm *vmm,
                      char buf[static MACHINE_LABEL_SIZE]);
/* Copies the name of the virtual machine that SOURCE, QEMU or a guest's kernel in MANIFEST, belongs to. False if the
 * machine has no name, is not virtual, or is unknown. */
bool machine_has_name(const struct manifest *manifest, const struct manifest_source *source,
                      char *buf, size_t size);
/* Returns the monitor of SOURCE. If several sources of MANIFEST have the same monitor, returns the first source's. */
const struct manifest_vmm *machine_vmm(const struct manifest *manifest,
                                       const struct manifest_source *source);
/* Returns the monitor of the virtual machine that runs SOURCE, a guest's kernel in MANIFEST. NULL if it is unknown. It
 * is the monitor of the source itself; or the only monitor, if the guest is the only guest or MACHINE_GUEST_OF_QEMU. */
const struct manifest_vmm *machine_vmm_of_guest(const struct manifest *manifest,
                                                const struct manifest_source *source);
/* Copies the name of the machine of SOURCE, in MANIFEST, to BUF. For a guest's kernel and for QEMU: QEMU's -name, or
 * MACHINE_GUEST_OF_QEMU without it, or the name that was given to the guest. For another monitor: the name of the
 * source. For all others: the host's name, which may be empty. */
void machine_name(const struct manifest *manifest, const struct manifest_source *source, char *buf,
                  size_t size);
