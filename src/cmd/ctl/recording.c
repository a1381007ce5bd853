/* SPDX-License-Identifier: MIT */
/* strata ctl DIR: controls what is being recorded into a directory; and strata ctl PID for a QEMU. */

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cmd/cmd.h"
#include "cmd/ctl/ctl.h"
#include "cmd/find_recording.h"
#include "control/client.h"
#include "control/qmp.h"
#include "record/qemu/domain.h"
#include "record/snapshot.h"
#include "report/recording_status.h"
#include "tracedir/ask.h"
#include "tracedir/is_recorded.h"
#include "tracedir/manifest.h"
#include "tracedir/registry.h"

/* ---- A recording ---- */

/* True if the source can be controlled, by its process or its socket. */
static bool is_controllable(const struct manifest_source *source)
{
    if (!source->vmm || manifest_source_has_ended(source))
        return false;
    if (source->vmm->qmp)
        return qmp_is_socket(source->vmm->qmp);
    /* A program that links libstrata, or the QEMU of a domain of libvirt. */
    return source->vmm->pid > 0 &&
           (strcmp(source->kind, "ctf") == 0 || strcmp(source->kind, "qemu-log") == 0 ||
            strcmp(source->kind, "simpletrace") == 0);
}

static int put_status(const char *directory, const struct manifest *manifest, bool is_recorded,
                      enum table_format format)
{
    bool was_killed = false;
    struct text out;
    int r;

    if (ctl_open(&out, format) < 0)
        return EXIT_FAILURE;
    r = print_recording_status(directory, manifest, is_recorded, format, &out);
    r = ctl_end(&out, r < 0 ? cli_output_error(r) : EXIT_SUCCESS);
    for (unsigned i = 0; i < manifest->n_sources && !is_recorded; i++)
        was_killed |= !manifest_source_has_ended(&manifest->sources[i]);
    if (was_killed)
        cli_error("%s: nothing is being recorded there: the recorder was killed", directory);
    return was_killed ? EXIT_FAILURE : r;
}

struct target {
    const char *directory;
    enum table_format format;
};

