/* SPDX-License-Identifier: MIT */
#include "cmd/follow_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

/* The child: until nobody reads OUT, or the file cannot be read. */
_Noreturn static void copy(int file, int out)
{
    static char buf[64 * 1024];
    ssize_t n;

    while ((n = read(file, buf, sizeof buf)) >= 0 || errno == EINTR) {
        struct pollfd reader = {out, 0, 0};

        for (ssize_t done = 0; done < n;) {
            ssize_t written = write(out, buf + done, (size_t)(n - done));

            if (written < 0 && errno != EINTR)
                _exit(EXIT_SUCCESS);
            done += written > 0 ? written : 0;
        }
        if (n <= 0 && poll(&reader, 1, FOLLOW_FILE_POLL_MS) > 0)
            break;
    }
    _exit(EXIT_SUCCESS);
}

int follow_file_start(const char *path, struct follow_file *ret, struct error *error)
{
    _cleanup_(closep) int file = open(path, O_RDONLY | O_CLOEXEC);
    pid_t parent = getpid();
    int ends[2];
    pid_t child;

    if (file < 0 || pipe2(ends, O_CLOEXEC) < 0)
        return error_set(error, -errno, path, "%s", strerror(errno));
    child = fork();
    if (child == 0) {
        signal(SIGPIPE, SIG_IGN);
        if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent) {
            close(ends[0]);
            copy(file, ends[1]);
        }
        _exit(EXIT_FAILURE);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return error_set(error, -errno, path, "%s", strerror(errno));
    }
    /* The terminal sends it to both: the child ends, and what it has written is read. */
    signal(SIGINT, SIG_IGN);
    *ret = (struct follow_file){.child = child, .fd = ends[0]};
    snprintf(ret->path, sizeof ret->path, "/proc/self/fd/%d", ends[0]);
    return 0;
}

void follow_file_opened(struct follow_file *file)
{
    close(file->fd);
    file->fd = -1;
}

void follow_file_end(struct follow_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    kill(file->child, SIGTERM);
    while (waitpid(file->child, NULL, 0) < 0 && errno == EINTR)
        ;
}
