/* SPDX-License-Identifier: MIT */
#pragma once

/* The names of the files with a kernel's pages in the directory of its source: cpuN.raw for each CPU. */

#include <stdbool.h>
#include <stdint.h>

#define CPU_FILE_NAME_MAX 32

void cpu_file_name(uint32_t cpu, char name[static CPU_FILE_NAME_MAX]);

/* Gets the CPU, below MANIFEST_CPUS_MAX, from the NAME of its file. False if NAME is another file's. */
bool cpu_file_cpu(const char *name, uint32_t *ret_cpu);
