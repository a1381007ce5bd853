/* SPDX-License-Identifier: MIT */
#include "base/atomic_output.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/remove_dir.h"

/* Pieces of 256 KB cost the kernel three times as much. */
#define OUT_SIZE ((size_t)64 * 1024)
#define INNER_NAME "/new"

/* ---- Removal ---- */

/* Removes the directory PATH with its contents. */
static void remove_dir(const char *path)
{
    (void)remove_dir_at(AT_FDCWD, path);
}

static void remove_output(const char *path, bool directory)
{
    if (directory)
        remove_dir(path);
    else
        (void)unlink(path);
}

/* ---- Signals ---- */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

/* For the handler; changed only while the signals are blocked. */
static char incomplete_path[PATH_MAX]; /* "": none */
static bool incomplete_is_dir;
static volatile sig_atomic_t *stop_request;

static void on_signal(int number)
{
    int error = errno;

    if (stop_request && !*stop_request) {
        *stop_request = number;
        errno = error;
        return;
    }
    if (incomplete_path[0] != '\0')
        remove_output(incomplete_path, incomplete_is_dir);
    signal(number, SIG_DFL);
    /* Blocked until this returns. */
    raise(number);
}

static void block_signals(sigset_t *ret_before)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        sigaddset(&set, signals[i]);
    sigprocmask(SIG_BLOCK, &set, ret_before);
}

static void catch_signals(void)
{
    /* The signals block each other while one is handled. */
    struct sigaction action = {.sa_handler = on_signal};
    struct sigaction old;

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        sigaddset(&action.sa_mask, signals[i]);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
}

static void restore_signals(void)
{
    struct sigaction now;

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == on_signal)
            signal(signals[i], SIG_DFL);
}

/* ---- Opening ---- */

/* What is removed if the output stays incomplete; NULL: nothing. */
static const char *incomplete(const struct atomic_output *output)
{
    return output->temp_parent ? output->temp_parent : output->temp_path;
}

static int fail(struct error *error, const char *path, const char *what)
{
    int err = errno;

    return error_set(error, -err, path, "%s: %s", what, strerror(err));
}

static int no_memory(struct error *error)
{
    return error_set(error, -ENOMEM, NULL, "out of memory");
}

