/* SPDX-License-Identifier: MIT */
#include "cmd/export_open.h"
#include "cmd/show_page.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/listen.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/walk.h"
#include "record/stop_signals.h"
#include "serve/file_server.h"

#define ORIGIN "https://ui.perfetto.dev"
/* The only port of this machine from which the page's policy permits it to fetch. */
#define PORT 9001
#define PORT_TEXT "9001"
#define HOST "127.0.0.1"
/* Time for the browser to start and load the page, and for the user to permit the connection to this machine. */
#define WAIT_SECONDS 300u

#define DIR_PREFIX "strata-open-"
#define FILE_NAME "trace.perfetto-trace"
#define NAME_MAX_LEN 64

int export_open_begin(struct export_open *open, bool needs_file, struct error *error)
{
    const char *parent = environment_temporary_dir();
    struct listeners listeners;
    int r = listeners_open(HOST ":" PORT_TEXT, &listeners, NULL);

    *open = (struct export_open){.dir = {.fd = -1}, .listener = r < 0 ? -1 : listeners.fds[0]};
    if (r == -EADDRINUSE)
        return error_set(error, r, NULL,
                         "port %u is in use, and Perfetto's page fetches from no other; end what "
                         "listens on it (strata export --open, trace_processor), or open the file "
                         "in the page",
                         PORT);
    if (r < 0)
        return error_set(error, r, NULL, "cannot listen on " HOST ":%u: %s", PORT, error_text(r));
    if (!needs_file)
        return 0;
    if (!parent)
        parent = "/tmp";
    locked_dir_sweep(parent, DIR_PREFIX, true, NULL, NULL);
    r = locked_dir_make(parent, DIR_PREFIX, &open->dir);
    if (r < 0)
        return error_set(error, r, parent, "cannot make a temporary directory: %s", error_text(r));
    snprintf(open->path, sizeof open->path, "%s/" FILE_NAME, open->dir.path);
    return 0;
}

/* The last part of PATH for an address, with "_" for characters that need an escape. */
static void make_name(const char *path, char name[NAME_MAX_LEN + 1])
{
    const char *slash = strrchr(path, '/');
    size_t n = 0;

    for (const char *p = slash ? slash + 1 : path; *p && n < NAME_MAX_LEN; p++) {
        bool is_plain = (*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z') ||
                        (*p >= 'a' && *p <= 'z') || *p == '.' || *p == '-';

        name[n++] = is_plain ? *p : '_';
    }
    name[n] = '\0';
}

/* Prints the address, opens the browser, and serves. An exit status. */
static int serve(struct export_open *open, const struct file_site *site, int file,
                 const struct stop_signals *signals)
{
    struct browser browser;
    struct error error = {0};
    char address[256];
    int r;

    snprintf(address, sizeof address, ORIGIN "/#!/?url=http://" HOST ":%u%s", PORT, site->path);
    output_line(stdout, "%s", address);
    if (fflush(stdout) != 0)
        return cli_output_error(errno ? -errno : -EIO);
    show_page(&browser, address);
    if (isatty(STDERR_FILENO))
        cli_error("waits until the page has fetched the trace; Ctrl-C ends this");
    r = file_server_run(open->listener, site, file, signals->fd, WAIT_SECONDS * 1000, &error);
    open->listener = -1;
    browser_done(&browser);
    if (r > 0)
        return EXIT_SUCCESS;
    if (r == 0)
        cli_error("stopped by a signal; the page has not fetched the trace");
    else if (r == -ETIMEDOUT)
        cli_error("the page has not fetched the trace within %u seconds", WAIT_SECONDS);
    else
        cli_print_error(&error);
    return EXIT_FAILURE;
}

int export_open_run(struct export_open *open, const char *path)
{
    _cleanup_(closep) int file = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    struct stop_signals signals = {.fd = -1};
    struct file_site site = {.origin = ORIGIN};
    struct error error = {0};
    char name[NAME_MAX_LEN + 1];
    char target[SECRET_LEN + sizeof name + 2];
    struct stat st;
    int status, r;

    if (file < 0 || fstat(file, &st) < 0) {
        r = -errno;
        error_set(&error, r, path, "cannot open it: %s", error_text(r));
        return cli_print_failure(&error, r);
    }
    r = guard_init(&site.guard, PORT);
    if (r == 0)
        r = stop_signals_open(false, &signals);
    if (r < 0)
        return cli_print_failure(&error, r);
    guard_add_host(&site.guard, HOST);
    make_name(path, name);
    snprintf(target, sizeof target, "/%s/%s", site.guard.secret, name);
    site.path = target;
    site.size = (uint64_t)st.st_size;
    status = serve(open, &site, file, &signals);
    stop_signals_close(&signals);
    return status;
}

void export_open_done(struct export_open *open)
{
    if (open->listener >= 0)
        close(open->listener);
    locked_dir_done(&open->dir, true);
}
