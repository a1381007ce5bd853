/* SPDX-License-Identifier: MIT */
#include "record/plan/subject.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/process_root.h"
#include "control/socket_process.h"
#include "record/plan/conditions.h"
#include "record/plan/event_options.h"
#include "record/qemu/command.h"
#include "record/qemu/domain.h"
#include "record/rings/process.h"

/* ---- A command ---- */

static int find_command(const struct record_plan *plan, struct record_subject *subject,
                        struct error *error)
{
    const char *const *command = (const char *const *)(plan->words + plan->n);
    const char *path = plan->environment.path;
    struct qemu_command found = {0};
    unsigned n = 0;
    int r;

    while (command[n])
        n++;
    r = plan->qemu ? qemu_find_program(plan->qemu, path, &found.program, error)
                   : qemu_command_find(command, n, path, &found, error);
    if (r < 0)
        return -ENOENT;
    subject->kind = found.program ? RECORD_QEMU : RECORD_PROGRAM;
    subject->program = found.program;
    subject->qemu = (struct qemu_recorder_settings){
        .command = command,
        .n_before = found.n_before,
        .program = found.program,
        .wrapped = plan->qemu != NULL,
    };
    r = plan_conditions_check(plan, subject->kind, error);
    if (r >= 0 && subject->kind == RECORD_PROGRAM && plan->guest)
        r = record_plan_refuse_guest(command[0], error);
    return r;
}

/* ---- A QEMU that runs ---- */

/* subject->running is one, and `qemu` has where its monitor is. */
static int use_running(struct record_subject *subject)
{
    const struct qemu_process *running = &subject->running;

    subject->kind = RECORD_RUNNING_QEMU;
    subject->pid = running->pid;
    subject->qemu.running = running;
    subject->qemu.command = running->argv;
    /* What it executes may have been replaced since, by another version. */
    subject->qemu.program = running->program;
    if (!running->libvirt && running->has_root) {
        subject->root_of = running->pid;
        subject->qemu.program = process_root_inside(running->pid, running->program);
    }
    snprintf(subject->exe, sizeof subject->exe, "/proc/%ld/exe", (long)running->pid);
    if (!subject->root_of && faccessat(AT_FDCWD, running->program, X_OK, AT_EACCESS) < 0)
        subject->qemu.program = subject->exe;
    return 0;
}

static int use_domain(struct record_subject *subject)
{
    subject->qemu.domain = subject->domain;
    subject->qemu.monitor = libvirt_domain_monitor(subject->domain);
    return use_running(subject);
}

/* The connection that shows the process is also used later, because each connection that is closed unused takes the
 * place of a waiting client until the monitor handles it. */
static int connect_monitor(const char *socket, struct qmp **ret, pid_t *ret_pid,
                           struct error *error)
{
    struct socket_process server = {0};
    struct error why = {0};
    int r = qmp_connect(socket, ret, &why);

    if (r >= 0) {
        *ret_pid = qmp_peer(*ret);
        return 0;
    }
    /* The recorder connects, when there is room. */
    if (r == -EAGAIN && socket_find_server(socket, &server) > 0 && server.pid > 0) {
        *ret_pid = server.pid;
        return 0;
    }
    *error = why;
    return r;
}

/* The QEMU that is process PID, or that serves QMP on SOCKET; then PID does not matter. NULL: the socket is looked for. */
static int find_running(const struct record_plan *plan, pid_t pid, const char *socket,
                        struct record_subject *subject, struct error *error)
{
    struct qemu_process *running = &subject->running;
    struct error why = {0};
    int r = socket ? connect_monitor(socket, &subject->qemu.connection, &pid, error) : 0;

    if (r < 0)
        return r;
    r = qemu_process_open(pid, running, socket ? &why : error);
    if (r < 0 && socket)
        return error_set(error, r, socket,
                         "cannot find the QEMU that serves this socket (%s); give its process ID",
                         why.what);
    if (r < 0)
        return r;
    if (!socket && running->libvirt && running->n_qmp == 0) {
        r = qemu_domain_find(plan->libvirt_uri, running, &subject->domain, error);
        return r < 0 ? r : use_domain(subject);
    }
    subject->qemu.qmp = socket;
    if (!socket)
        r = qemu_process_monitor(running, &subject->qemu.qmp, error);
    if (r < 0)
        return r;
    subject->monitor = qmp_socket_endpoint(subject->qemu.qmp);
    subject->qemu.monitor = &subject->monitor;
    return use_running(subject);
}

