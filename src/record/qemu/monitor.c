/* SPDX-License-Identifier: MIT */
#include "record/qemu/monitor.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macro.h"
#include "base/proc.h"
#include "control/qmp.h"

#define SECOND UINT64_C(1000000000)
#define THREADS_MAX 4096u
/* What came at once that is looked at before others have their turn. */
#define OBJECTS_AT_ONCE 64u
/* So often, where all that came is needed: a monitor that reports without end does not hold the recorder. */
#define READS_MAX 16u
/* Between two requests for the status of a machine whose migration ends. */
#define STATUS_INTERVAL_NS (50 * NSEC_PER_MSEC)
/* Firmware that resets the machine does so within this time of the reset, or this time of QEMU's CPU time. */
#define RESET_FIRMWARE_NS (2 * NSEC_PER_SEC)
#define RESET_FIRMWARE_CPU_NS (NSEC_PER_SEC / 2)
/* Time in which several events belong to one reset: requested by the guest; requested by the firmware, after which it
 * starts the machine. */
#define RESET_REPEATED_NS (20 * NSEC_PER_MSEC)
#define RESET_REPEATED_FIRMWARE_NS (100 * NSEC_PER_MSEC)
/* What QEMU may need from the stop of its machine to its own end. */
#define SHUTDOWN_MAX_NS NSEC_PER_SEC

int qemu_monitor_listen(const char *path, int pid, struct qemu_monitor *ret, struct error *error)
{
    struct qemu_monitor monitor = {.pid = pid, .state = MONITOR_NEW};
    struct sockaddr_un address;
    int r = unix_address(path, &address);

    if (r < 0)
        return error_set(error, r, path, "is too long for the name of a socket");
    monitor.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (monitor.listener < 0 ||
        bind(monitor.listener, (const struct sockaddr *)&address, sizeof address) < 0 ||
        listen(monitor.listener, 4) < 0)
        r = error_set(error, -errno, path, "cannot make a socket: %s", strerror(errno));
    if (r < 0 && monitor.listener >= 0)
        close(monitor.listener);
    if (r >= 0)
        *ret = monitor;
    return r;
}

/* Also another one, where what was started starts QEMU again. */
static int accept_it(struct qemu_monitor *monitor, struct error *error)
{
    int fd = accept4(monitor->listener, NULL, NULL, SOCK_CLOEXEC);
    pid_t peer;
    int r;

    if (fd < 0)
        return 0;
    r = qmp_adopt(fd, "the monitor", &monitor->qmp, error);
    if (r < 0)
        return r;
    peer = qmp_peer(monitor->qmp);
    if (peer > 0)
        monitor->pid = peer;
    monitor->state = MONITOR_NEW;
    monitor->answers = false;
    monitor->changed = true;
    /* Before it greets: events come from then on. */
    r = qmp_send(monitor->qmp, "qmp_capabilities", NULL, error);
    return r == -ENOMEM ? r : 0;
}

/* ---- Threads ---- */

static struct manifest_thread *find(struct qemu_monitor *monitor, int id)
{
    for (unsigned i = 0; i < monitor->n_threads; i++)
        if (monitor->threads[i].id == id)
            return &monitor->threads[i];
    return NULL;
}

static struct manifest_thread *add(struct qemu_monitor *monitor, int id)
{
    if (monitor->n_threads == monitor->room) {
        unsigned room = monitor->room ? 2 * monitor->room : 32;
        struct manifest_thread *bigger;

        if (room > THREADS_MAX)
            return NULL;
        bigger = realloc(monitor->threads, room * sizeof *bigger);
        if (!bigger)
            return NULL;
        monitor->threads = bigger;
        monitor->room = room;
    }
    monitor->threads[monitor->n_threads] = (struct manifest_thread){.id = id, .vcpu = -1};
    monitor->changed = true;
    return &monitor->threads[monitor->n_threads++];
}

