/* SPDX-License-Identifier: MIT */
/* How the recording of a virtual machine begins: its directory, what takes QEMU's events, QEMU itself, the kernels. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/copy.h"
#include "base/fd.h"
#include "record/qemu/attach.h"
#include "record/qemu/running.h"
#include "record/qemu/sources.h"
#include "tracedir/host.h"
#include "tracedir/reserve.h"

#define SECOND UINT64_C(1000000000)
/* So long QEMU's start waits for the host's kernel. */
#define HOST_TIMEOUT (10 * SECOND)

static int take_dir(struct qemu_recording *recording, struct error *error)
{
    const char *path = recording->settings.dir;
    _cleanup_(closedirp) DIR *dir = NULL;
    const struct dirent *entry;
    bool empty = true;

    if (mkdir(path, 0777) == 0)
        recording->made = true;
    else if (errno != EEXIST)
        return error_set(error, -errno, path, "cannot be made: %s", strerror(errno));
    recording->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (recording->dir >= 0)
        dir = open_dir_at(recording->dir, ".");
    if (!dir)
        return error_set(error, -errno, path, "cannot be opened: %s", strerror(errno));
    while (empty && (entry = readdir(dir)))
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (!empty)
        return error_set(
            error, -EEXIST, path,
            "there is something in this directory already: name another, or a new one");
    recording->path = realpath(path, NULL);
    return recording->path ? 0 : error_set(error, -errno, path, "%s", strerror(errno));
}

/* PATH/NAME in the recording's arena. */
static const char *inside(struct qemu_recording *recording, const char *name)
{
    size_t size = strlen(recording->path) + strlen(name) + 2;
    char *path = arena_alloc(&recording->arena, size);

    if (path)
        snprintf(path, size, "%s/%s", recording->path, name);
    return path;
}

/* So that the trace is read by these wherever it is taken. */
static int copy_declarations(struct qemu_recording *recording, struct error *error)
{
    const char *from = recording->settings.probe->declarations;
    const char *to = inside(recording, VMM_DECLARATIONS);
    int r;

    /* The native trace tells what its events are. */
    if (!from || recording->settings.probe->backend == VMM_BACKEND_RING)
        return 0;
    if (!to)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    r = copy_file(from, to, &(struct copy_options){.follow = true}, error);
    recording->has_declarations = r >= 0;
    return r;
}

/* The file that the user wants QEMU's log in, as QEMU opens it; "%d" is QEMU's number, which is not known yet.
 * -1: standard error, where it is for what is no event. */
