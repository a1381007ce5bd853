/* SPDX-License-Identifier: MIT */
#include "record/snapshot_saver.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "record/recorder_internal.h"
#include "tracedir/host.h"

void snapshot_saver_init(struct snapshot_saver *saver, struct recorder *recorder)
{
    *saver = (struct snapshot_saver){.recorder = recorder, .answers = -1};
}

static int choose_name(int snapshots, const char *name, bool is_numbered,
                       char buf[static SNAPSHOT_NAME_MAX])
{
    time_t now = time(NULL);
    struct tm tm;
    char date[32];

    if (is_numbered)
        return snapshot_make_numbered(snapshots, name, buf);
    if (*name) {
        snprintf(buf, SNAPSHOT_NAME_MAX, "%s", name);
        return snapshot_make(snapshots, buf);
    }
    if (!localtime_r(&now, &tm) || strftime(date, sizeof date, "%Y%m%d-%H%M%S", &tm) == 0)
        return -EOVERFLOW;
    return snapshot_make_numbered(snapshots, date, buf);
}

int snapshot_saver_begin(struct snapshot_saver *saver, const char *name, bool is_numbered)
{
    _cleanup_(closep) int snapshots = snapshots_open(recording_dir(saver->recorder->recording));
    int r = snapshots;

    if (r >= 0)
        r = choose_name(snapshots, name, is_numbered, saver->name);
    saver->is_busy = r >= 0;
    return r;
}

/* Where it is, also where the directory was renamed meanwhile. */
static void put_snapshot_path(const struct snapshot_saver *saver, char *buf, size_t size)
{
    char link[32], path[PATH_MAX];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", recording_dir(saver->recorder->recording));
    n = readlink(link, path, sizeof path - 1);
    path[MAX(n, 0)] = '\0';
    snprintf(buf, size, "%s/" SNAPSHOTS_DIR "/%s",
             n > 0 ? path : recording_path(saver->recorder->recording), saver->name);
}

/* In the child. */
static int save(const struct snapshot_saver *saver, const struct snapshot_source *source,
                char text[static SNAPSHOT_TEXT_MAX])
{
    const struct manifest_snapshot by_request = {.reason = "request", .time = host_moment()};
    struct error error = {0};
    int r;

    (void)setsid();
    source->close_inherited(source->userdata);
    r = snapshot_save(saver->recorder->recording, source->retention, saver->name,
                      source->about ? source->about : &by_request, source->flushed, &error);
    if (r < 0)
        error_print(&error, text, SNAPSHOT_TEXT_MAX);
    else
        put_snapshot_path(saver, text, SNAPSHOT_TEXT_MAX);
    return r;
}

bool snapshot_saver_start(struct snapshot_saver *saver, const struct snapshot_source *source,
                          char text[static SNAPSHOT_TEXT_MAX])
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0) {
        snprintf(text, SNAPSHOT_TEXT_MAX, "cannot make a pipe: %s", strerror(errno));
        snapshot_saver_cancel(saver);
        return false;
    }
    saver->pid = fork();
    if (saver->pid == 0) {
        int r = save(saver, source, text);

        (void)write_all(ends[1], text, strlen(text));
        _exit(r < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
    }
    close(ends[1]);
    saver->answers = ends[0];
    if (saver->pid > 0) {
        child_add_helper(saver->pid);
        return true;
    }
    saver->pid = 0;
    snprintf(text, SNAPSHOT_TEXT_MAX, "cannot start a process: %s", strerror(errno));
    snapshot_saver_cancel(saver);
    return false;
}

bool snapshot_saver_end(struct snapshot_saver *saver, char text[static SNAPSHOT_TEXT_MAX])
{
    ssize_t n = read(saver->answers, text, SNAPSHOT_TEXT_MAX - 1);
    int status = 0;

    text[MAX(n, 0)] = '\0';
    while (waitpid(saver->pid, &status, 0) < 0 && errno == EINTR)
        ;
    child_remove_helper(saver->pid);
    saver->pid = 0;
    if (n <= 0)
        snprintf(text, SNAPSHOT_TEXT_MAX, "the process that saves it ended unexpectedly");
    if (status != 0) {
        snapshot_saver_cancel(saver);
        return false;
    }
    closep(&saver->answers);
    saver->answers = -1;
    saver->is_busy = false;
    return true;
}

void snapshot_saver_cancel(struct snapshot_saver *saver)
{
    snapshot_remove_unfinished(recording_dir(saver->recorder->recording), saver->name);
    closep(&saver->answers);
    saver->answers = -1;
    saver->is_busy = false;
}
