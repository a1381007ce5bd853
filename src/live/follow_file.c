/* SPDX-License-Identifier: MIT */
#include "live/follow_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macro.h"

/* The exit status of the child. */
enum end {
    END_NONE, /* the reader has closed the pipe, or FILE is a pipe that ended */
    END_FAILED,
    END_UNREADABLE,
    END_TRUNCATED,
    END_GONE,
};

static volatile sig_atomic_t running; /* the child; 0: none */

/* Checks that PATH still names FILE, a regular file, and that it still has the DONE bytes that were read. */
static enum end check_file(int file, const char *path, off_t done)
{
    struct stat opened, named;

    if (fstat(file, &opened) < 0)
        return END_UNREADABLE;
    if (!S_ISREG(opened.st_mode))
        return END_NONE;
    if (opened.st_size < done)
        return END_TRUNCATED;
    if (stat(path, &named) < 0 || named.st_dev != opened.st_dev || named.st_ino != opened.st_ino)
        return END_GONE;
    return END_NONE;
}

/* Runs in the child until the reader closes OUT, or the file cannot be followed. */
_Noreturn static void copy(int file, const char *path, int out)
{
    static char buf[64 * 1024];
    off_t total = 0;
    ssize_t n;

    while ((n = read(file, buf, sizeof buf)) >= 0 || errno == EINTR) {
        struct pollfd reader = {out, 0, 0};

        for (ssize_t done = 0; done < n;) {
            ssize_t written = write(out, buf + done, (size_t)(n - done));

            if (written < 0 && errno != EINTR)
                _exit(END_NONE);
            done += written > 0 ? written : 0;
        }
        total += n > 0 ? n : 0;
        if (n == 0) {
            enum end end = check_file(file, path, total);

            if (end != END_NONE)
                _exit((int)end);
        }
        if (n <= 0 && poll(&reader, 1, FOLLOW_FILE_POLL_MS) > 0)
            _exit(END_NONE);
    }
    _exit(END_UNREADABLE);
}

/* The pipe still has what the child has written. */
static void end_child(int number)
{
    (void)number;
    if (running > 0)
        kill(running, SIGKILL);
}

static void handle_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction handler = {.sa_handler = end_child, .sa_flags = SA_RESTART};
    struct sigaction before;

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &handler, NULL);
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
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent) {
            close(ends[0]);
            copy(file, path, ends[1]);
        }
        _exit(END_FAILED);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return error_set(error, -errno, path, "%s", strerror(errno));
    }
    running = child;
    handle_signals();
    *ret = (struct follow_file){.child = child, .fd = ends[0]};
    return 0;
}

void follow_file_opened(struct follow_file *file)
{
    close(file->fd);
    file->fd = -1;
}

const char *follow_file_end(struct follow_file *file)
{
    static const char *const reasons[] = {
        [END_FAILED] = "cannot be followed",
        [END_UNREADABLE] = "cannot be read any more",
        [END_TRUNCATED] = "was truncated while it was followed",
        [END_GONE] = "was moved, replaced or deleted while it was followed",
    };
    pid_t ended;
    int status;

    if (file->fd >= 0)
        close(file->fd);
    running = 0;
    kill(file->child, SIGKILL);
    while ((ended = waitpid(file->child, &status, 0)) < 0 && errno == EINTR)
        ;
    if (ended < 0 || !WIFEXITED(status) || (size_t)WEXITSTATUS(status) >= ARRAY_SIZE(reasons))
        return NULL;
    return reasons[WEXITSTATUS(status)];
}