static void set_name(struct qemu_monitor *monitor, struct manifest_thread *thread, const char *name)
{
    char *copy;

    if (thread->name && strcmp(thread->name, name) == 0)
        return;
    copy = strdup(name);
    if (!copy)
        return;
    free((char *)thread->name);
    thread->name = copy;
    monitor->changed = true;
}

/* The number of thread ID in the PID namespace of QEMU; 0: the same, or not known. */
static int find_own_id(const struct qemu_monitor *monitor, int id)
{
    char path[64], text[4096];
    unsigned long own;

    snprintf(path, sizeof path, "/proc/%d/task/%d/status", monitor->pid, id);
    if (proc_text(path, text, sizeof text) < 0)
        return 0;
    own = proc_inner_number(text);
    return own > INT32_MAX || own == (unsigned long)id ? 0 : (int)own;
}

static void read_name(struct qemu_monitor *monitor, int id)
{
    struct manifest_thread *thread = find(monitor, id);
    char path[64], name[64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", monitor->pid, id);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    n = read(fd, name, sizeof name - 1);
    close(fd);
    if (n <= 0)
        return;
    name[n] = '\0';
    name[strcspn(name, "\n")] = '\0';
    if (!thread) {
        thread = add(monitor, id);
        if (thread)
            thread->own_id = find_own_id(monitor, id);
        /* One that runs a vCPU, maybe one that was plugged in: which, the monitor knows. */
        monitor->wants_cpus |= strncmp(name, "CPU ", 4) == 0;
    }
    if (thread) /* the several vCPUs of one thread have its name */
        for (unsigned i = 0; i < monitor->n_threads; i++)
            if (monitor->threads[i].id == id)
                set_name(monitor, &monitor->threads[i], name);
}

void qemu_monitor_look(struct qemu_monitor *monitor)
{
    char path[64];
    _cleanup_(closedirp) DIR *dir = NULL;
    const struct dirent *entry;

    snprintf(path, sizeof path, "/proc/%d/task", monitor->pid);
    dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        int id = atoi(entry->d_name);

        if (id > 0)
            read_name(monitor, id);
    }
}

/* True if its process is stopped by a signal ('T') or held by a debugger ('t'). A process that is only traced, for
 * example by strace, is often in that state too, but its CPU time advances. */
static bool is_halted_now(struct qemu_monitor *monitor, char state)
{
    uint64_t cpu_time = 0, before = monitor->traced_cpu_time;
    bool was_traced = monitor->is_traced;

    monitor->is_traced = state == 't' && proc_cpu_time(monitor->pid, &cpu_time) >= 0;
    monitor->traced_cpu_time = cpu_time;
    return state == 'T' || (monitor->is_traced && was_traced && cpu_time == before);
}

static void look_whether_halted(struct qemu_monitor *monitor, uint64_t now)
{
    uint64_t start;
    char state;
    bool is_halted;

    if (proc_stat(monitor->pid, &start, &state) < 0)
        return;
    is_halted = is_halted_now(monitor, state);
    if (is_halted == monitor->is_halted)
        return;
    monitor->is_halted = is_halted;
    if (is_halted) {
        monitor->n_halts++;
        monitor->halted_at = now;
    } else {
        monitor->halted_ns += now - MIN(monitor->halted_at, now);
    }
}

/* OWN_ID: as QEMU says it. */
static void note_vcpu(struct qemu_monitor *monitor, int own_id, int vcpu)
{
    struct manifest_thread *free_one = NULL;
    int id = own_id, other = 0;
    const char *name = NULL;

    for (unsigned i = 0; i < monitor->n_threads; i++)
        if (manifest_thread_own_id(&monitor->threads[i]) == own_id) {
            id = monitor->threads[i].id;
            other = monitor->threads[i].own_id;
        }

    for (unsigned i = 0; i < monitor->n_threads; i++) {
        struct manifest_thread *thread = &monitor->threads[i];

        if (thread->id != id)
            continue;
        if (thread->vcpu == vcpu)
            return;
        name = thread->name;
        if (thread->vcpu < 0)
            free_one = thread;
    }
    if (!free_one)
        free_one = add(monitor, id);
    if (!free_one)
        return;
    free_one->own_id = other;
    free_one->vcpu = vcpu;
    monitor->changed = true;
    if (name)
        set_name(monitor, free_one, name);
    else
        read_name(monitor, id);
}

