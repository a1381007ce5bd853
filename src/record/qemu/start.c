/* SPDX-License-Identifier: MIT */
/* How the recording of a QEMU begins: what reads its events, QEMU itself, the guest's kernel. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/copy.h"
#include "base/fd.h"
#include "proto/message.h"
#include "record/kernel/kernel_recorder.h"
#include "record/qemu/attach.h"
#include "record/qemu/log_search.h"
#include "tracedir/host.h"

static const char *join(struct qemu_recorder *self, const char *dir, const char *name)
{
    size_t size = strlen(dir) + strlen(name) + 2;
    char *path = arena_alloc(&self->arena, size);

    if (path)
        snprintf(path, size, "%s/%s", dir, name);
    return path;
}

/* The path of NAME in the recording's directory. */
static const char *inside(struct qemu_recorder *self, const char *name)
{
    return join(self, recording_path(self->recorder.recording), name);
}

/* So that the trace is read by these wherever it is taken. */
static int copy_declarations(struct qemu_recorder *self, struct error *error)
{
    const char *from = self->settings.probe->declarations;
    const char *to = inside(self, VMM_DECLARATIONS);
    int r;

    /* The trace of libstrata's rings declares its events itself. */
    if (!from || self->settings.probe->backend == VMM_BACKEND_RING)
        return 0;
    if (!to)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    r = copy_file(from, to, &(struct copy_options){.follow = true}, error);
    self->has_declarations = r >= 0;
    return r;
}

/* Opens the file to which the user wants QEMU's log, like QEMU. "%d" is QEMU's PID, which is unknown yet. -1: standard
 * error, if that is for lines that are not events. */