static int open_copy(const struct qemu_running *running, const struct qemu_arguments *arguments,
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
        return error_set(error, -EINVAL, arguments->log,
                         "a log by the number of the process cannot be had while it is recorded: "
                         "give -D another name");
    *ret_fd = open(arguments->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return *ret_fd < 0
               ? error_set(error, -errno, arguments->log, "cannot be written: %s", strerror(errno))
               : 0;
}

/* The rings of a QEMU that links libstrata: it is told by its environment where to have them. */
static int open_rings(struct qemu_recording *recording, struct error *error)
{
    _cleanup_free_ char *value = NULL;
    size_t size;
    int r = programs_open(recording->path, &recording->programs, error);

    if (r < 0)
        return r;
    recording->takes_rings = true;
    recording->programs.max_size = recording->settings.max_size;
    value = programs_environment(&recording->programs, recording->settings.trace,
                                 recording->settings.events, recording->settings.n_events);
    size = (value ? strlen(value) : 0) + sizeof "STRATA_TRACE=";
    recording->variable = arena_alloc(&recording->arena, size);
    if (!value || !recording->variable)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    snprintf(recording->variable, size, "STRATA_TRACE=%s", value);
    return 0;
}

/* So that there is something to be opened when nothing comes. */
static int make_empty(struct qemu_recording *recording, struct error *error)
{
    int fd = openat(recording->dir, VMM_LOG, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd < 0)
        return error_set(error, -errno, recording->path, "cannot make a file in it: %s",
                         strerror(errno));
    close(fd);
    return 0;
}

/* What takes the events, and where QEMU is to put them. FILE is what its user's -trace has for that; NULL: nothing. */
static int open_sink(struct qemu_recording *recording, const struct qemu_arguments *arguments,
                     const char *file, struct vmm_additions *additions, struct error *error)
{
    enum vmm_backend backend = recording->settings.probe->backend;
    char fifo[REGISTRY_NAME_MAX];
    const char *path, *pairs;
    bool rest;
    int copy;
    int r;

    /* One that has several backends would write all to standard error besides. */
    if (backend != VMM_BACKEND_LOG && recording->settings.probe->logs && !arguments->log &&
        !arguments->logs && !recording->settings.running)
        additions->log = "/dev/null";
    if (backend == VMM_BACKEND_SIMPLE) {
        additions->trace_file = inside(recording, VMM_SIMPLE);
        recording->simple_copy = recording->settings.running ? NULL : file;
        return additions->trace_file ? 0 : error_set(error, -ENOMEM, NULL, "out of memory");
    }
    /* One that also has simpletrace would write that into a file of its own naming. */
    additions->trace_file = file;
    if (!file && recording->settings.probe->has_simple)
        additions->trace_file = "/dev/null";
    if (backend == VMM_BACKEND_RING && recording->settings.running)
        return error_set(error, -EBUSY, NULL,
                         "this QEMU links libstrata, and writes its trace by itself: 'strata ctl "
                         "%ld' switches its events, and tells where they go",
                         (long)recording->settings.running->pid);
    if (backend == VMM_BACKEND_RING) {
        r = open_rings(recording, error);
        if (r < 0)
            return r;
    }
    if (backend != VMM_BACKEND_LOG)
        return make_empty(recording, error);
    path = inside(recording, VMM_LOG);
    pairs = inside(recording, VMM_PAIRS);
    registry_name(&recording->registry_entry, "log", fifo);
    additions->log = arena_strdup(&recording->arena, fifo);
    if (!path || !pairs || !additions->log)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    if (file)
        additions->trace_file = additions->log;
    r = open_copy(recording->settings.running, arguments, &rest, &copy, error);
    if (r >= 0)
        r = qemu_log_pipe_open(fifo, path, recording->settings.max_size, copy, rest,
                               recording->settings.passes, &recording->log, error);
    if (r >= 0 && recording->settings.running && !recording->settings.running->has_times)
        r = qemu_log_pipe_stamp(&recording->log, error);
    if (r >= 0)
        r = qemu_clock_open(pairs, recording->log.stamps ? VMM_LOG_STAMP_ERROR : 0,
                            &recording->clock, error);
    return r;
}

/* What the command itself has: the socket of the port for the agent (there can be no other one of that name), and the
 * file of -trace. Each is left alone where there is none. */
static int read_command(struct qemu_recording *recording, const char **ret_port,
                        const char **ret_file, struct error *error)
{
    const struct qemu_settings *settings = &recording->settings;
    struct qemu_running running = {.argv = settings->command + settings->n_before,
                                   .n = settings->n_command - settings->n_before};
    int r;

    if (settings->running) {
        *ret_port = settings->running->port;
        *ret_file = settings->running->trace_file;
        return 0;
    }
    r = qemu_running_parse(&running);
    if (r >= 0 && running.port) {
        *ret_port = arena_strdup(&recording->arena, running.port);
        r = *ret_port ? 0 : -ENOMEM;
    }
    if (r >= 0 && running.trace_file) {
        *ret_file = arena_strdup(&recording->arena, running.trace_file);
        r = *ret_file ? 0 : -ENOMEM;
    }
    qemu_running_done(&running);
    return r < 0 ? error_set(error, r, NULL, "out of memory") : 0;
}

static const char *name_in_runtime(struct qemu_recording *recording, const char *name)
{
    char buf[REGISTRY_NAME_MAX];

    return arena_strdup(&recording->arena, registry_name(&recording->registry_entry, name, buf));
}

static int host_failed(struct qemu_recording *recording, struct error *why, struct error *error)
{
    host_agent_explain(&recording->agent, why);
    return error_set(error, why->code, NULL, "the host's kernel cannot be recorded: %s", why->what);
}

/* The kernels that are taken; the guest's by the socket PORT. */
static int join_kernels(struct qemu_recording *recording, const char *port, struct error *error)
{
    struct error why = {0};
    const struct qemu_settings *settings = &recording->settings;
    struct guest_config plans[2] = {{0}};
    /* Of a QEMU that is not there yet: ours, whose children are followed. */
    pid_t only = !settings->host_threads ? 0
                 : settings->running     ? settings->running->pid
                                         : getpid();
    unsigned n = 0;
    int r = 0;

    if (settings->guest && port) {
        plans[n].name = "guest";
        plans[n].wishes = settings->guest;
        r = guest_endpoint_parse(ENDPOINT_PORT, port, &plans[n].place, error);
        plans[n].place.text = port;
        n++;
    }
    if (r >= 0 && settings->host) {
        plans[n].name = "host";
        plans[n].is_host = true;
        plans[n].wishes = settings->host;
        plans[n].place.kind = ENDPOINT_FD;
        if (host_agent_start(settings->agent, only, &recording->agent, &plans[n].place.fd, &why) <
            0)
            return host_failed(recording, &why, error);
        n++;
    }
    if (r >= 0 && n > 0)
        r = guests_join(recording->dir, recording->path,
                        settings->guest ? settings->guest : settings->host, settings->max_size,
                        plans, n, &recording->guests, error);
    /* So that what QEMU does first is in it. */
    if (r >= 0 && recording->agent.pid &&
        guests_await(&recording->guests, "host", HOST_TIMEOUT, &why) < 0)
        return host_failed(recording, &why, error);
    return r;
}

/* QEMU, and the connection to its monitor; the kernels when nothing but running it is left to be done. */
static int start(struct qemu_recording *recording, const struct qemu_arguments *arguments,
                 struct vmm_additions *additions, const char *port, struct error *error)
{
    const struct qemu_settings *settings = &recording->settings;
    struct child_how how = {
        .in = -1,
        .out = -1,
        .err = -1,
        .mask = recording->settings.mask,
        /* As if its user had said so: it shuts down in order, so that its disks are as they should be. */
        .end_signal = SIGTERM,
    };
    bool is_qemu = settings->n_before == 0 && !settings->wrapped;
    int line[2] = {-1, -1};
    const char **words;
    char **argv;
    unsigned n;
    int r = qemu_arguments_build(arguments, additions, &recording->arena, &argv, &n, error);

    if (r >= 0)
        r = qemu_monitor_listen(additions->monitor, 0, &recording->monitor, error);
    if (r >= 0)
        r = join_kernels(recording, port, error);
    if (r < 0)
        return r;
    words = arena_alloc(&recording->arena, (settings->n_before + n + 1) * sizeof *words);
    if (!words)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    memcpy(words, settings->command, settings->n_before * sizeof *words);
    memcpy(words + settings->n_before, argv, (n + 1) * sizeof *words);
    how.program = is_qemu ? settings->program : NULL;
    how.argv = words;
    how.variable = recording->variable;
    if (settings->wrapped && pipe2(line, O_CLOEXEC) < 0)
        return error_set(error, -errno, NULL, "cannot make a pipe: %s", strerror(errno));
    recording->line = line[0];
    if (settings->wrapped)
        child_adopt_orphans();
    children_list(&recording->others);
    how.keep = MAX(line[1], 0);
    r = child_start(&how, &recording->child, error);
    if (line[1] >= 0)
        close(line[1]);
    if (r < 0)
        return r;
    /* Else it is told when it comes. */
    if (!settings->wrapped)
        recording->monitor.pid = recording->child.pid;
    recording->programs.main_pid = (uint32_t)recording->child.pid;
    /* Nobody else can have it: it has just come. */
    (void)qemu_running_claim(recording->child.pid, &recording->claim, NULL);
    return 0;
}

/* The same of one that runs. */
static int attach(struct qemu_recording *recording, const struct vmm_additions *additions,
                  const char *port, struct error *error)
{
    pid_t pid = recording->settings.running->pid;
    int r = qemu_running_claim(pid, &recording->claim, error);

    if (r < 0)
        return r;
    r = child_adopt(pid, &recording->child);
    if (r < 0)
        return error_set(error, r, NULL, "process %ld cannot be watched; has it ended?", (long)pid);
    r = qemu_attach_give(recording, error);
    if (r >= 0)
        r = qemu_attach(recording, &port, additions->port != NULL, error);
    if (r >= 0)
        r = join_kernels(recording, port, error);
    /* Last: from then on the log is to be taken in time. */
    if (r >= 0)
        r = qemu_attach_events(
            recording, recording->log.fifo >= 0 ? additions->log : NULL,
            recording->settings.probe->backend == VMM_BACKEND_SIMPLE ? additions->trace_file : NULL,
            error);
    return r;
}

static int begin(struct qemu_recording *recording, struct error *error)
{
    const struct qemu_settings *settings = &recording->settings;
    struct vmm_additions additions = {.events = settings->events, .n_events = settings->n_events};
    struct qemu_arguments arguments;
    const char *port = NULL, *file = NULL;
    int r = take_dir(recording, error);

    if (r < 0)
        return r;
    qemu_arguments_read(settings->program, settings->command + settings->n_before,
                        settings->n_command - settings->n_before, &arguments);
    if (mkdirat(recording->dir, VMM_FOLDER, 0777) < 0)
        return error_set(error, -errno, recording->path, "cannot make a directory in it: %s",
                         strerror(errno));
    r = registry_add(settings->runtime, recording->path, &recording->registry_entry, error);
    if (r >= 0)
        r = copy_declarations(recording, error);
    if (r >= 0)
        r = read_command(recording, &port, &file, error);
    if (file && settings->probe->backend == VMM_BACKEND_LOG)
        arguments.log = file;
    if (r >= 0)
        r = open_sink(recording, &arguments, file, &additions, error);
    if (r < 0)
        return r;
    recording->control = settings->running ? arena_strdup(&recording->arena, settings->qmp)
                                           : name_in_runtime(recording, "qmp");
    additions.control = recording->control;
    additions.monitor = name_in_runtime(recording, "monitor");
    additions.config = name_in_runtime(recording, "config");
    if (!settings->guest && !settings->running)
        port = NULL;
    if (settings->guest && !port)
        port = additions.port = name_in_runtime(recording, "agent");
    if (!additions.control || !additions.monitor || !additions.config || (settings->guest && !port))
        return error_set(error, -ENOMEM, NULL, "out of memory");
    recording->began = host_moment();
    /* Before QEMU runs: a trace whose recorder is killed at once opens, too. */
    r = qemu_sources_write(recording, false, error);
    if (r < 0)
        return r;
    reserve_keep(recording->path, &recording->spare);
    if (settings->running)
        return attach(recording, &additions, port, error);
    return start(recording, &arguments, &additions, port, error);
}

/* What there is of a recording that has not begun. */
static void remove_dir(struct qemu_recording *recording)
{
    static const char *const files[] = {VMM_LOG, VMM_PAIRS, VMM_DECLARATIONS, MANIFEST_NAME};

    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        (void)unlinkat(recording->dir, files[i], 0);
    (void)unlinkat(recording->dir, VMM_FOLDER, AT_REMOVEDIR);
    if (recording->made)
        (void)rmdir(recording->path);
}

int qemu_recording_begin(const struct qemu_settings *settings, struct qemu_recording *ret,
                         struct error *error)
{
    struct qemu_recording recording = {
        .settings = *settings,
        .dir = -1,
        .registry_entry = REGISTRY_NONE,
        .log = {.shown = TEXT_IN_MEMORY, .fifo = -1, .file = -1, .copy = -1},
        .clock = {.file = -1},
        .child = {.end = -1},
        .qemu = {.end = -1},
        .monitor = {.listener = -1},
        .agent = {.said = -1},
        .spare = -1,
        .claim = -1,
        .line = -1,
    };
    int r = begin(&recording, error);

    if (r < 0) {
        if (settings->running && recording.child.pid)
            vmm_detach(&recording);
        child_done(&recording.child);
        guests_remove_silent(&recording.guests);
        if (recording.path && r != -EEXIST)
            remove_dir(&recording);
        qemu_recording_done(&recording);
        return r;
    }
    *ret = recording;
    return 0;
}