static void note_cpus(struct qemu_monitor *monitor, const json_t *list)
{
    size_t i;
    json_t *cpu;

    /* First: in a PID namespace, its threads have other numbers than here. */
    if (json_array_size(list) > 0)
        qemu_monitor_look(monitor);
    json_array_foreach(list, i, cpu)
    {
        json_int_t id = json_integer_value(json_object_get(cpu, "thread-id"));
        json_int_t vcpu = json_integer_value(json_object_get(cpu, "cpu-index"));

        if (id > 0 && id <= INT32_MAX && vcpu >= 0 && vcpu < MANIFEST_CPUS_MAX)
            note_vcpu(monitor, (int)id, (int)vcpu);
    }
}

/* ---- What it says ---- */

void qemu_monitor_watch(int pid, struct qemu_monitor *ret)
{
    *ret = (struct qemu_monitor){.listener = -1, .pid = pid, .state = MONITOR_IDLE};
}

void qemu_monitor_note(struct qemu_monitor *monitor, const char *version, const json_t *list)
{
    snprintf(monitor->version, sizeof monitor->version, "%s", version);
    note_cpus(monitor, list);
    qemu_monitor_look(monitor);
}

/* Converts a time of day in us to CLOCK_MONOTONIC; 0, or an impossible time: now. */
static uint64_t time_of_day(int64_t realtime_us)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC), real = clock_ns(CLOCK_REALTIME);
    uint64_t at = (uint64_t)MAX(realtime_us, 0) * 1000;

    return at > 0 && at < real && real - at < now ? now - (real - at) : now;
}

/* The time of an event, in us; 0: it has none that can be. */
static int64_t realtime_of(const json_t *timestamp)
{
    json_int_t seconds = json_integer_value(json_object_get(timestamp, "seconds"));
    json_int_t us = json_integer_value(json_object_get(timestamp, "microseconds"));

    if (seconds <= 0 || seconds > INT32_MAX * INT64_C(16) || us < 0 || us >= 1000000)
        return 0;
    return seconds * 1000000 + us;
}

static void note_pause(struct qemu_monitor *monitor, bool is_paused, uint64_t at)
{
    if (!is_paused && monitor->began_to_run == 0 && monitor->n_pauses == 0)
        monitor->began_to_run = at;
    if (monitor->is_paused == is_paused)
        return;
    monitor->is_paused = monitor->wants_status = is_paused;
    monitor->is_migrated = monitor->is_migrating = false;
    if (is_paused) {
        /* The time is rounded down, and the machine has stopped before it is said. */
        monitor->pause = (struct qemu_pause){.stopped = at + 1000};
        monitor->n_pauses++;
    } else {
        monitor->pause.resumed = at;
        monitor->paused_ns += at - MIN(monitor->pause.stopped, at);
    }
    if (monitor->on_pause)
        monitor->on_pause(monitor->userdata, &monitor->pause);
}

bool qemu_monitor_stands_still(const struct qemu_monitor *monitor, uint64_t until)
{
    return monitor->is_paused &&
           (!monitor->shutdown[0] || until > monitor->pause.stopped + SHUTDOWN_MAX_NS);
}

static uint64_t cpu_time(const struct qemu_monitor *monitor)
{
    uint64_t ns = 0;

    return monitor->pid > 0 && proc_cpu_time(monitor->pid, &ns) >= 0 ? ns : 0;
}

/* Whether the machine has hardly run since it was reset, as on a busy host. */
static bool is_soon_after_reset(const struct qemu_monitor *monitor, uint64_t at)
{
    uint64_t cpu = monitor->cpu_at_reset > 0 ? cpu_time(monitor) : 0;

    return at <= monitor->last_reset + RESET_FIRMWARE_NS ||
           (cpu > 0 && cpu - MIN(cpu, monitor->cpu_at_reset) <= RESET_FIRMWARE_CPU_NS);
}

