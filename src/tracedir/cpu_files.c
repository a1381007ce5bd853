/* SPDX-License-Identifier: MIT */
#include "tracedir/cpu_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fd.h"

void cpu_file_name(uint32_t cpu, char name[static CPU_FILE_NAME_MAX])
{
    snprintf(name, CPU_FILE_NAME_MAX, "cpu%" PRIu32 ".raw", cpu);
}

/* True if NAME in DIR is such a file. */
static bool read_entry(int dir, const char *name, struct manifest_cpu *ret)
{
    char exact[CPU_FILE_NAME_MAX];
    struct stat st;
    uint32_t cpu;

    if (sscanf(name, "cpu%5" SCNu32, &cpu) != 1 || cpu >= MANIFEST_CPUS_MAX)
        return false;
    cpu_file_name(cpu, exact);
    if (strcmp(name, exact) != 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        !S_ISREG(st.st_mode))
        return false;
    *ret = (struct manifest_cpu){.id = cpu, .bytes = (uint64_t)st.st_size};
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct manifest_cpu *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

int cpu_files_find(int dir, const char *path, struct arena *arena, struct manifest_cpu **ret,
                   unsigned *ret_n)
{
    _cleanup_(closedirp) DIR *entries = open_dir_at(dir, path);
    _cleanup_free_ struct manifest_cpu *found = NULL;
    const struct dirent *entry;
    struct manifest_cpu *cpus;
    unsigned n = 0;

    if (!entries)
        return -errno;
    found = malloc(MANIFEST_CPUS_MAX * sizeof *found);
    if (!found)
        return -ENOMEM;
    while (n < MANIFEST_CPUS_MAX && (entry = readdir(entries)))
        n += read_entry(dirfd(entries), entry->d_name, &found[n]);
    qsort(found, n, sizeof *found, compare);
    cpus = arena_memdup(arena, found, n * sizeof *found);
    if (!cpus)
        return -ENOMEM;
    *ret = cpus;
    *ret_n = n;
    return 0;
}
