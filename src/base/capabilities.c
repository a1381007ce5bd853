/* SPDX-License-Identifier: MIT */
#include "base/capabilities.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/proc.h"

int capabilities_drop(uint32_t kept)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};

    if (syscall(SYS_capget, &header, sets) < 0)
        return -errno;
    for (unsigned i = 0; i < ARRAY_SIZE(sets); i++) {
        sets[i].effective &= i == 0 ? kept : 0;
        sets[i].permitted &= i == 0 ? kept : 0;
        sets[i].inheritable = 0;
    }
    return syscall(SYS_capset, &header, sets) < 0 ? -errno : 0;
}

/* Whether ID is in the map at PATH (user_namespaces(7)): each line has its first, the first outside, how many. A kernel without
 * such namespaces has no map. */
static bool is_mapped(const char *path, uint32_t id)
{
    char text[8192];
    const char *line = text;
    uint32_t first, outside, count;

    if (proc_text(path, text, sizeof text) < 0)
        return true;
    while (sscanf(line, "%" SCNu32 " %" SCNu32 " %" SCNu32, &first, &outside, &count) == 3) {
        if (id >= first && id - first < count)
            return true;
        line = strchr(line, '\n');
        if (!line)
            break;
        line++;
    }
    return false;
}

bool capabilities_can_become(uint32_t uid, uint32_t gid)
{
    char groups[16];

    return is_mapped("/proc/self/uid_map", uid) && is_mapped("/proc/self/gid_map", gid) &&
           (proc_text("/proc/self/setgroups", groups, sizeof groups) < 0 ||
            strncmp(groups, "deny", 4) != 0);
}