/* SeaBIOS resets the machine once more when it finds that the machine was reset. For any reset that the guest requests, QEMU may
 * send two events, as the vCPU runs until QEMU stops it. All these are one reset. */
static void note_reset(struct qemu_monitor *monitor, uint64_t at, bool is_guests)
{
    uint64_t since = at - MIN(at, monitor->last_reset_event);
    bool is_repeated =
        monitor->resets > 0 && is_guests &&
        since <= (monitor->is_reset_by_firmware ? RESET_REPEATED_FIRMWARE_NS : RESET_REPEATED_NS);

    monitor->last_reset_event = at;
    if (is_repeated)
        return;
    if (monitor->resets > 0 && is_guests && !monitor->is_reset_by_firmware &&
        is_soon_after_reset(monitor, at)) {
        monitor->is_reset_by_firmware = true;
        return;
    }
    monitor->resets++;
    monitor->last_reset = at;
    monitor->is_reset_by_firmware = false;
    monitor->cpu_at_reset = cpu_time(monitor);
}

void qemu_monitor_event(struct qemu_monitor *monitor, const char *event, const json_t *data,
                        int64_t realtime_us)
{
    if (strcmp(event, "RESET") == 0)
        note_reset(monitor, time_of_day(realtime_us),
                   !json_is_false(json_object_get(data, "guest")));
    else if (strcmp(event, "STOP") == 0)
        note_pause(monitor, true, time_of_day(realtime_us));
    else if (strcmp(event, "RESUME") == 0)
        note_pause(monitor, false, time_of_day(realtime_us));
}

static void note_event(struct qemu_monitor *monitor, const char *event, const json_t *data,
                       const json_t *timestamp)
{
    const char *reason;

    if (monitor->on_event)
        monitor->on_event(monitor->userdata, event, data);
    if (strcmp(event, "SHUTDOWN") == 0) {
        reason = json_string_value(json_object_get(data, "reason"));
        snprintf(monitor->shutdown, sizeof monitor->shutdown, "%s", reason ? reason : "");
        return;
    }
    qemu_monitor_event(monitor, event, data, realtime_of(timestamp));
}

void qemu_monitor_note_status(struct qemu_monitor *monitor, const json_t *answer)
{
    const char *status = json_string_value(json_object_get(answer, "status"));

    if (!status)
        return;
    monitor->is_migrating = monitor->is_paused && strcmp(status, "finish-migrate") == 0;
    monitor->is_migrated = strcmp(status, "postmigrate") == 0;
}

static void take(struct qemu_monitor *monitor, const json_t *object)
{
    const char *event = json_string_value(json_object_get(object, "event"));

    if (event) {
        note_event(monitor, event, json_object_get(object, "data"),
                   json_object_get(object, "timestamp"));
        return;
    }
    switch (monitor->state) {
    case MONITOR_NEW:
        snprintf(monitor->version, sizeof monitor->version, "%s", qmp_version(monitor->qmp));
        monitor->state = MONITOR_ENTERS;
        break;
    case MONITOR_ENTERS:
        monitor->state = MONITOR_IDLE;
        monitor->answers = true;
        monitor->wants_cpus = true;
        break;
    case MONITOR_ASKS: /* an error, or another answer, changes nothing */
        monitor->state = MONITOR_IDLE;
        note_cpus(monitor, json_object_get(object, "return"));
        qemu_monitor_note_status(monitor, json_object_get(object, "return"));
        qemu_monitor_look(monitor);
        break;
    case MONITOR_IDLE: break;
    }
}

static void close_it(struct qemu_monitor *monitor)
{
    qmp_free(monitor->qmp);
    monitor->qmp = NULL;
}

