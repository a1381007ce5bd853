/* SPDX-License-Identifier: MIT */
#include "tracedir/cpu_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tracedir/manifest.h"

void cpu_file_name(uint32_t cpu, char name[static CPU_FILE_NAME_MAX])
{
    snprintf(name, CPU_FILE_NAME_MAX, "cpu%" PRIu32 ".raw", cpu);
}

bool cpu_file_cpu(const char *name, uint32_t *ret_cpu)
{
    char exact[CPU_FILE_NAME_MAX];

    if (sscanf(name, "cpu%5" SCNu32, ret_cpu) != 1 || *ret_cpu >= MANIFEST_CPUS_MAX)
        return false;
    cpu_file_name(*ret_cpu, exact);
    return strcmp(name, exact) == 0;
}
