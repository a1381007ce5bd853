/* SPDX-License-Identifier: MIT */
#include "watch/confine.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/fd.h"

/* All kinds of access that the first version of landlock knows. */
#define ACCESS_ALL ((UINT64_C(1) << 13) - 1)

static int set_limits(void)
{
    static const struct rlimit none = {0, 0};

    if (setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_NPROC, &none) < 0 ||
        setrlimit(RLIMIT_FSIZE, &none) < 0)
        return -errno;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (setrlimit(RLIMIT_AS, &(struct rlimit){WATCH_MEMORY_MAX, WATCH_MEMORY_MAX}) < 0)
        return -errno;
#endif
    return prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/* Leaves nothing but reading below DIR. -ENOSYS, -EOPNOTSUPP: this kernel cannot. */
static int shut_files(const char *dir)
{
#if defined(SYS_landlock_create_ruleset)
    const struct landlock_ruleset_attr attr = {.handled_access_fs = ACCESS_ALL};
    struct landlock_path_beneath_attr below = {.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE |
                                                                 LANDLOCK_ACCESS_FS_READ_DIR};
    _cleanup_(closep) int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    _cleanup_(closep) int at = -1;

    /* EPERM: a filter of system calls forbids this one. */
    if (rules < 0)
        return errno == EPERM ? -EOPNOTSUPP : -errno;
    below.parent_fd = at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return -errno;
    if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0) < 0)
        return -errno;
    return syscall(SYS_landlock_restrict_self, rules, 0) < 0 ? -errno : 0;
#else
    (void)dir;
    return -ENOSYS;
#endif
}

int watch_confine(const char *dir, struct error *error)
{
    int r = set_limits();

    if (r >= 0)
        r = shut_files(dir);
    /* Root needs one where the directory is not its own: to read files of others. */
    if (r >= 0 || r == -ENOSYS || r == -EOPNOTSUPP)
        r = capabilities_drop(UINT32_C(1) << CAP_DAC_READ_SEARCH);
    if (r < 0)
        return error_set(error, r, dir, "cannot confine the process that watches it: %s",
                         strerror(-r));
    return 0;
}
