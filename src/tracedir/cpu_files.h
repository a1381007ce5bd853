/* SPDX-License-Identifier: MIT */
#pragma once

/* The files of a kernel's pages in the directory of its source: cpuN.raw, one for each CPU. */

#include <stdbool.h>
#include <stdint.h>

#define CPU_FILE_NAME_MAX 32

void cpu_file_name(uint32_t cpu, char name[static CPU_FILE_NAME_MAX]);

/* The CPU whose file has NAME, below MANIFEST_CPUS_MAX; false: it is no such file. */
bool cpu_file_cpu(const char *name, uint32_t *ret_cpu);