struct search {
    const struct libvirt_domain *domain;
    pid_t pid; /* 0: not found */
};

static int find_process(const struct qemu_process *running, void *userdata)
{
    struct search *search = userdata;

    if (!qemu_domain_is(search->domain, running))
        return 0;
    search->pid = running->pid;
    return 1;
}

static int find_domain(const struct record_plan *plan, struct record_subject *subject,
                       struct error *error)
{
    struct search search = {0};
    int r = libvirt_domain_open(plan->libvirt_uri, plan->domains.items[0], &subject->domain, error);

    if (r < 0)
        return r;
    search.domain = subject->domain;
    (void)qemu_process_foreach(find_process, &search);
    if (search.pid == 0)
        return error_set(error, -ESRCH, NULL,
                         "libvirt domain '%s': this user sees no QEMU of it on this machine; "
                         "record on the machine where it runs, as root",
                         libvirt_domain_name(subject->domain));
    r = qemu_process_open(search.pid, &subject->running, error);
    return r < 0 ? r : use_domain(subject);
}

/* ---- A program that runs ---- */

struct rings_search {
    pid_t pid;
    char *path;
};

static int take_rings(const char *path, void *userdata)
{
    struct rings_search *search = userdata;
    struct process *process;

    if (process_open(path, false, &process, NULL) < 0)
        return 0;
    /* Of several, the last: what the process executed before is over. */
    if (process->pid == (uint32_t)search->pid && !process_is_replaced(process)) {
        free(search->path);
        search->path = strdup(path);
    }
    process_free(process);
    return 0;
}

/* The directory of the rings that the operand means; NULL: there is none. */
static char *find_rings(const char *operand)
{
    struct rings_search search = {.pid = proc_number(operand)};

    if (!search.pid)
        return strdup(operand);
    (void)process_foreach(NULL, take_rings, &search);
    return search.path;
}

/* The process of RINGS; 0: it is not seen from here. */
static pid_t find_ring_process(const char *rings)
{
    struct process *process;
    long pid;

    if (process_open(rings, false, &process, NULL) < 0)
        return 0;
    pid = process_find(process, NULL);
    process_free(process);
    return (pid_t)MAX(pid, 0);
}

static int has_free_rings(const char *path, void *userdata)
{
    const pid_t *pid = userdata;
    struct process *process;
    bool has;

    if (process_open(path, false, &process, NULL) < 0)
        return 0;
    has = process->pid == (uint32_t)*pid && !process_is_replaced(process) &&
          !(process->file->flags & PROCESS_WRITES);
    process_free(process);
    return has;
}

/* True if the operand is the process of a QEMU, and not a process that links libstrata and was started to be recorded
 * like a program. */
static bool is_machine(const char *operand)
{
    pid_t pid = proc_number(operand);
    char path[64];

    snprintf(path, sizeof path, "/proc/%ld/exe", (long)pid);
    return pid && vmm_is_qemu(path) && process_foreach(NULL, has_free_rings, &pid) <= 0;
}

/* That the program whose rings are at subject->rings, or that is not to be found (NULL), can be recorded so. WHY: it is not to be
 * found, and runs no virtual machine. */
static int check_rings(const struct record_plan *plan, struct record_subject *subject,
                       const struct error *why, struct error *error)
{
    const char *operand = plan->words[0];
    bool is_there = subject->rings || why->code != -ESRCH;

    subject->kind = RECORD_RINGS;
    if (is_there && plan->guest)
        return record_plan_refuse_guest(operand, error);
    if (is_there && plan->chosen.process.patterns.n > 0)
        return record_misuse(error, "--event switches no events of a program that runs; leave it "
                                    "out, and run: strata ctl PID on EVENTS");
    if (is_there && !plan->output)
        return record_misuse(error, "--output=DIR is required");
    if (subject->rings) {
        subject->pid = plan->host_threads ? find_ring_process(subject->rings) : 0;
        return 0;
    }
    if (why->code == -ENODEV)
        return error_set(error, -ENODEV, NULL,
                         "process %s has no rings in " RINGS_PARENT
                         "%u: it is not traced, or has had no event yet, or they lie elsewhere "
                         "(rings=); nor does it run virtual machines of KVM",
                         operand, (unsigned)geteuid());
    *error = *why;
    return why->code;
}

