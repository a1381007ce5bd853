/* SPDX-License-Identifier: MIT */
/* Finds the recording that is meant. */

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/find_recording.h"
#include "control/client.h"
#include "record/qemu/process.h"
#include "tracedir/manifest.h"
#include "tracedir/registry.h"

static const char *runtime_dir(void)
{
    return getenv("XDG_RUNTIME_DIR");
}

static int set_path(struct found_recording *target, const char *path, pid_t recorder)
{
    target->path = strdup(path);
    target->recorder = recorder;
    return target->path ? EXIT_SUCCESS : cli_no_memory();
}

/* ---- By a process ---- */

struct recorder_search {
    pid_t pid;
    char trace[PATH_MAX];
};

static int find_recorder(const struct registry_recording *recording, void *userdata)
{
    struct recorder_search *search = userdata;

    if (recording->pid != search->pid)
        return 0;
    snprintf(search->trace, sizeof search->trace, "%s", recording->trace);
    return 1;
}

static bool is_traced_program(pid_t pid)
{
    struct client *client = NULL;
    bool is_traced = client_open(runtime_dir(), pid, &client, NULL) >= 0;

    client_free(client);
    return is_traced;
}

/* Reports how process PID can be recorded. */
static int refuse_process(pid_t pid)
{
    struct qemu_process running;
    long number = (long)pid;

    if (qemu_process_open(pid, &running, NULL) >= 0) {
        const char *name = running.name ? running.name : "QEMU";

        if (running.libvirt && running.name)
            cli_error("process %ld, domain '%s', is not being recorded; record it with: strata "
                      "record --flight=5m,2G --libvirt %s -o DIR",
                      number, name, name);
        else
            cli_error("process %ld, '%s', is not being recorded; record it with: strata record "
                      "--flight=5m,2G --attach %ld -o DIR",
                      number, name, number);
        qemu_process_done(&running);
    } else if (is_traced_program(pid)) {
        cli_error("process %ld is not being recorded; record it with: strata record "
                  "--flight=5m,2G --attach %ld -o DIR",
                  number, number);
    } else if (access("/proc/self", F_OK) == 0 && kill(pid, 0) < 0 && errno == ESRCH) {
        cli_error("there is no process %ld", number);
    } else {
        cli_error("process %ld is not being recorded; record a program with: strata record "
                  "--flight=5m,2G -o DIR -- PROGRAM",
                  number);
    }
    return EXIT_FAILURE;
}

static int find_process(pid_t pid, struct found_recording *target)
{
    struct recorder_search search = {.pid = pid};
    pid_t recorder = registry_find_recorder(runtime_dir(), pid, search.trace, sizeof search.trace);

    if (recorder > 0)
        return set_path(target, search.trace, recorder);
    if (registry_foreach(runtime_dir(), find_recorder, &search) == 1)
        return set_path(target, search.trace, pid);
    return refuse_process(pid);
}

/* ---- By a name ---- */

struct name_search {
    const char *name;
    pid_t pid; /* of the first one; 0: none */
    unsigned n;
};

static int find_name(const struct qemu_process *running, void *userdata)
{
    struct name_search *search = userdata;

    if (!running->name || strcmp(running->name, search->name) != 0)
        return 0;
    if (search->n++ == 0)
        search->pid = running->pid;
    return 0;
}

int find_qemu_by_name(const char *name, pid_t *ret_pid)
{
    struct name_search search = {.name = name};

    (void)qemu_process_foreach(find_name, &search);
    if (search.n > 1) {
        cli_error("%u QEMUs are called '%s'; give a process ID ('strata list' shows them)",
                  search.n, name);
        return EXIT_FAILURE;
    }
    *ret_pid = search.pid;
    return EXIT_SUCCESS;
}

static int find_named(const char *name, struct found_recording *target)
{
    pid_t pid;
    int status = find_qemu_by_name(name, &pid);

    if (status != EXIT_SUCCESS)
        return status;
    if (pid != 0)
        return find_process(pid, target);
    cli_error("%s: there is no such trace directory, and no QEMU of this name runs; 'strata "
              "list' shows what is recorded",
              name);
    return EXIT_FAILURE;
}

/* ---- The running recording ---- */

struct only_search {
    struct found_recording *target;
    unsigned n;
    int status;
};

static int find_only(const struct registry_recording *recording, void *userdata)
{
    struct only_search *search = userdata;

    if (search->n++ == 0)
        search->status = set_path(search->target, recording->trace, recording->pid);
    return 0;
}

static int list_one(const struct registry_recording *recording, void *userdata)
{
    cli_print_command(userdata, recording->trace);
    return 0;
}

static int find_only_one(const char *command, struct found_recording *target)
{
    struct only_search search = {.target = target, .status = EXIT_SUCCESS};

    (void)registry_foreach(runtime_dir(), find_only, &search);
    if (search.n == 1)
        return search.status;
    free(target->path);
    target->path = NULL;
    if (search.n == 0) {
        cli_error("nothing is being recorded by this user; record with: strata record "
                  "--flight=5m,2G -o DIR -- COMMAND, or give a directory");
    } else {
        cli_error("%u recordings are under way; give one of them:", search.n);
        (void)registry_foreach(runtime_dir(), list_one, (void *)command);
    }
    return EXIT_FAILURE;
}

int find_recording(const char *operand, const char *command, struct found_recording *ret)
{
    char *end;
    unsigned long pid;

    if (!operand)
        return find_only_one(command, ret);
    pid = strtoul(operand, &end, 10);
    if (manifest_probe(operand) || (strchr(operand, '/') && access(operand, F_OK) == 0))
        return set_path(ret, operand, 0);
    if (*operand >= '1' && *operand <= '9' && !*end && pid <= INT_MAX)
        return find_process((pid_t)pid, ret);
    if (access(operand, F_OK) == 0)
        return set_path(ret, operand, 0);
    if (strchr(operand, '/')) {
        cli_error("%s: no such directory", operand);
        return EXIT_FAILURE;
    }
    return find_named(operand, ret);
}
