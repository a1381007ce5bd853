/* SPDX-License-Identifier: MIT */
#include "serve/browser.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macro.h"

#define DIR_PREFIX "strata-view-"
#define FILE_NAME "open.html"

/* ADDRESS must not contain characters that HTML escapes. */
static int write_file(const struct locked_dir *dir, const char *address)
{
    char page[1024];
    _cleanup_(closep) int fd =
        openat(dir->fd, FILE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int n;

    if (fd < 0)
        return -errno;
    n = snprintf(page, sizeof page,
                 "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" "
                 "content=\"no-referrer\">\n"
                 "<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n<title>Strata</title>\n"
                 "<a href=\"%s\">The timeline</a>\n",
                 address, address);
    return (size_t)n < sizeof page ? write_all(fd, page, (size_t)n) : -E2BIG;
}

/* Starts it in a session of its own, so that Ctrl-C does not end the browser, and without our output. */
static int start(const char *path)
{
    char program[] = "xdg-open";
    char *argv[] = {program, (char *)(uintptr_t)path, NULL};
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    sigset_t none, all;
    pid_t pid;
    int r;

    sigemptyset(&none);
    sigfillset(&all);
    if (posix_spawnattr_init(&attributes) != 0)
        return -ENOMEM;
    if (posix_spawn_file_actions_init(&files) != 0) {
        posix_spawnattr_destroy(&attributes);
        return -ENOMEM;
    }
    r = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                  POSIX_SPAWN_SETSIGDEF);
    if (r == 0)
        r = posix_spawnattr_setsigmask(&attributes, &none);
    if (r == 0)
        r = posix_spawnattr_setsigdefault(&attributes, &all);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    for (int fd = 1; fd <= 2 && r == 0; fd++)
        r = posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_WRONLY, 0);
    if (r == 0)
        r = posix_spawnp(&pid, program, &files, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return -r;
}

int browser_open(struct browser *browser, const char *address, const char *temporary_dir,
                 struct error *error)
{
    const char *parent = temporary_dir;
    char path[128];
    int r;

    *browser = (struct browser){.dir = {.fd = -1}};
    if (!parent)
        parent = "/tmp";
    locked_dir_sweep(parent, DIR_PREFIX, true, NULL, NULL);
    r = locked_dir_make(parent, DIR_PREFIX, &browser->dir);
    if (r == -ENAMETOOLONG)
        r = locked_dir_make(parent = "/tmp", DIR_PREFIX, &browser->dir);
    if (r < 0)
        return error_set(error, r, parent, "cannot make a temporary directory: %s", error_text(r));
    r = write_file(&browser->dir, address);
    if (r == 0) {
        snprintf(path, sizeof path, "%s/" FILE_NAME, browser->dir.path);
        r = start(path);
        if (r == -ENOENT)
            error_set(error, r, NULL,
                      "xdg-open is not installed; open the address in a browser yourself");
    }
    if (r < 0) {
        browser_done(browser);
        return error_set(error, r, NULL, "cannot start a browser: %s", error_text(r));
    }
    return 0;
}

void browser_done(struct browser *browser)
{
    locked_dir_done(&browser->dir, true);
}
