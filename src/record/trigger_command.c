/* SPDX-License-Identifier: MIT */
#include "record/trigger_command.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/macro.h"

struct job {
    char *snapshot, *trigger, *what;
};

struct trigger_command {
    const char *command;
    char *script; /* COMMAND "$@" */
    const sigset_t *mask;
    struct recorder *recorder;
    struct job
        jobs[TRIGGER_COMMANDS_MAX]; /* the oldest first; the first one runs where `child` does */
    unsigned n;
    struct child child;
    bool is_running;
    unsigned n_passed_over;
};

int trigger_command_new(const char *command, const sigset_t *mask, struct recorder *recorder,
                        struct trigger_command **ret)
{
    struct trigger_command *self = calloc(1, sizeof *self);

    if (!self)
        return -ENOMEM;
    *self = (struct trigger_command){
        .command = command, .mask = mask, .recorder = recorder, .child.end = -1};
    if (asprintf(&self->script, "%s \"$@\"", command) < 0) {
        free(self);
        return -ENOMEM;
    }
    *ret = self;
    return 0;
}

static void job_done(struct job *job)
{
    free(job->snapshot);
    free(job->trigger);
    free(job->what);
    *job = (struct job){0};
}

void trigger_command_free(struct trigger_command *self)
{
    if (!self)
        return;
    if (self->is_running) {
        pid_t pid = self->child.pid;

        (void)kill(-pid, SIGKILL);
        child_done(&self->child);
        child_remove_helper(pid);
    }
    for (unsigned i = 0; i < self->n; i++)
        job_done(&self->jobs[i]);
    free(self->script);
    free(self);
}

/* ---- The environment ---- */

/* NAME=VALUE, allocated; or NULL. */
static char *variable(const char *name, const char *value)
{
    char *text;

    return asprintf(&text, "%s=%s", name, value) < 0 ? NULL : text;
}

/* The environment of this process without the variables of an outer recorder, plus the variables of JOB. NULL: out of
 * memory. Otherwise, the first three are allocated. */
static char **make_environment(const struct job *job)
{
    size_t n = 0, at = 3;
    char **list;

    while (environ[n])
        n++;
    list = calloc(n + 4, sizeof *list);
    if (!list)
        return NULL;
    list[0] = variable("STRATA_SNAPSHOT", job->snapshot);
    list[1] = variable("STRATA_TRIGGER", job->trigger);
    list[2] = variable("STRATA_TRIGGER_WHAT", job->what);
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "STRATA_SNAPSHOT=", 16) != 0 &&
            strncmp(environ[i], "STRATA_TRIGGER", 14) != 0)
            list[at++] = environ[i];
    if (list[0] && list[1] && list[2])
        return list;
    for (size_t i = 0; i < 3; i++)
        free(list[i]);
    free(list);
    return NULL;
}

/* ---- One after the other ---- */

static int start(struct trigger_command *self, struct error *error)
{
    const struct job *job = &self->jobs[0];
    const char *const argv[] = {"sh", "-c", self->script, self->command, job->snapshot, NULL};
    char **environment = make_environment(job);
    struct child_how how = {
        .program = "/bin/sh",
        .argv = argv,
        .environment = (const char *const *)environment,
        .in = open("/dev/null", O_RDONLY | O_CLOEXEC),
        .out = STDERR_FILENO,
        .err = -1,
        .mask = self->mask,
        .new_session = true,
    };
    int r = -ENOMEM;

    if (environment) {
        r = child_start(&how, &self->child, error);
        for (size_t i = 0; i < 3; i++)
            free(environment[i]);
    } else {
        error_set(error, r, NULL, "out of memory");
    }
    free(environment);
    if (how.in >= 0)
        close(how.in);
    self->is_running = r >= 0;
    if (r >= 0)
        child_add_helper(self->child.pid);
    return r;
}

static void drop_first(struct trigger_command *self)
{
    job_done(&self->jobs[0]);
    self->n--;
    memmove(self->jobs, self->jobs + 1, self->n * sizeof *self->jobs);
}

static void start_next(struct trigger_command *self)
{
    while (self->n > 0 && !self->is_running) {
        struct error error = {0};

        if (start(self, &error) >= 0)
            break;
        recorder_report(self->recorder, "--then '%s' was not run for %s: %s", self->command,
                        self->jobs[0].snapshot, error.what);
        drop_first(self);
    }
}

void trigger_command_run(struct trigger_command *self, const char *snapshot, const char *trigger,
                         const char *what)
{
    struct job job;

    if (self->n == TRIGGER_COMMANDS_MAX) {
        recorder_report(self->recorder,
                        "--then '%s' was not run for %s: %u snapshots wait for it already",
                        self->command, snapshot, TRIGGER_COMMANDS_MAX);
        return;
    }
    job = (struct job){strdup(snapshot), strdup(trigger), strdup(what)};
    if (!job.snapshot || !job.trigger || !job.what) {
        job_done(&job);
        recorder_report(self->recorder, "--then '%s' was not run for %s: out of memory",
                        self->command, snapshot);
        return;
    }
    self->jobs[self->n++] = job;
    start_next(self);
}

int trigger_command_fd(const struct trigger_command *self)
{
    return self && self->is_running ? self->child.end : -1;
}

void trigger_command_step(struct trigger_command *self)
{
    char end[CHILD_END_SIZE];

    if (!self || !self->is_running || !child_has_ended(&self->child))
        return;
    if (self->child.status != 0)
        recorder_report(self->recorder, "--then '%s' for %s: %s", self->command,
                        self->jobs[0].snapshot, child_end_text(&self->child, end, sizeof end));
    child_remove_helper(self->child.pid);
    child_done(&self->child);
    self->is_running = false;
    drop_first(self);
    start_next(self);
}

bool trigger_command_is_idle(const struct trigger_command *self)
{
    return !self || self->n == 0;
}
