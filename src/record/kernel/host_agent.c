/* SPDX-License-Identifier: MIT */
#include "record/kernel/host_agent.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macro.h"
#include "record/kernel/host_leftover.h"

/* An agent exits within a second after its connection is closed. */
#define EXIT_TIMEOUT_NS (5 * NSEC_PER_SEC)
/* … unless tracefs is slow, which is not waited for where nothing was traced. */
#define CANCEL_TIMEOUT_NS NSEC_PER_SEC

#define CONNECTION 3 /* the descriptor, for --fd */

struct ends {
    int connection[2]; /* ours, the agent's */
    int log[2];        /* ours, the agent's */
    int failed[2];     /* the same: the errno of execv() */
};

static void ends_done(struct ends *ends)
{
    int *all[] = {ends->connection, ends->log, ends->failed};

    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        for (unsigned j = 0; j < 2; j++)
            if (all[i][j] >= 0)
                close(all[i][j]);
}

/* In the child. */
static _Noreturn void become_agent(const char *program, pid_t pid_filter, const struct ends *ends)
{
    char fd[32], pid[32];
    const char *argv[] = {"strata-agent", fd, pid, NULL};
    sigset_t none;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int failed = fcntl(ends->failed[1], F_DUPFD_CLOEXEC, 10);
    int error;

    snprintf(fd, sizeof fd, "--fd=%d", CONNECTION);
    snprintf(pid, sizeof pid, "--pid=%ld", (long)pid_filter);
    if (!pid_filter)
        argv[2] = NULL;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    setsid();
    /* Copied to high numbers first: none may be replaced before it is copied. */
    {
        int connection = fcntl(ends->connection[1], F_DUPFD_CLOEXEC, 10);
        int log = fcntl(ends->log[1], F_DUPFD_CLOEXEC, 10);

        if (null < 0 || failed < 0 || connection < 0 || log < 0 || dup2(null, 0) < 0 ||
            dup2(log, 1) < 0 || dup2(log, 2) < 0 || dup2(connection, CONNECTION) < 0)
            error = errno;
        else if (strchr(program, '/'))
            error = execv(program, (char **)(uintptr_t)argv) < 0 ? errno : 0;
        else
            error = execvp(program, (char **)(uintptr_t)argv) < 0 ? errno : 0;
    }
    (void)!write(failed, &error, sizeof error);
    _exit(127);
}

int host_agent_start(const char *program, pid_t pid_filter, struct host_agent *ret_agent,
                     int *ret_fd, struct error *error)
{
    struct ends ends = {{-1, -1}, {-1, -1}, {-1, -1}};
    int err = 0;
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.connection) < 0 ||
        pipe2(ends.log, O_CLOEXEC) < 0 || pipe2(ends.failed, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
        err = -errno;
        ends_done(&ends);
        return error_set(error, err, NULL, "cannot start '%s': %s", program, strerror(-err));
    }
    if (pid == 0)
        become_agent(program, pid_filter, &ends);
    close(ends.failed[1]);
    ends.failed[1] = -1;
    if (read(ends.failed[0], &err, sizeof err) == sizeof err) {
        ends_done(&ends);
        (void)waitpid(pid, NULL, 0);
        return error_set(error, -err, NULL, "cannot run '%s': %s%s", program, strerror(err),
                         err == ENOENT ? "; it belongs beside strata, or into a directory of $PATH"
                                       : "");
    }
    (void)fcntl(ends.log[0], F_SETFL, O_NONBLOCK);
    *ret_agent = (struct host_agent){.pid = pid, .log_fd = ends.log[0]};
    *ret_fd = ends.connection[0];
    ends.log[0] = ends.connection[0] = -1;
    ends_done(&ends);
    return 0;
}

/* Removes a line of N bytes, USED with its newline, from the front of the buffer. */
static int take_line(struct host_agent *agent, size_t n, size_t used, char *line, size_t size)
{
    static const char name[] = "strata-agent: ";
    const char *start = agent->text;

    if (n >= strlen(name) && memcmp(start, name, strlen(name)) == 0) {
        start += strlen(name);
        n -= strlen(name);
    }
    n = MIN(n, size - 1);
    memcpy(line, start, n);
    line[n] = '\0';
    agent->len -= used;
    memmove(agent->text, agent->text + used, agent->len);
    return 1;
}

int host_agent_read_line(struct host_agent *agent, char *line, size_t size)
{
    for (;;) {
        const char *newline = agent->len ? memchr(agent->text, '\n', agent->len) : NULL;
        ssize_t n = 0;

        if (newline) {
            size_t at = (size_t)(newline - agent->text);

            return take_line(agent, at, at + 1, line, size);
        }
        if (agent->len == sizeof agent->text)
            return take_line(agent, agent->len, agent->len, line, size);
        if (agent->log_fd >= 0)
            n = read(agent->log_fd, agent->text + agent->len, sizeof agent->text - agent->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n > 0) {
            agent->len += (size_t)n;
            continue;
        }
        if (n == 0 && agent->log_fd >= 0) {
            close(agent->log_fd);
            agent->log_fd = -1;
        }
        /* The last line may have no newline. */
        return agent->log_fd < 0 && agent->len
                   ? take_line(agent, agent->len, agent->len, line, size)
                   : 0;
    }
}

void host_agent_explain(struct host_agent *agent, struct error *error)
{
    char line[sizeof error->what];
    int err = error->code;

    /* An error that the agent sent by the protocol is the better one: it has a hint. */
    if (err != -EREMOTEIO && host_agent_read_line(agent, line, sizeof line) > 0) {
        error_clear(error);
        error_set(error, err, NULL, "%s", line);
    }
}

void host_agent_cancel(struct host_agent *agent)
{
    if (agent->pid > 0)
        (void)kill(agent->pid, SIGTERM);
    agent->is_cancelled = true;
}

static void wait_for_exit(struct host_agent *agent)
{
    uint64_t until =
        clock_ns(CLOCK_MONOTONIC) + (agent->is_cancelled ? CANCEL_TIMEOUT_NS : EXIT_TIMEOUT_NS);

    while (agent->pid > 0) {
        pid_t ended = waitpid(agent->pid, NULL, WNOHANG);

        if (ended == agent->pid || (ended < 0 && errno != EINTR)) {
            agent->pid = 0;
            return;
        }
        if (clock_ns(CLOCK_MONOTONIC) >= until)
            return;
        (void)poll(NULL, 0, 2);
    }
}

void host_agent_done(struct host_agent *agent)
{
    pid_t pid = agent->pid;

    wait_for_exit(agent);
    if (agent->pid > 0) {
        /* It did not react to the end of its connection. */
        kill(agent->pid, SIGKILL);
        (void)waitpid(agent->pid, NULL, 0);
    }
    /* It may have been killed. */
    if (pid > 0)
        host_leftover_remove(pid);
    if (agent->log_fd >= 0)
        close(agent->log_fd);
    *agent = (struct host_agent){.log_fd = -1};
}