/* What came, at most OBJECTS_AT_ONCE, counted in *RET_N. Nothing while what came before is handled. */
static int receive(struct qemu_monitor *monitor, unsigned *ret_n, struct error *error)
{
    int r = 1;

    *ret_n = 0;
    if (monitor->is_reading)
        return 0;
    monitor->is_reading = true;
    for (*ret_n = 0; monitor->qmp && *ret_n < OBJECTS_AT_ONCE; ++*ret_n) {
        json_t *object;

        r = qmp_receive(monitor->qmp, &object, error);
        if (r < 0)
            close_it(monitor);
        if (r <= 0)
            break;
        take(monitor, object);
        json_decref(object);
    }
    monitor->is_reading = false;
    return r == -ENOMEM ? r : 0;
}

void qemu_monitor_read(struct qemu_monitor *monitor)
{
    struct error unused = {0}; /* what ends the connection is not an error */
    unsigned n = OBJECTS_AT_ONCE;

    for (unsigned i = 0; i < READS_MAX && n == OBJECTS_AT_ONCE && !monitor->no_memory; i++)
        monitor->no_memory = receive(monitor, &n, &unused) < 0;
}

int qemu_monitor_step(struct qemu_monitor *monitor, uint64_t now, uint64_t *ret_sleep,
                      struct error *error)
{
    struct error why = {0}; /* what ends the connection is not an error */
    unsigned n = 0;
    int r = 0;

    *ret_sleep = SECOND;
    if (!monitor->qmp && monitor->listener >= 0)
        r = accept_it(monitor, &why);
    if (r >= 0)
        r = monitor->no_memory ? error_set(&why, -ENOMEM, NULL, "out of memory")
                               : receive(monitor, &n, &why);
    if (r < 0)
        return error_set(error, r, NULL, "%s", why.what);
    if (n == OBJECTS_AT_ONCE)
        *ret_sleep = 0;
    /* By what the system knows of them, so that a machine whose monitor is traced has no more in its trace
     * than that it was asked once. */
    if (now >= monitor->next && monitor->state != MONITOR_NEW) {
        qemu_monitor_look(monitor);
        look_whether_halted(monitor, now);
        monitor->next = now + SECOND;
    }
    if (!monitor->qmp || monitor->state != MONITOR_IDLE || monitor->ends)
        return 0;
    if (monitor->is_migrating) {
        monitor->wants_status |= now >= monitor->next_status;
        *ret_sleep = MIN(*ret_sleep, STATUS_INTERVAL_NS);
    }
    if (monitor->wants_cpus && qmp_send(monitor->qmp, "query-cpus-fast", NULL, NULL) >= 0) {
        monitor->wants_cpus = false;
        monitor->state = MONITOR_ASKS;
    } else if (monitor->wants_status && qmp_send(monitor->qmp, "query-status", NULL, NULL) >= 0) {
        monitor->wants_status = false;
        monitor->next_status = now + STATUS_INTERVAL_NS;
        monitor->state = MONITOR_ASKS;
    } else if (monitor->wants_silence &&
               qmp_send(monitor->qmp, "human-monitor-command",
                        json_pack("{s:s}", "command-line", "trace-file off"), NULL) >= 0) {
        monitor->wants_silence = false;
        monitor->state = MONITOR_ASKS;
    }
    return 0;
}

bool qemu_monitor_is_asked(const struct qemu_monitor *monitor)
{
    return monitor->qmp && monitor->state != MONITOR_IDLE;
}

int qemu_monitor_fd(const struct qemu_monitor *monitor)
{
    return monitor->qmp ? qmp_fd(monitor->qmp) : monitor->listener;
}

void qemu_monitor_done(struct qemu_monitor *monitor)
{
    close_it(monitor);
    for (unsigned i = 0; i < monitor->n_threads; i++)
        free((char *)monitor->threads[i].name);
    free(monitor->threads);
    if (monitor->listener >= 0)
        close(monitor->listener);
    *monitor = (struct qemu_monitor){.listener = -1};
}
