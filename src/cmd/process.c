/* SPDX-License-Identifier: MIT */
/* How verbs that record set up their process and its terminal. */

#include <stdlib.h>
#include <sys/resource.h>

#include "cli/progress.h"
#include "cmd/cmd.h"

void cmd_raise_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

const char *cmd_libvirt_uri(const char *given)
{
    const char *uri = given ? given : getenv("LIBVIRT_DEFAULT_URI");

    /* A running domain has a daemon. */
    (void)setenv("LIBVIRT_AUTOSTART", "0", 1);
    return uri && *uri ? uri : NULL;
}

void cmd_print_report(void *userdata, const char *text)
{
    (void)userdata;
    progress_line_erase();
    cli_warning("%s", text);
}