/* True if PATH can only be written in place: a pipe, a device. */
static bool is_special(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static bool is_replaceable(const struct atomic_output *output)
{
    return output->may_replace && output->may_replace(output->path);
}

/* "PATH.XXXXXX", without a trailing '/' of PATH. */
static char *make_template(const char *path)
{
    size_t len = strlen(path);
    char *template = malloc(len + sizeof ".XXXXXX");

    while (len > 1 && path[len - 1] == '/')
        len--;
    if (template)
        memcpy(template, path, len), memcpy(template + len, ".XXXXXX", sizeof ".XXXXXX");
    return template;
}

static mode_t current_umask(void)
{
    mode_t mask = umask(0);

    umask(mask);
    return mask;
}

/* Makes the directory by TEMPLATE, which becomes output->temp_parent once it exists, and output->temp_path in it. */
static int open_dir(struct atomic_output *output, char *template, struct error *error)
{
    struct stat st;

    if (stat(output->path, &st) == 0) {
        if (!S_ISDIR(st.st_mode))
            return error_set(error, -EEXIST, output->path,
                             "exists and is not a directory; name another directory");
        if (!dir_is_empty(AT_FDCWD, output->path) && !is_replaceable(output))
            return error_set(error, -EEXIST, output->path,
                             "directory exists and is not empty; name another directory");
    }
    if (!mkdtemp(template))
        return fail(error, output->path, "cannot create the directory");
    output->temp_parent = template;
    if (asprintf(&output->temp_path, "%s" INNER_NAME, template) < 0) {
        output->temp_path = NULL;
        return no_memory(error);
    }
    if (mkdir(output->temp_path, 0777) < 0)
        return fail(error, output->path, "cannot create the directory");
    return 0;
}

static int open_file(struct atomic_output *output, char *template, struct error *error)
{
    struct stat st;

    if (stat(output->path, &st) == 0 && S_ISDIR(st.st_mode))
        return error_set(error, -EISDIR, output->path, "is a directory; name a file");
    output->fd = mkostemp(template, O_CLOEXEC);
    if (output->fd < 0)
        return fail(error, output->path, "cannot create the file");
    output->temp_path = template;
    if (fchmod(output->fd, 0666 & ~current_umask()) < 0)
        return fail(error, output->path, "cannot set its mode");
    return 0;
}

static int open_special(struct atomic_output *output, struct error *error)
{
    if (output->kind != ATOMIC_OUTPUT_STREAM)
        return error_set(error, -EINVAL, output->path,
                         "not a regular file; this format cannot be written to a pipe or device");
    output->fd = open(output->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return output->fd < 0 ? fail(error, output->path, "cannot open for writing") : 0;
}

static int open_output(struct atomic_output *output, struct error *error)
{
    int r;

    if (!output->path || strcmp(output->path, "-") == 0) {
        output->path = NULL;
        output->fd = STDOUT_FILENO;
    } else if (is_special(output->path)) {
        r = open_special(output, error);
        if (r < 0)
            return r;
    } else {
        char *template = make_template(output->path);

        if (!template)
            return no_memory(error);
        r = output->kind == ATOMIC_OUTPUT_DIRECTORY ? open_dir(output, template, error)
                                                    : open_file(output, template, error);
        if (!output->temp_path && !output->temp_parent)
            free(template);
        if (r < 0)
            return r;
    }
    if (output->kind == ATOMIC_OUTPUT_STREAM &&
        text_open_fd(&output->out, output->fd, OUT_SIZE) < 0)
        return no_memory(error);
    return 0;
}

static void close_output(struct atomic_output *output)
{
    if (incomplete(output))
        remove_output(incomplete(output), output->kind == ATOMIC_OUTPUT_DIRECTORY);
    if (output->fd >= 0 && output->fd != STDOUT_FILENO)
        close(output->fd);
    text_done(&output->out);
    free(output->temp_path);
    free(output->temp_parent);
    *output = (struct atomic_output){.fd = -1, .out = TEXT_IN_MEMORY};
}

int atomic_output_open(enum atomic_output_kind kind, const char *path,
                       bool (*may_replace)(const char *path), volatile sig_atomic_t *stop,
                       struct atomic_output *ret, struct error *error)
{
    struct atomic_output output = {
        .kind = kind, .path = path, .may_replace = may_replace, .fd = -1, .out = TEXT_IN_MEMORY};
    sigset_t before;
    int r;

    block_signals(&before);
    r = open_output(&output, error);
    if (r >= 0) {
        /* A path that is too long could not have been opened. */
        snprintf(incomplete_path, sizeof incomplete_path, "%s",
                 incomplete(&output) ? incomplete(&output) : "");
        incomplete_is_dir = kind == ATOMIC_OUTPUT_DIRECTORY;
        stop_request = stop;
        catch_signals();
        *ret = output;
    } else {
        close_output(&output);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return r;
}

/* ---- The end ---- */

static int exchange(const char *a, const char *b)
{
#ifdef __GLIBC__
    return renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
#else /* musl has not had it for long */
    return (int)syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
#endif
}

/* rename() replaces an empty directory. Another directory that may be replaced is exchanged with the
 * new one, and removed with the temporary parent. */
static int rename_output(struct atomic_output *output)
{
    if (rename(output->temp_path, output->path) == 0)
        return 0;
    if (output->kind != ATOMIC_OUTPUT_DIRECTORY || (errno != ENOTEMPTY && errno != EEXIST) ||
        !is_replaceable(output))
        return -1;
    if (exchange(output->temp_path, output->path) == 0)
        return 0;
    /* Not every file system supports the exchange. */
    remove_dir(output->path);
    return rename(output->temp_path, output->path);
}

int atomic_output_commit(struct atomic_output *output, struct error *error)
{
    int r = output->kind == ATOMIC_OUTPUT_STREAM ? text_flush(&output->out) : 0;

    if (r == -EPIPE)
        return r;
    if (r < 0)
        return error_set(error, r, output->path ? output->path : "standard output",
                         "cannot write: %s", strerror(-r));
    if (!output->temp_path)
        return 0;
    if (output->fd >= 0) {
        r = close(output->fd);
        output->fd = -1;
        if (r < 0)
            return fail(error, output->path, "cannot write");
    }
    if (rename_output(output) < 0)
        return fail(error, output->path, "cannot rename the finished output");
    if (output->temp_parent)
        remove_dir(output->temp_parent);
    free(output->temp_path);
    free(output->temp_parent);
    output->temp_path = output->temp_parent = NULL;
    return 0;
}

void atomic_output_done(struct atomic_output *output)
{
    sigset_t before;

    close_output(output);
    block_signals(&before);
    incomplete_path[0] = '\0';
    stop_request = NULL;
    restore_signals();
    sigprocmask(SIG_SETMASK, &before, NULL);
}
