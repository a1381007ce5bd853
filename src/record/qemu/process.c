/* SPDX-License-Identifier: MIT */
#include "record/qemu/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/input.h"
#include "base/proc.h"
#include "base/process_root.h"
#include "proto/message.h"
#include "record/qemu/command_line.h"
#include "record/qemu/probe.h"
#include "tracedir/registry.h"

#define CMDLINE_MAX ((size_t)4 << 20)
#define QMP_MAX 8u

/* ---- What its command line says ---- */

struct parse {
    struct qemu_process *process;
    struct qemu_command_line line;
    const char **qmp;
    bool no_memory;
};

/* A path of the process, as this one opens it. */
static const char *path_of(struct parse *parse, const char *path)
{
    const struct qemu_process *process = parse->process;
    _cleanup_free_ char *full = NULL;
    const char *copy;

    if (!path || process->pid == 0 || (*path == '/' && !process->has_root))
        return path;
    full = qemu_process_path(process, path);
    copy = full ? arena_strdup(&parse->process->arena, full) : NULL;
    parse->no_memory |= !copy;
    return copy;
}

static int open_config(void *userdata, const char *path)
{
    const struct qemu_process *process = userdata;

    return process->pid == 0 ? qemu_config_open(NULL, path)
                             : qemu_process_file(process, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

static void add_qmp(struct parse *parse, const char *path, bool best)
{
    unsigned n = parse->process->n_qmp;

    path = path_of(parse, path);
    if (!path || n == QMP_MAX)
        return;
    if (best)
        memmove(parse->qmp + 1, parse->qmp, n * sizeof *parse->qmp);
    parse->qmp[best ? 0 : n] = path;
    parse->process->n_qmp++;
}

/* The address of -qmp as a character device: "chardev:ID"; NULL: it is not. */
static const char *chardev_of_qmp(const struct qemu_command_line *line, unsigned i)
{
    const char *address = qemu_object_value(line, i, "address");

    return address && strncmp(address, "chardev:", 8) == 0 ? address + 8 : NULL;
}

/* "unix:PATH,server=on,wait=off", or another form of a character device. */
static void note_qmp(struct parse *parse, unsigned i)
{
    const char *address = qemu_object_value(&parse->line, i, "address");

    if (chardev_of_qmp(&parse->line, i))
        return; /* with the monitors */
    if (address && strncmp(address, "unix:", 5) == 0 &&
        qemu_value_is_on(qemu_object_value(&parse->line, i, "server")))
        add_qmp(parse, address + 5, false);
    else
        parse->process->qmp_elsewhere = parse->line.settings[i].word;
}

/* libvirt keeps a key in the directory of the domain: -object secret,id=masterKey0,file=DIR/master-key.aes. */
static void note_secret(struct parse *parse, unsigned i)
{
    const char *id = parse->line.settings[i].id;
    const char *file = qemu_object_value(&parse->line, i, "file");
    const char *slash = file ? strrchr(file, '/') : NULL;

    if (!slash || *file != '/' || !id || strcmp(id, "masterKey0") != 0)
        return;
    parse->process->libvirt = arena_strndup(&parse->process->arena, file, (size_t)(slash - file));
    parse->no_memory |= !parse->process->libvirt;
}

/* Of options that stand several times, the last one counts. */
static void note_object(struct parse *parse, unsigned i)
{
    struct qemu_process *process = parse->process;
    const struct qemu_setting *setting = &parse->line.settings[i];
    const char *name;

    if (strcmp(setting->group, "qmp") == 0) {
        note_qmp(parse, i);
    } else if (strcmp(setting->group, "object") == 0) {
        note_secret(parse, i);
    } else if (strcmp(setting->group, "msg") == 0) {
        process->has_times = qemu_value_is_on(qemu_object_value(&parse->line, i, "timestamp"));
    } else if (strcmp(setting->group, "trace") == 0) {
        process->trace_file = qemu_object_value(&parse->line, i, "file");
    } else if (strcmp(setting->group, "name") == 0) {
        name = qemu_object_value(&parse->line, i, "guest");
        process->name = name ? name : process->name;
    } else if (strcmp(setting->group, "incoming") == 0) {
        process->awaits_migration = true;
    } else if (setting->value && strcmp(setting->group, "uuid") == 0) {
        process->uuid = setting->value;
    } else if (setting->value && strcmp(setting->group, "D") == 0) {
        process->log = setting->value;
    } else if (setting->value && strcmp(setting->group, "d") == 0) {
        process->logs_by_thread |= strstr(setting->value, "tid") != NULL;
    }
}

static bool listens_at_path(const struct qemu_command_line *line, unsigned chardev)
{
    const char *backend = qemu_object_value(line, chardev, "backend");

    return backend && strcmp(backend, "socket") == 0 && qemu_object_value(line, chardev, "path") &&
           qemu_value_is_on(qemu_object_value(line, chardev, "server"));
}

/* A monitor that speaks QMP on a character device. */
static void note_monitor(struct parse *parse, unsigned chardev)
{
    const char *id = parse->line.settings[chardev].id;

    if (listens_at_path(&parse->line, chardev))
        /* That one is there for others. */
        add_qmp(parse, qemu_object_value(&parse->line, chardev, "path"),
                strncmp(id, "strata-", 7) == 0);
    else
        parse->process->qmp_elsewhere =
            qemu_object_value(&parse->line, chardev, "fd") ? "a descriptor" : id;
}

static bool has(const struct qemu_command_line *line, unsigned i, const char *key,
                const char *value)
{
    const char *found = qemu_object_value(line, i, key);

    return found && strcmp(found, value) == 0;
}

/* What refers to a character device. */
static void note_user_of_chardev(struct parse *parse, unsigned i)
{
    const struct qemu_command_line *line = &parse->line;
    const char *group = line->settings[i].group;
    bool is_qmp = strcmp(group, "qmp") == 0;
    const char *id = is_qmp ? chardev_of_qmp(line, i) : qemu_object_value(line, i, "chardev");
    const struct qemu_setting *found = id ? qemu_find_object(line, "chardev", id) : NULL;
    unsigned chardev = found ? (unsigned)(found - line->settings) : 0;

    if (!found)
        return;
    if (is_qmp || (strcmp(group, "mon") == 0 && has(line, i, "mode", "control")))
        note_monitor(parse, chardev);
    else if (strcmp(group, "device") == 0 && has(line, i, "driver", "virtserialport") &&
             has(line, i, "name", PROTO_PORT) && listens_at_path(line, chardev)) {
        parse->process->port = path_of(parse, qemu_object_value(line, chardev, "path"));
        parse->process->port_id = line->settings[i].id;
        parse->process->port_chardev = id;
    }
}

/* -chroot DIR; since QEMU 8.1 also -run-with chroot=DIR, which is all that QEMU 10 has. */
static bool is_chroot(const char *option, const char *value)
{
    option += option[0] == '-' && option[1] == '-';
    return strcmp(option, "-chroot") == 0 ||
           (strcmp(option, "-run-with") == 0 && value && strstr(value, "chroot="));
}

/* Whether the paths of its command line are of other files than here. With -chroot, QEMU opened them before. */
static bool has_other_files(const struct qemu_process *process)
{
    if (!process_root_differs(process->pid))
        return false;
    for (unsigned i = 1; i < process->n && !process_root_has_mounts(process->pid); i++)
        if (is_chroot(process->argv[i], process->argv[i + 1]))
            return false;
    return true;
}

int qemu_process_parse(struct qemu_process *process)
{
    struct parse parse = {.process = process};
    const struct qemu_command_line *line = &parse.line;
    int r;

    process->qmp = parse.qmp = arena_alloc(&process->arena, QMP_MAX * sizeof *parse.qmp);
    if (!parse.qmp)
        return -ENOMEM;
    process->has_root = process->pid > 0 && has_other_files(process);
    r = qemu_command_line_read(process->argv, process->n, open_config, process, &process->arena,
                               &parse.line);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < line->n; i = qemu_next_object(line, i))
        note_object(&parse, i);
    for (unsigned i = 0; i < line->n; i = qemu_next_object(line, i))
        note_user_of_chardev(&parse, i);
    return parse.no_memory ? -ENOMEM : 0;
}

/* ---- The process ---- */

/* When it began: the 22nd word of /proc/PID/stat, behind the name in parentheses. 0: it is not there. */
static uint64_t start_of(pid_t pid)
{
    char path[64], text[1024], *at;
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    at = strrchr(text, ')');
    if (!at || at[1] == '\0' || at[2] == 'Z' || at[2] == 'X')
        return 0;
    for (unsigned words = 1; at && words < 21; words++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

static int read_command(struct qemu_process *process, struct error *error)
{
    _cleanup_free_ char *text = NULL;
    _cleanup_(closep) int fd = -1;
    char path[64];
    const char **argv;
    char *words;
    size_t len = 0;
    unsigned n = 0;
    int r;

    snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)process->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    r = fd < 0 ? -errno : input_read_file(fd, CMDLINE_MAX, path, &text, &len, NULL);
    if (r < 0)
        return error_set(error, r, path, "cannot be read: %s", strerror(-r));
    words = arena_strndup(&process->arena, text, len);
    for (size_t i = 0; i < len; i++)
        n += text[i] == '\0';
    argv = arena_alloc(&process->arena, (n + 1) * sizeof *argv);
    if (!words || !argv)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    for (unsigned i = 0; i < n; i++, words += strlen(words) + 1)
        argv[i] = words;
    process->argv = argv;
    process->n = n;
    return 0;
}

int qemu_process_open(pid_t pid, struct qemu_process *ret, struct error *error)
{
    struct qemu_process process = {.pid = pid, .start = start_of(pid)};
    char link[64], program[4096];
    ssize_t len;
    int r = 0;

    if (process.start == 0)
        return error_set(error, -ESRCH, NULL, "there is no process %ld", (long)pid);
    snprintf(link, sizeof link, "/proc/%ld/exe", (long)pid);
    len = readlink(link, program, sizeof program - 1);
    if (len < 0)
        return error_set(error, -errno, NULL, "process %ld cannot be looked at: %s", (long)pid,
                         strerror(errno));
    program[len] = '\0';
    if (!vmm_is_qemu(link))
        return error_set(error, -ENOEXEC, NULL, "process %ld is not QEMU (%s)", (long)pid, program);
    process.program = arena_strdup(&process.arena, program);
    if (!process.program)
        r = -ENOMEM;
    if (r >= 0)
        r = read_command(&process, error);
    if (r >= 0)
        r = qemu_process_parse(&process);
    if (r < 0) {
        qemu_process_done(&process);
        return error_set(error, r, NULL, "process %ld: %s", (long)pid, strerror(-r));
    }
    *ret = process;
    return 0;
}

void qemu_process_done(struct qemu_process *process)
{
    arena_done(&process->arena);
    *process = (struct qemu_process){0};
}

int qemu_process_monitor(const struct qemu_process *process, const char **ret_socket,
                         struct error *error)
{
    if (process->n_qmp == 0)
        return error_set(
            error, -ENOTCONN, NULL,
            "process %ld is a QEMU that does not listen for QMP on a socket%s%s: it needs "
            "-qmp unix:PATH,server=on,wait=off, or to be started by 'strata record --'",
            (long)process->pid,
            process->qmp_elsewhere
                ? " with a path; another program, such as libvirt, uses its monitor"
                : "",
            process->name && process->qmp_elsewhere ? " (virsh qemu-monitor-command)" : "");
    *ret_socket = process->qmp[0];
    return 0;
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
    long x = strtol((*a)->d_name, NULL, 10), y = strtol((*b)->d_name, NULL, 10);

    return (x > y) - (x < y);
}

/* Whether the process may be a QEMU, by its name and program: without reading its command line. */
static int may_be_qemu(const struct dirent *entry)
{
    char link[300], program[4096];
    const char *name;
    ssize_t len;

    if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
        return 0;
    snprintf(link, sizeof link, "/proc/%s/exe", entry->d_name);
    len = readlink(link, program, sizeof program - 1);
    if (len < 0)
        return 0;
    program[len] = '\0';
    name = strrchr(program, '/');
    return name && (strstr(name, "qemu") || strstr(name, "kvm"));
}

int qemu_process_foreach(int (*found)(const struct qemu_process *process, void *userdata),
                         void *userdata)
{
    struct dirent **entries;
    int n = scandir("/proc", &entries, may_be_qemu, by_number);
    int r = 0;

    if (n < 0)
        return -errno;
    for (int i = 0; i < n; i++) {
        struct qemu_process process;

        if (r == 0 &&
            qemu_process_open((pid_t)strtol(entries[i]->d_name, NULL, 10), &process, NULL) >= 0) {
            r = found(&process, userdata);
            qemu_process_done(&process);
        }
        free(entries[i]);
    }
    free(entries);
    return r;
}

int64_t qemu_process_since(const struct qemu_process *process)
{
    return (int64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) +
                     proc_start_ns(process->start));
}

char *qemu_process_path(const struct qemu_process *process, const char *path)
{
    char *full;

    if (*path != '/')
        return asprintf(&full, "/proc/%ld/cwd/%s", (long)process->pid, path) < 0 ? NULL : full;
    return process->has_root ? process_root_path(process->pid, path) : strdup(path);
}

int qemu_process_file(const struct qemu_process *process, const char *path, int flags)
{
    _cleanup_free_ char *full = NULL;

    if (process->has_root)
        return MAX(process_root_open(process->pid, path, flags), -1);
    full = qemu_process_path(process, path);
    return full ? open(full, flags | O_CLOEXEC) : -1;
}

static int fail_claimed(pid_t pid, const char *runtime, struct error *error)
{
    char trace[200];
    pid_t recorder = registry_find_recorder(runtime, pid, trace, sizeof trace);

    if (recorder == 0)
        return error_set(error, -EBUSY, NULL, "process %ld is being recorded already", (long)pid);
    return error_set(error, -EBUSY, NULL,
                     "process %ld is being recorded already, by process %ld into %s", (long)pid,
                     (long)recorder, trace);
}

/* A socket without a file: it goes with its last descriptor, whatever ends its process. */
int qemu_process_claim(pid_t pid, const char *runtime, int *ret_fd, struct error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int n, r;

    if (fd < 0)
        return error_set(error, -errno, NULL, "cannot make a socket: %s", strerror(errno));
    n = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "strata-records-%ld",
                 (long)pid);
    if (bind(fd, (const struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) < 0) {
        r = errno == EADDRINUSE ? -EBUSY : -errno;
        close(fd);
        if (r == -EBUSY)
            return fail_claimed(pid, runtime, error);
        return error_set(error, r, NULL, "cannot claim process %ld: %s", (long)pid, error_text(r));
    }
    *ret_fd = fd;
    return 0;
}
