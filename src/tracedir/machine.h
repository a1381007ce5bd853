/* SPDX-License-Identifier: MIT */
#pragma once

/* What machine a source of a trace directory is of, by name. */

#include "tracedir/manifest.h"

#define MACHINE_NAME_SIZE 256
#define MACHINE_LABEL_SIZE (MACHINE_NAME_SIZE + 16)
/* The source of the guest of the QEMU that `strata record` starts or attaches to. */
#define MACHINE_GUEST_OF_QEMU "guest"

/* A QEMU, whose version is known, or another monitor, whose accelerator is; not a program that has events of the layer. */
bool machine_is_vm(const struct manifest_source *source);
/* The name in VALUE, which stands behind QEMU's -name ("web7", "guest=web7,process=x"), into BUF. False: it has none. */
bool machine_name_of_option(const char *value, char *buf, size_t size);
/* The name of the virtual machine of VMM, into BUF: what the recorder noted, or QEMU's -name. False: it has none. */
bool machine_vm_name(const struct manifest_vmm *vmm, char *buf, size_t size);
/* What tells the machine of VMM from the others of MANIFEST: its name; with the monitor's process, if another one has that name,
 * too ("web7-4711"); of one without a name, the monitor's program and process ("firecracker-4711"). */
void machine_vm_label(const struct manifest *manifest, const struct manifest_vmm *vmm,
                      char buf[static MACHINE_LABEL_SIZE]);
/* The name of the virtual machine that SOURCE, one of MANIFEST, is of: QEMU itself, or its guest's kernel. False: it has none,
 * is not of one, or it is not known of which. */
bool machine_has_name(const struct manifest *manifest, const struct manifest_source *source,
                      char *buf, size_t size);
/* The monitor of SOURCE, one of MANIFEST, which has one; of several sources that have the same, always that of the first. */
const struct manifest_vmm *machine_vmm(const struct manifest *manifest,
                                       const struct manifest_source *source);
/* The monitor of the virtual machine in which SOURCE, a guest's kernel, one of MANIFEST, runs; NULL: it is not known which. It is that of the
 * source itself; or the only monitor, and the guest the only one, or the one that the recorder calls MACHINE_GUEST_OF_QEMU. */
const struct manifest_vmm *machine_vmm_of_guest(const struct manifest *manifest,
                                                const struct manifest_source *source);
/* The name of the machine of SOURCE, one of MANIFEST, into BUF. Of a guest's kernel and of QEMU, the name of the virtual
 * machine: QEMU's -name; MACHINE_GUEST_OF_QEMU if there is none; or the name that was given to the guest. Of another
 * monitor, the name of the source. Of all others the host's name, which may be empty. */
void machine_name(const struct manifest *manifest, const struct manifest_source *source, char *buf,
                  size_t size);