/* ---- Monitors of KVM's virtual machines ---- */

/* Whether each operand is a process that runs virtual machines of KVM: 1; 0; -ENOMEM. WHY: why the first that is none is
 * none. */
static int find_vmms(const struct record_plan *plan, struct record_subject *subject,
                     struct error *why)
{
    unsigned n = (unsigned)plan->n;

    subject->vmms = calloc(n, sizeof *subject->vmms);
    if (!subject->vmms)
        return -ENOMEM;
    for (; subject->n_vmms < n; subject->n_vmms++) {
        pid_t pid = proc_number(plan->words[subject->n_vmms]);
        int r = pid ? vmm_process_open(pid, &subject->vmms[subject->n_vmms], why) : -EINVAL;

        if (r < 0)
            return r == -ENOMEM ? r : 0;
    }
    return 1;
}

static int check_vmms(const struct record_plan *plan, struct record_subject *subject,
                      struct error *error)
{
    const struct vmm_process *first = &subject->vmms[0];
    const char *slash = strrchr(first->program, '/');
    const char *program = slash ? slash + 1 : first->program;
    long pid = (long)first->pid;

    subject->kind = RECORD_VMMS;
    subject->pid = subject->n_vmms == 1 ? first->pid : 0;
    if (plan->guest)
        return record_misuse(error,
                             "--guest without an endpoint is for QEMU; process %ld is %s: use "
                             "--guest=ENDPOINT (example: --guest=vsock:3)",
                             pid, program);
    if (!plan->host)
        return record_misuse(error,
                             "process %ld (%s) runs virtual machines of KVM and has no events "
                             "of its own: add --host, which records its exits",
                             pid, program);
    if (plan->chosen.process.patterns.n > 0)
        return record_misuse(error,
                             "--event switches no events of process %ld (%s): name the layer, "
                             "--event=host:EVENT or guest:EVENT",
                             pid, program);
    if (plan->host_threads && subject->n_vmms > 1)
        return record_misuse(error, "--host-threads accepts one process");
    return 0;
}

/* ---- All of them ---- */

static int find_attached(const struct record_plan *plan, struct record_subject *subject,
                         struct error *error)
{
    const char *operand = plan->words[0];
    struct error why = {0};
    int r;

    if (plan->n == 1 && qmp_is_socket(operand))
        return find_running(plan, 0, operand, subject, error);
    if (plan->n == 1 && is_machine(operand))
        return find_running(plan, proc_number(operand), NULL, subject, error);
    if (plan->n == 1)
        subject->rings = find_rings(operand);
    if (subject->rings)
        return check_rings(plan, subject, NULL, error);
    r = find_vmms(plan, subject, &why);
    if (r > 0)
        return check_vmms(plan, subject, error);
    if (r < 0)
        return r;
    if (plan->n > 1)
        return record_misuse(error, "--attach accepts one process, or several that all run "
                                    "virtual machines of KVM");
    return check_rings(plan, subject, &why, error);
}

int record_subject_find(const struct record_plan *plan, struct record_subject *ret,
                        struct error *error)
{
    int r = 0;

    *ret = (struct record_subject){.kind = RECORD_BESIDE};
    switch (plan->kind) {
    case RECORD_COMMAND: r = find_command(plan, ret, error); break;
    case RECORD_ATTACHED: r = find_attached(plan, ret, error); break;
    case RECORD_LIBVIRT: r = find_domain(plan, ret, error); break;
    default: break;
    }
    if (r >= 0 && ret->kind != RECORD_BESIDE)
        r = plan_events_check_layers(&plan->chosen, ret->kind == RECORD_PROGRAM, error);
    return r == -ENOMEM ? error_set(error, r, NULL, "out of memory") : r;
}

void record_subject_done(struct record_subject *subject)
{
    for (unsigned i = 0; i < subject->n_vmms; i++)
        vmm_process_done(&subject->vmms[i]);
    free(subject->vmms);
    free(subject->rings);
    free(subject->program);
    qmp_free(subject->qemu.connection);
    qemu_process_done(&subject->running);
    libvirt_domain_close(subject->domain);
}
