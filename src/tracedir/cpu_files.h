/* SPDX-License-Identifier: MIT */
#pragma once

/* The files of a kernel's pages in the directory of its source: cpuN.raw, one for each CPU. */

#include "tracedir/manifest.h"

#define CPU_FILE_NAME_MAX 32

void cpu_file_name(uint32_t cpu, char name[static CPU_FILE_NAME_MAX]);

/* Those in the directory PATH below the open directory DIR, and their sizes, by ascending CPU, in ARENA. Files of CPUs beyond
 * MANIFEST_CPUS_MAX are left out. -ENOMEM, or why the directory cannot be read. */
int cpu_files_find(int dir, const char *path, struct arena *arena, struct manifest_cpu **ret,
                   unsigned *ret_n);