static int open_copy(const struct qemu_process *running, const struct qemu_arguments *arguments,
                     bool *ret_rest, int *ret_fd, struct error *error)
{
    *ret_rest = !arguments->log;
    *ret_fd = -1;
    if (running) {
        *ret_fd = qemu_attach_log(running);
        return 0;
    }
    if (!arguments->log) {
        *ret_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        return 0;
    }
    if (strchr(arguments->log, '%'))
        return error_set(
            error, -EINVAL, arguments->log,
            "-D with %%d (process ID) is not supported while recording; use a fixed file "
            "name");
    *ret_fd = open(arguments->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return *ret_fd < 0
               ? error_set(error, -errno, arguments->log, "cannot be written: %s", strerror(errno))
               : 0;
}

/* The rings of a QEMU that links libstrata. Its environment says where it makes them. */
static int open_rings(struct qemu_recorder *self, struct error *error)
{
    _cleanup_free_ char *value = NULL;
    size_t size;
    int r = programs_open(recording_path(self->recorder.recording), &self->programs, error);

    if (r < 0)
        return r;
    self->reads_rings = true;
    self->programs.may_sleep = true;
    self->programs.recording = self->recorder.recording;
    self->programs.max_size = recording_settings(self->recorder.recording)->max_size;
    value = programs_environment(&self->programs, self->settings.trace, self->settings.events,
                                 self->settings.n_events);
    size = (value ? strlen(value) : 0) + sizeof "STRATA_TRACE=";
    self->variable = arena_alloc(&self->arena, size);
    if (!value || !self->variable)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    snprintf(self->variable, size, "STRATA_TRACE=%s", value);
    return 0;
}

/* So that there is something to be opened when nothing comes. */
static int make_empty(struct qemu_recorder *self, struct error *error)
{
    int fd = openat(recording_dir(self->recorder.recording), VMM_LOG,
                    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd < 0)
        return error_set(error, -errno, recording_path(self->recorder.recording),
                         "cannot make a file in it: %s", strerror(errno));
    close(fd);
    return 0;
}

/* Where the log of QEMU goes through: *RET as this process names it, and self->log_to as QEMU does. */
static int choose_fifo(struct qemu_recorder *self, const char **ret, struct error *error)
{
    char fifo[REGISTRY_NAME_MAX];

    registry_name(recording_registry_entry(self->recorder.recording), "log", fifo);
    if (self->fifo_in_domain) {
        *ret = self->log_to = self->fifo_left = self->fifo_in_domain;
    } else if (self->place.parent >= 0) {
        *ret = join(self, self->place.dir.path, "log");
        self->log_to = join(self, self->place.inside, "log");
        self->fifo_left = join(self, self->place.left, "log");
    } else {
        *ret = self->log_to = arena_strdup(&self->arena, fifo);
    }
    return *ret && self->log_to ? 0 : error_set(error, -ENOMEM, NULL, "out of memory");
}

/* A running QEMU may not reach this user's files. Without a place it is asked all the same, and says why it cannot. */
static void make_place(struct qemu_recorder *self)
{
    pid_t pid = self->settings.running->pid;
    struct error error = {0};

    if (self->settings.domain)
        self->fifo_in_domain = log_destination_in_domain(self->settings.running);
    if (!self->fifo_in_domain && qemu_place_is_needed(pid) &&
        qemu_place_make(pid, &self->place, &error) < 0)
        recorder_problem(&self->recorder, "%s", error.what);
}

/* Opens QEMU's log: the own file of a running QEMU, if it has one, or a FIFO to which it will log. FILE: of -trace. */
static int open_log(struct qemu_recorder *self, const struct qemu_arguments *arguments,
                    const char *file, struct vmm_additions *additions, struct error *error)
{
    const struct qemu_process *running = self->settings.running;
    uint64_t max_size = recording_settings(self->recorder.recording)->max_size;
    const char *path = inside(self, VMM_LOG), *fifo;
    int own = running ? log_destination_own_file(running, error) : -ENOENT;
    bool rest;
    int copy, r;

    if (!path)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    if (own == -EREMOTE) {
        self->no_log = arena_strdup(&self->arena, error->what);
        error_clear(error);
        return self->no_log ? make_empty(self, error)
                            : error_set(error, -ENOMEM, NULL, "out of memory");
    }
    if (own >= 0)
        (void)lseek(own, 0, SEEK_END);
    if (own != -ENOENT)
        return own < 0 ? own : qemu_log_input_open_file(own, path, max_size, &self->log, error);
    r = choose_fifo(self, &fifo, error);
    if (r < 0)
        return r;
    additions->log = self->log_to;
    if (file)
        additions->trace_file = additions->log;
    r = open_copy(running, arguments, &rest, &copy, error);
    return r < 0 ? r
                 : qemu_log_input_open_fifo(fifo, path, max_size, copy, rest, self->settings.passes,
                                            &self->log, error);
}

/* A file that QEMU logs to by itself may be another QEMU's log, too, and its disk may be full. */
static void watch_file(struct qemu_recorder *self)
{
    pid_t pid = self->settings.running->pid;
    uid_t uid = 0;
    gid_t gid;

    (void)log_destination_user(pid, &uid, &gid);
    self->log.is_of_root = uid == 0;
    self->log_sharer = log_search_sharer(pid, self->log.in);
    /* In another PID namespace, threads have other numbers in the log than here. */
    if (self->log_sharer && self->settings.running->has_times && log_search_has_pids(pid))
        self->log.owner = pid;
}

/* Of a log that is open. */
static int set_up_log(struct qemu_recorder *self, struct error *error)
{
    const struct recording_settings *settings = recording_settings(self->recorder.recording);
    const char *pairs = inside(self, VMM_PAIRS);
    int r = 0;

    self->log.names = self->settings.probe->events;
    self->log.n_names = self->settings.probe->n_events;
    self->log.drops_when_full = settings->limit && *settings->limit;
    if (!pairs)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    if (self->log.is_file)
        watch_file(self);
    if (self->clock.file < 0)
        r = qemu_clock_open(pairs, &self->clock, error);
    if (r >= 0 && self->settings.running && !self->settings.running->has_times)
        r = qemu_log_input_stamp(&self->log, &self->clock, error);
    if (r >= 0 && self->log.stamps)
        self->log.is_waited_for = recording_measure_wakeups(self->recorder.recording);
    return r;
}

int qemu_use_log(struct qemu_recorder *self, int fd, struct error *error)
{
    const struct recording *recording = self->recorder.recording;
    const char *path = inside(self, VMM_LOG);
    int r;

    qemu_log_input_done(&self->log);
    (void)unlinkat(recording_dir(recording), VMM_LOG, 0); /* nothing was recorded so far */
    self->log_to = NULL;
    if (!path) {
        close(fd);
        return error_set(error, -ENOMEM, NULL, "out of memory");
    }
    self->began = host_moment();
    r = qemu_log_input_open_file(fd, path, recording_settings(recording)->max_size, &self->log,
                                 error);
    return r < 0 ? r : set_up_log(self, error);
}

/* What takes the events, and where QEMU is to put them. FILE is what its user's -trace has for that; NULL: nothing. */
static int open_sink(struct qemu_recorder *self, const struct qemu_arguments *arguments,
                     const char *file, struct vmm_additions *additions, struct error *error)
{
    enum vmm_backend backend = self->settings.probe->backend;
    int r;

    /* One that has several backends would write all to standard error besides. */
    if (backend != VMM_BACKEND_LOG && self->settings.probe->logs && !arguments->log &&
        !arguments->logs && !self->settings.running)
        additions->log = "/dev/null";
    if (backend == VMM_BACKEND_SIMPLE) {
        additions->trace_file = inside(self, VMM_SIMPLE);
        self->simple_copy = self->settings.running ? NULL : file;
        return additions->trace_file ? 0 : error_set(error, -ENOMEM, NULL, "out of memory");
    }
    /* One that also has simpletrace would write that into a file of its own naming. */
    additions->trace_file = file;
    if (!file && self->settings.probe->has_simple)
        additions->trace_file = "/dev/null";
    if (backend == VMM_BACKEND_RING && self->settings.running)
        return error_set(error, -EBUSY, NULL,
                         "this QEMU links libstrata, and writes its trace by itself: 'strata ctl "
                         "%ld' switches its events and shows its outputs",
                         (long)self->settings.running->pid);
    if (backend == VMM_BACKEND_RING) {
        r = open_rings(self, error);
        if (r < 0)
            return r;
    }
    if (backend != VMM_BACKEND_LOG)
        return make_empty(self, error);
    r = open_log(self, arguments, file, additions, error);
    return r < 0 || self->log.in < 0 ? r : set_up_log(self, error);
}

int qemu_find_domain_port(struct qemu_recorder *self, const char **ret, struct error *error)
{
    _cleanup_free_ char *path = NULL, *id = NULL;
    int r = libvirt_domain_port(self->settings.domain, PROTO_PORT, &path, &id, error);

    if (r <= 0)
        return r;
    *ret = arena_strdup(&self->arena, path);
    self->port_id = id ? arena_strdup(&self->arena, id) : NULL;
    return *ret && (self->port_id || !id) ? 1 : error_set(error, -ENOMEM, NULL, "out of memory");
}

/* What the command itself has: the socket of the port for the agent (there can be no other one of that name), and the
 * file of -trace. Each is left alone where there is none. */
static int read_command(struct qemu_recorder *self, const char **ret_port, const char **ret_file,
                        struct error *error)
{
    const struct qemu_recorder_settings *settings = &self->settings;
    struct qemu_process running = {.argv = settings->command + settings->n_before,
                                   .n = settings->n_command - settings->n_before};
    int r;

    if (settings->running) {
        *ret_port = settings->running->port;
        *ret_file = settings->running->trace_file;
        self->port_chardev = settings->domain ? NULL : settings->running->port_chardev;
        return settings->domain ? qemu_find_domain_port(self, ret_port, error) : 0;
    }
    r = qemu_process_parse(&running);
    if (r >= 0 && running.port) {
        *ret_port = arena_strdup(&self->arena, running.port);
        r = *ret_port ? 0 : -ENOMEM;
    }
    if (r >= 0 && running.port_id) {
        self->port_id = arena_strdup(&self->arena, running.port_id);
        r = self->port_id ? 0 : -ENOMEM;
    }
    if (r >= 0 && running.trace_file) {
        *ret_file = arena_strdup(&self->arena, running.trace_file);
        r = *ret_file ? 0 : -ENOMEM;
    }
    qemu_process_done(&running);
    return r < 0 ? error_set(error, r, NULL, "out of memory") : 0;
}

static const char *name_in_runtime(struct qemu_recorder *self, const char *name)
{
    const struct registry_entry *entry = recording_registry_entry(self->recorder.recording);
    char buf[REGISTRY_NAME_MAX];

    return arena_strdup(&self->arena, registry_name(entry, name, buf));
}

/* The socket of the port to add. libvirt has a name of its own for it, which is known when it is there. */
static int choose_port(struct qemu_recorder *self, struct error *error)
{
    const struct qemu_recorder_settings *settings = &self->settings;

    if (!settings->guest || self->port)
        return 0;
    if (settings->running && !settings->domain)
        self->port_chardev = QEMU_RESTORE_CHARDEV;
    if (self->place.parent >= 0 && !settings->domain) {
        self->added = join(self, self->place.inside, "agent");
        self->port = join(self, self->place.dir.path, "agent");
    } else {
        self->added = name_in_runtime(self, "agent");
        self->port_id = VMM_PORT_ID;
        self->port = settings->domain ? NULL : self->added;
    }
    return self->added && (self->port || settings->domain)
               ? 0
               : error_set(error, -ENOMEM, NULL, "out of memory");
}

int qemu_join_guest(struct qemu_recorder *self, struct error *error)
{
    if (!self->settings.guest || !self->port)
        return 0;
    return kernel_recorder_join(self->settings.guest, &self->recorder, qemu_read_machine,
                                self->port, error);
}

/* While the machine is paused, the guest's clock does not advance, and its agent does not answer. */
void qemu_on_pause(void *userdata, const struct qemu_pause *pause)
{
    struct qemu_recorder *self = userdata;

    if (!self->settings.guest)
        return;
    if (pause->resumed)
        kernel_recorder_machine_resumed(self->settings.guest, pause->resumed);
    else
        kernel_recorder_machine_stopped(self->settings.guest, pause->stopped);
}

/* That an agent was killed, its connection does not show: QEMU keeps the socket. While the machine stands still no agent can close its
 * port, but QEMU does so where it loads a snapshot of the machine (loadvm). */
static void note_port(struct qemu_recorder *self, const json_t *data)
{
    const char *id = json_string_value(json_object_get(data, "id"));

    if (self->settings.guest && !self->monitor.is_paused && id && self->port_id &&
        strcmp(id, self->port_id) == 0 && json_is_false(json_object_get(data, "open"))) {
        self->monitor.wants_status = true; /* QEMU answers after a reset that has closed it */
        kernel_recorder_agent_closed(self->settings.guest);
    }
}

void qemu_on_event(void *userdata, const char *name, const json_t *data)
{
    struct qemu_recorder *self = userdata;
    _cleanup_free_ char *values =
        json_object_size(data) > 0 ? json_dumps(data, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    char text[200];

    if (strcmp(name, "VSERPORT_CHANGE") == 0)
        note_port(self, data);
    snprintf(text, sizeof text, "%s%s%s", name, values ? " " : "", values ? values : "");
    recorder_happened(&self->recorder, &(struct recorder_event){.kind = RECORDER_EVENT_QMP,
                                                                .name = name,
                                                                .text = text,
                                                                .status = -1,
                                                                .time = clock_ns(CLOCK_MONOTONIC)});
}

/* QEMU, and the connection to its monitor; the guest when nothing but running QEMU is left to be done. */
static int start(struct qemu_recorder *self, const struct qemu_arguments *arguments,
                 struct vmm_additions *additions, struct error *error)
{
    const struct qemu_recorder_settings *settings = &self->settings;
    const struct stop_signals *signals = recording_settings(self->recorder.recording)->signals;
    struct child_how how = {
        .in = -1,
        .out = -1,
        .err = -1,
        .mask = signals ? &signals->before : NULL,
        /* As if its user had said so: it shuts down in order, so that its disks are as they should be. */
        .end_signal = SIGTERM,
    };
    bool is_qemu = settings->n_before == 0 && !settings->wrapped;
    int line[2] = {-1, -1};
    const char **words;
    char **argv;
    unsigned n;
    int r = qemu_arguments_build(arguments, additions, &self->arena, &argv, &n, error);

    if (r >= 0)
        r = qemu_monitor_listen(additions->monitor, 0, &self->monitor, error);
    self->monitor.on_pause = qemu_on_pause;
    self->monitor.on_event = qemu_on_event;
    self->monitor.userdata = self;
    if (r >= 0)
        r = qemu_join_guest(self, error);
    if (r < 0)
        return r;
    words = arena_alloc(&self->arena, (settings->n_before + n + 1) * sizeof *words);
    if (!words)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    memcpy(words, settings->command, settings->n_before * sizeof *words);
    memcpy(words + settings->n_before, argv, (n + 1) * sizeof *words);
    how.program = is_qemu ? settings->program : NULL;
    how.argv = words;
    how.variable = self->variable;
    r = children_list(&self->others, error);
    if (r < 0)
        return r;
    if (settings->wrapped && pipe2(line, O_CLOEXEC) < 0)
        return error_set(error, -errno, NULL, "cannot make a pipe: %s", strerror(errno));
    self->line = line[0];
    if (settings->wrapped)
        child_adopt_orphans();
    how.keep = MAX(line[1], 0);
    r = child_start(&how, &self->child, error);
    if (line[1] >= 0)
        close(line[1]);
    if (r < 0)
        return r;
    /* Otherwise the PID is known when QEMU connects to the monitor socket. */
    if (!settings->wrapped)
        self->monitor.pid = self->child.pid;
    self->programs.main_pid = (uint32_t)self->child.pid;
    /* No other process can have it: it has just come. */
    (void)qemu_process_claim(self->child.pid, NULL, &self->claim, NULL);
    self->phase = QEMU_RUNS;
    return 0;
}

static int begin(struct qemu_recorder *self, struct error *error)
{
    const struct qemu_recorder_settings *settings = &self->settings;
    struct recording *recording = self->recorder.recording;
    struct vmm_additions additions = {.events = settings->events, .n_events = settings->n_events};
    struct qemu_arguments arguments;
    const char *file = NULL;
    int r;

    r = qemu_arguments_read(settings->program, settings->command + settings->n_before,
                            settings->n_command - settings->n_before, &arguments);
    if (r < 0)
        return error_set(error, r, NULL, "out of memory");
    r = recording_register(recording, error);
    if (r >= 0 && settings->running)
        r = qemu_process_claim(settings->running->pid, recording_settings(recording)->runtime,
                               &self->claim, error);
    if (r < 0)
        return r;
    if (mkdirat(recording_dir(recording), VMM_DIR, 0777) < 0)
        return error_set(error, -errno, recording_path(recording),
                         "cannot make a directory in it: %s", strerror(errno));
    r = copy_declarations(self, error);
    if (r >= 0)
        r = read_command(self, &self->port, &file, error);
    if (file && settings->probe->backend == VMM_BACKEND_LOG)
        arguments.log = file;
    if (r >= 0 && settings->running)
        make_place(self);
    if (r >= 0)
        r = open_sink(self, &arguments, file, &additions, error);
    if (r < 0)
        return r;
    self->control = settings->running ? settings->qmp : name_in_runtime(self, "qmp");
    additions.control = self->control;
    additions.monitor = name_in_runtime(self, "monitor");
    additions.config = name_in_runtime(self, "config");
    if ((!settings->running && !self->control) || !additions.monitor || !additions.config)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    r = choose_port(self, error);
    if (r < 0)
        return r;
    additions.port = self->added;
    self->began = host_moment();
    /* Before QEMU runs: a trace whose recorder is killed at once opens, too. */
    r = recording_note(recording, error);
    if (r < 0)
        return r;
    if (!settings->running)
        return start(self, &arguments, &additions, error);
    if (self->log.in < 0 && settings->probe->backend == VMM_BACKEND_SIMPLE)
        self->simple_to = additions.trace_file;
    return qemu_attach(self, error);
}

void qemu_remove_files(struct qemu_recorder *self)
{
    static const char *const files[] = {VMM_LOG, VMM_SIMPLE, VMM_PAIRS, VMM_DECLARATIONS};
    int dir = recording_dir(self->recorder.recording);

    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        (void)unlinkat(dir, files[i], 0);
    (void)unlinkat(dir, VMM_DIR, AT_REMOVEDIR);
}

int qemu_start(struct recorder *recorder, struct error *error)
{
    struct qemu_recorder *self = qemu_self(recorder);
    int r = begin(self, error);

    if (r >= 0)
        return 0;
    if (self->settings.running)
        qemu_leave(self);
    child_done(&self->child);
    qemu_remove_files(self);
    return r;
}