static int status(void *arg, unsigned n, char **arguments)
{
    const struct target *target = arg;
    const char *directory = target->directory;
    struct error error = {0};
    struct manifest manifest;
    pid_t recorder = 0;
    /* Before the manifest is read: a recorder that ends writes it first. */
    bool is_recorded = tracedir_is_recorded(directory, getenv("XDG_RUNTIME_DIR"), &recorder);
    int r;

    (void)n;
    (void)arguments;
    if (manifest_read(directory, &manifest, &error) < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    r = put_status(directory, &manifest, is_recorded, target->format);
    manifest_done(&manifest);
    return r;
}

/* Prints what the user should know about the snapshot at PATH. */
static void warn_of_problems(const char *path)
{
    struct manifest manifest;

    if (manifest_read(path, &manifest, NULL) < 0)
        return;
    for (unsigned i = 0; i < manifest.n_sources; i++)
        for (unsigned j = 0; j < manifest.sources[i].n_problems; j++)
            cli_message("warning: %s: %s", manifest.sources[i].name,
                        manifest.sources[i].problems[j]);
    manifest_done(&manifest);
}

/* Saves what is kept as a trace of its own, and prints its path. */
static int snapshot(void *arg, unsigned n, char **arguments)
{
    const struct target *target = arg;
    const char *directory = target->directory;
    const char *name = n > 0 ? arguments[0] : NULL;
    _cleanup_free_ char *text = NULL;
    char request[300];
    int r;

    if (name && !snapshot_name_is_valid(name)) {
        cli_error("the name of a snapshot has up to 99 letters, digits, '-', '_' and '.'");
        return EXIT_FAILURE;
    }
    snprintf(request, sizeof request, "snapshot%s%s", name ? " " : "", name ? name : "");
    r = tracedir_ask(directory, request, &text);
    if (r >= 0) {
        output_line(stdout, "%s", text);
        warn_of_problems(text);
        return EXIT_SUCCESS;
    }
    if (r == -EREMOTE)
        cli_error("%s: %s", directory, text);
    else if (r == -ENOENT || r == -ECONNREFUSED)
        cli_error("%s: nothing is being recorded there", directory);
    else
        cli_error("%s: cannot ask its recorder: %s", directory, strerror(-r));
    return EXIT_FAILURE;
}

const struct ctl_command ctl_recording_commands[] = {
    {"status", "", 0, 0, status, .is_table = true},
    {"snapshot", "[NAME]", 0, 1, snapshot},
    {NULL, NULL, 0, 0, NULL},
};

/* ---- A QEMU ---- */

static bool has_control_socket(pid_t pid)
{
    _cleanup_(client_freep) struct client *client = NULL;

    return client_open(getenv("XDG_RUNTIME_DIR"), pid, &client, NULL) >= 0;
}

static int in_domain(const struct qemu_process *running, const struct ctl_request *request)
{
    _cleanup_(libvirt_domain_closep) struct libvirt_domain *domain = NULL;
    struct error error = {0};

    if (qemu_domain_find(cmd_libvirt_uri(NULL), running, &domain, &error) >= 0)
        return ctl_monitor(libvirt_domain_monitor(domain), running->pid, domain, request);
    cli_print_error(&error);
    return EXIT_FAILURE;
}

static int in_qemu(const struct qemu_process *running, const struct ctl_request *request)
{
    struct error error = {0};
    const char *socket;

    if (running->libvirt && running->n_qmp == 0)
        return in_domain(running, request);
    if (qemu_process_monitor(running, &socket, &error) >= 0)
        return ctl_qmp(socket, request);
    cli_print_error(&error);
    return EXIT_FAILURE;
}

/* Controls a process: a QEMU, or a program that links libstrata. */
static int in_process(pid_t pid, const struct ctl_request *request)
{
    struct qemu_process running;
    char word[16];
    int status;

    snprintf(word, sizeof word, "%ld", (long)pid);
    if (qemu_process_open(pid, &running, NULL) < 0)
        return ctl_process(word, request);
    status = has_control_socket(pid) ? ctl_process(word, request) : in_qemu(&running, request);
    qemu_process_done(&running);
    return status;
}

/* ---- A QEMU, or a domain of libvirt, by its name ---- */

/* Controls the QEMU or program called NAME. */
static int in_named(const char *name, const struct ctl_request *request)
{
    pid_t pid;
    int status = find_qemu_by_name(name, &pid);

    if (status != EXIT_SUCCESS)
        return status;
    return pid != 0 ? in_process(pid, request) : ctl_process(name, request);
}

/* ---- A recording ---- */

/* Reports that the recording has ended; or that WORD is not a command of any target. An exit status. */
static int report_ended(const char *directory, const char *word)
{
    static const struct ctl_command *const all[] = {ctl_process_commands, ctl_qmp_commands,
                                                    ctl_recording_commands, NULL};

    if (ctl_suggest(all, word))
        return EXIT_USAGE;
    cli_error("%s: nothing to control: the recording has ended", directory);
    return EXIT_FAILURE;
}

static int in_recording(const char *directory, const struct manifest *manifest,
                        const struct ctl_request *request)
{
    struct target target = {directory, request->format};
    const struct manifest_source *found = NULL;
    bool runs = false;
    pid_t recorder = 0;

    if (ctl_has_command(ctl_recording_commands, request->words[0])) {
        const struct ctl_command *command =
            ctl_find(ctl_recording_commands, "a recording", request);

        return command ? command->function(&target, request->n - 1, request->words + 1)
                       : EXIT_USAGE;
    }
    for (unsigned i = 0; i < manifest->n_sources; i++) {
        const struct manifest_source *source = &manifest->sources[i];

        runs |= !manifest_source_has_ended(source);
        /* The monitor above all. */
        if (is_controllable(source) && (!found || (source->vmm->qmp && !found->vmm->qmp)))
            found = source;
    }
    if (!found) {
        if (runs)
            cli_error("%s: nothing to control: no QEMU or program that links libstrata is recorded "
                      "there so far; 'strata ctl %s status' shows what is",
                      directory, directory);
        else if (tracedir_is_recorded(directory, getenv("XDG_RUNTIME_DIR"), &recorder))
            cli_error("%s: nothing to control yet: the recording is starting, or what it records "
                      "has had no event; try again",
                      directory);
        else
            return report_ended(directory, request->words[0]);
        return EXIT_FAILURE;
    }
    if (found->vmm->qmp)
        return ctl_qmp(found->vmm->qmp, request);
    return in_process(found->vmm->pid, request);
}

/* ---- Which ---- */

static bool is_traced(const char *name)
{
    struct client_program *programs;
    size_t n;
    bool any = false;

    if (client_list(getenv("XDG_RUNTIME_DIR"), &programs, &n, NULL) < 0)
        return false;
    for (size_t i = 0; i < n; i++)
        any |= programs[i].name && strcmp(programs[i].name, name) == 0;
    client_list_free(programs, n);
    return any;
}

/* True if REQUEST is about the recording of WHICH, a process (PID) or a name (PID 0). Programs that link libstrata have
 * their own command `snapshot DIR`. */
static bool is_for_recording(const char *which, pid_t pid, const struct ctl_request *request)
{
    char trace[PATH_MAX];

    if (strcmp(request->words[0], "status") == 0)
        return true;
    if (strcmp(request->words[0], "snapshot") != 0)
        return false;
    if (pid == 0)
        return !is_traced(which);
    return !has_control_socket(pid) ||
           (request->n == 1 &&
            registry_find_recorder(getenv("XDG_RUNTIME_DIR"), pid, trace, sizeof trace) > 0);
}

/* True if WHICH is the directory of a recording that has not written its trace.json yet. */
static bool is_starting(const char *which)
{
    struct stat st;
    pid_t recorder = 0;

    return stat(which, &st) == 0 && S_ISDIR(st.st_mode) &&
           tracedir_is_recorded(which, getenv("XDG_RUNTIME_DIR"), &recorder);
}

/* Runs commands that only a recording has. WHICH is a process or a name, as in strata list. */
static int in_found(const char *which, const struct ctl_request *request)
{
    struct found_recording found = {0};
    struct error error = {0};
    struct manifest manifest;
    int r = find_recording(which, ctl_command.name, &found);

    if (r == EXIT_SUCCESS && manifest_read(found.path, &manifest, &error) < 0) {
        cli_print_error(&error);
        r = EXIT_FAILURE;
    } else if (r == EXIT_SUCCESS) {
        r = in_recording(found.path, &manifest, request);
        manifest_done(&manifest);
    }
    free(found.path);
    return r;
}

int ctl_any(const char *which, const struct ctl_request *request)
{
    struct error error = {0};
    struct manifest manifest;
    char *end;
    unsigned long pid = strtoul(which, &end, 10);
    int r;

    if (manifest_probe(which)) {
        if (manifest_read(which, &manifest, &error) < 0) {
            cli_print_error(&error);
            return EXIT_FAILURE;
        }
        r = in_recording(which, &manifest, request);
        manifest_done(&manifest);
        return r;
    }
    if (is_starting(which)) {
        cli_error("%s: nothing to control yet: the recording is starting; try again", which);
        return EXIT_FAILURE;
    }
    if (strchr(which, '/') && qmp_is_socket(which))
        return ctl_qmp(which, request);
    if (strchr(which, '/') && access(which, F_OK) < 0) {
        cli_error("%s: no such directory", which);
        return EXIT_FAILURE;
    }
    if (!(*which >= '1' && *which <= '9' && !*end && pid <= INT_MAX))
        pid = 0;
    if (is_for_recording(which, (pid_t)pid, request))
        return in_found(which, request);
    if (pid > 0)
        return in_process((pid_t)pid, request);
    return in_named(which, request);
}
