/* SPDX-License-Identifier: MIT */
#include "cli/service.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

bool service_logs_to_journal(void)
{
    static int is_journal = -1;
    const char *stream;
    char here[64];
    struct stat st;

    if (is_journal >= 0)
        return is_journal;
    stream = getenv("JOURNAL_STREAM");
    is_journal = 0;
    if (stream && fstat(STDERR_FILENO, &st) == 0) {
        snprintf(here, sizeof here, "%" PRIuMAX ":%" PRIuMAX, (uintmax_t)st.st_dev,
                 (uintmax_t)st.st_ino);
        is_journal = strcmp(stream, here) == 0;
    }
    return is_journal;
}

void service_notify(const char *state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    size_t len = path ? strlen(path) : 0;
    int fd;

    if (len < 2 || len >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(address.sun_path, path, len);
    if (path[0] == '@') /* an abstract one */
        address.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    close(fd);
}
