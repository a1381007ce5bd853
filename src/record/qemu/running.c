/* SPDX-License-Identifier: MIT */
#include "record/qemu/running.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/input.h"
#include "base/proc.h"
#include "base/process_root.h"
#include "proto/message.h"
#include "record/qemu/probe.h"
#include "tracedir/registry.h"

#define CMDLINE_MAX ((size_t)4 << 20)
#define CONFIG_MAX ((size_t)1 << 20)
#define OBJECTS_MAX 256u
#define QMP_MAX 8u

/* What a command line and configuration files make: objects, and what is said of them. */
enum object_kind { CHARDEV, MON, DEVICE, OTHER };

struct object {
    enum object_kind kind;
    const char *id, *backend; /* of a device: its driver */
    const char *path, *fd, *host, *file;
    const char *chardev, *name, *mode;
    bool server;
};

struct parse {
    struct qemu_process *running;
    struct object objects[OBJECTS_MAX];
    unsigned n;
    const char **qmp;
    bool no_memory;
};

/* At most MAX bytes of a file, with a NUL behind. */
static int read_text(const char *path, size_t max, char **ret, size_t *ret_len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *text;
    int r;

    if (fd < 0)
        return -errno;
    r = input_read_file(fd, max, path, &text, ret_len, NULL);
    close(fd);
    if (r < 0)
        return r;
    text[*ret_len] = '\0';
    *ret = text;
    return 0;
}

static const char *copy(struct parse *parse, const char *text, size_t len)
{
    char *s = arena_strndup(&parse->running->arena, text, len);

    parse->no_memory |= !s;
    return s;
}

/* A path of the process, as this one opens it. */
static const char *path_of(struct parse *parse, const char *path)
{
    _cleanup_free_ char *full = NULL;

    if (!path || parse->running->pid == 0 || (*path == '/' && !parse->running->has_root))
        return path;
    full = qemu_process_path(parse->running, path);
    parse->no_memory |= !full;
    return full ? copy(parse, full, strlen(full)) : NULL;
}

/* ---- Values: "word,key=value,key", where a comma in a value is doubled ---- */

/* Returns the next part of *P, with doubled commas made single; NULL at the end. */
static const char *next_part(struct parse *parse, const char **p)
{
    const char *start = *p, *end = start;
    char *part, *to;

    if (!*start)
        return NULL;
    while (*end && (*end != ',' || end[1] == ','))
        end += *end == ',' ? 2 : 1;
    *p = end + (*end == ',');
    part = (char *)(uintptr_t)copy(parse, start, (size_t)(end - start));
    if (!part)
        return NULL;
    to = part;
    for (const char *from = part; *from; from += *from == ',' ? 2 : 1)
        *to++ = *from;
    *to = '\0';
    return part;
}

static bool is_on(const char *value)
{
    return !value || strcmp(value, "on") == 0 || strcmp(value, "yes") == 0 ||
           strcmp(value, "true") == 0;
}

static void set(struct object *object, const char *key, const char *value)
{
    const struct {
        const char *key;
        const char **to;
    } keys[] = {
        {"id", &object->id},     {"backend", &object->backend}, {"driver", &object->backend},
        {"path", &object->path}, {"fd", &object->fd},           {"host", &object->host},
        {"name", &object->name}, {"chardev", &object->chardev}, {"mode", &object->mode},
        {"file", &object->file},
    };

    if (strcmp(key, "server") == 0)
        object->server = is_on(value);
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (value && strcmp(keys[i].key, key) == 0)
            *keys[i].to = value;
}

/* FIRST: the key of a first part that has none. */
static void set_all(struct parse *parse, struct object *object, const char *first,
                    const char *value)
{
    const char *part;

    for (bool is_first = true; (part = next_part(parse, &value)); is_first = false) {
        const char *equals = strchr(part, '=');

        if (!equals) {
            set(object, is_first ? first : part, is_first ? part : NULL);
        } else {
            const char *key = copy(parse, part, (size_t)(equals - part));

            if (key)
                set(object, key, equals + 1);
        }
    }
}

static void set_json(struct parse *parse, struct object *object, const char *value)
{
    json_t *json = json_loads(value, 0, NULL);
    const char *key;
    json_t *item;

    /* QEMU accepted the text. */
    parse->no_memory |= !json;
    json_object_foreach(json, key, item)
    {
        if (json_is_string(item))
            set(object, key, copy(parse, json_string_value(item), json_string_length(item)));
        else if (strcmp(key, "server") == 0)
            object->server = json_is_true(item);
    }
    json_decref(json);
}

static struct object *add(struct parse *parse, enum object_kind kind)
{
    static struct object none; /* what is beyond the limit */
    struct object *object = &none;

    if (parse->n < OBJECTS_MAX)
        object = &parse->objects[parse->n++];
    *object = (struct object){.kind = kind};
    return object;
}

static void add_object(struct parse *parse, enum object_kind kind, const char *first,
                       const char *value)
{
    struct object *object = add(parse, kind);

    if (*value == '{')
        set_json(parse, object, value);
    else
        set_all(parse, object, first, value);
}

static void add_qmp(struct parse *parse, const char *path, bool best)
{
    unsigned n = parse->running->n_qmp;

    path = path_of(parse, path);
    if (!path || n == QMP_MAX)
        return;
    if (best)
        memmove(parse->qmp + 1, parse->qmp, n * sizeof *parse->qmp);
    parse->qmp[best ? 0 : n] = path;
    parse->running->n_qmp++;
}

/* ---- Configuration files ---- */

/* [chardev "ID"] and lines of: key = "value" */
static void parse_config(struct parse *parse, char *text)
{
    struct object *object = NULL;
    char *line, *rest = text;

    while ((line = strsep(&rest, "\n"))) {
        char word[32], id[256];
        char *equals, *start, *end;

        line += strspn(line, " \t");
        id[0] = '\0';
        if (*line == '[') {
            int n = sscanf(line, "[%31[a-z] \"%255[^\"]\"]", word, id);

            object = n < 1 ? NULL
                           : add(parse, strcmp(word, "chardev") == 0  ? CHARDEV
                                        : strcmp(word, "mon") == 0    ? MON
                                        : strcmp(word, "device") == 0 ? DEVICE
                                                                      : OTHER);
            if (object && n == 2)
                object->id = copy(parse, id, strlen(id));
            continue;
        }
        equals = strchr(line, '=');
        start = equals ? strchr(equals, '"') : NULL;
        end = start ? strrchr(start, '"') : NULL;
        if (!object || *line == '#' || !start || end == start)
            continue;
        *end = '\0';
        while (equals > line && (equals[-1] == ' ' || equals[-1] == '\t'))
            equals--;
        *equals = '\0';
        set(object, line, copy(parse, start + 1, strlen(start + 1)));
    }
}

static void read_config(struct parse *parse, const char *value)
{
    const char *file = path_of(parse, next_part(parse, &value));
    _cleanup_free_ char *text = NULL;
    size_t len;

    /* What is not there any more is not known. */
    if (file && read_text(file, CONFIG_MAX, &text, &len) >= 0)
        parse_config(parse, text);
}

/* ---- Options ---- */

/* "unix:PATH,server=on,wait=off", or another form of a character device. */
static void parse_qmp(struct parse *parse, const char *value)
{
    struct object object = {0};

    if (strncmp(value, "chardev:", 8) == 0) {
        struct object *mon = add(parse, MON);

        mon->chardev = value + 8;
        mon->mode = "control";
        return;
    }
    set_all(parse, &object, "name", value);
    if (object.name && strncmp(object.name, "unix:", 5) == 0 && object.server)
        add_qmp(parse, object.name + 5, false);
    else
        parse->running->qmp_elsewhere = value;
}

static void parse_name(struct parse *parse, const char *value)
{
    const char *part;

    for (bool first = true; (part = next_part(parse, &value)); first = false)
        if (strncmp(part, "guest=", 6) == 0)
            parse->running->name = part + 6;
        else if (first && !strchr(part, '='))
            parse->running->name = part;
}

static void parse_message(struct parse *parse, const char *value)
{
    const char *part;

    /* Each -msg replaces the one before. */
    parse->running->has_times = false;
    while ((part = next_part(parse, &value)))
        if (strncmp(part, "timestamp", 9) == 0)
            parse->running->has_times = part[9] == '\0' || is_on(part + 10);
}

static void parse_trace(struct parse *parse, const char *value)
{
    const char *part;

    parse->running->trace_file = NULL;
    while ((part = next_part(parse, &value)))
        if (strncmp(part, "file=", 5) == 0)
            parse->running->trace_file = part + 5;
}

/* libvirt keeps a key in the directory of the domain: -object secret,id=masterKey0,file=DIR/master-key.aes. */
static void parse_secret(struct parse *parse, const char *value)
{
    struct object object = {0};
    const char *slash;

    if (*value == '{')
        set_json(parse, &object, value);
    else
        set_all(parse, &object, "qom-type", value);
    slash = object.file ? strrchr(object.file, '/') : NULL;
    if (object.id && strcmp(object.id, "masterKey0") == 0 && slash && *object.file == '/')
        parse->running->libvirt = copy(parse, object.file, (size_t)(slash - object.file));
}

static void parse_option(struct parse *parse, const char *option, const char *value)
{
    if (strcmp(option, "chardev") == 0)
        add_object(parse, CHARDEV, "backend", value);
    else if (strcmp(option, "mon") == 0)
        add_object(parse, MON, "chardev", value);
    else if (strcmp(option, "device") == 0)
        add_object(parse, DEVICE, "driver", value);
    else if (strcmp(option, "qmp") == 0 || strcmp(option, "qmp-pretty") == 0)
        parse_qmp(parse, value);
    else if (strcmp(option, "readconfig") == 0)
        read_config(parse, value);
    else if (strcmp(option, "object") == 0)
        parse_secret(parse, value);
    else if (strcmp(option, "uuid") == 0)
        parse->running->uuid = value;
    else if (strcmp(option, "name") == 0)
        parse_name(parse, value);
    else if (strcmp(option, "msg") == 0)
        parse_message(parse, value);
    else if (strcmp(option, "trace") == 0)
        parse_trace(parse, value);
    else if (strcmp(option, "D") == 0)
        parse->running->log = value;
}

static const struct object *find_chardev(const struct parse *parse, const char *id)
{
    for (unsigned i = 0; id && i < parse->n; i++)
        if (parse->objects[i].kind == CHARDEV && parse->objects[i].id &&
            strcmp(parse->objects[i].id, id) == 0)
            return &parse->objects[i];
    return NULL;
}

static bool listens_at_path(const struct object *chardev)
{
    return chardev->backend && strcmp(chardev->backend, "socket") == 0 && chardev->path &&
           chardev->server;
}

/* What the objects say together. */
static void conclude(struct parse *parse)
{
    for (unsigned i = 0; i < parse->n; i++) {
        const struct object *object = &parse->objects[i];
        const struct object *chardev = find_chardev(parse, object->chardev);

        if (!chardev)
            continue;
        if (object->kind == MON && object->mode && strcmp(object->mode, "control") == 0) {
            if (listens_at_path(chardev))
                /* That one is there for others. */
                add_qmp(parse, chardev->path, strncmp(chardev->id, "strata-", 7) == 0);
            else
                parse->running->qmp_elsewhere = chardev->fd ? "a descriptor" : chardev->id;
        }
        if (object->kind == DEVICE && object->backend && object->name &&
            strcmp(object->backend, "virtserialport") == 0 &&
            strcmp(object->name, PROTO_PORT) == 0 && listens_at_path(chardev))
            parse->running->port = path_of(parse, chardev->path);
    }
}

/* Whether the paths of its command line are of other files than here. With -chroot, QEMU opened them before. */
static bool has_other_files(const struct qemu_process *running)
{
    if (!process_root_differs(running->pid))
        return false;
    for (unsigned i = 1; i < running->n && !process_root_has_mounts(running->pid); i++)
        if (strcmp(running->argv[i], "-chroot") == 0 || strcmp(running->argv[i], "--chroot") == 0)
            return false;
    return true;
}

int qemu_process_parse(struct qemu_process *running)
{
    _cleanup_free_ struct parse *parse = calloc(1, sizeof *parse);

    if (!parse)
        return -ENOMEM;
    parse->running = running;
    parse->qmp = arena_alloc(&running->arena, QMP_MAX * sizeof *parse->qmp);
    if (!parse->qmp)
        return -ENOMEM;
    running->qmp = parse->qmp;
    running->has_root = running->pid > 0 && has_other_files(running);
    for (unsigned i = 1; i + 1 < running->n; i++) {
        const char *option = running->argv[i];

        if (option[0] == '-' && option[1] != '\0')
            parse_option(parse, option + 1 + (option[1] == '-'), running->argv[i + 1]);
    }
    conclude(parse);
    return parse->no_memory ? -ENOMEM : 0;
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

static int read_command(struct qemu_process *running, struct error *error)
{
    _cleanup_free_ char *text = NULL;
    char path[64];
    const char **argv;
    char *words;
    size_t len = 0;
    unsigned n = 0;
    int r;

    snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)running->pid);
    r = read_text(path, CMDLINE_MAX, &text, &len);
    if (r < 0)
        return error_set(error, r, path, "cannot be read: %s", strerror(-r));
    words = arena_memdup(&running->arena, text, len + 1);
    for (size_t i = 0; i < len; i++)
        n += text[i] == '\0';
    argv = arena_alloc(&running->arena, (n + 1) * sizeof *argv);
    if (!words || !argv)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    words[len] = '\0';
    for (unsigned i = 0; i < n; i++, words += strlen(words) + 1)
        argv[i] = words;
    running->argv = argv;
    running->n = n;
    return 0;
}

int qemu_process_open(pid_t pid, struct qemu_process *ret, struct error *error)
{
    struct qemu_process running = {.pid = pid, .start = start_of(pid)};
    char link[64], program[4096];
    ssize_t len;
    int r = 0;

    if (running.start == 0)
        return error_set(error, -ESRCH, NULL, "there is no process %ld", (long)pid);
    snprintf(link, sizeof link, "/proc/%ld/exe", (long)pid);
    len = readlink(link, program, sizeof program - 1);
    if (len < 0)
        return error_set(error, -errno, NULL, "process %ld cannot be looked at: %s", (long)pid,
                         strerror(errno));
    program[len] = '\0';
    if (!vmm_is_qemu(link))
        return error_set(error, -ENOEXEC, NULL, "process %ld is not QEMU (%s)", (long)pid, program);
    running.program = arena_strdup(&running.arena, program);
    if (!running.program)
        r = -ENOMEM;
    if (r >= 0)
        r = read_command(&running, error);
    if (r >= 0)
        r = qemu_process_parse(&running);
    if (r < 0) {
        qemu_process_done(&running);
        return error_set(error, r, NULL, "process %ld: %s", (long)pid, strerror(-r));
    }
    *ret = running;
    return 0;
}

void qemu_process_done(struct qemu_process *running)
{
    arena_done(&running->arena);
    *running = (struct qemu_process){0};
}

int qemu_process_monitor(const struct qemu_process *running, const char **ret_socket,
                         struct error *error)
{
    if (running->n_qmp == 0)
        return error_set(
            error, -ENOTCONN, NULL,
            "process %ld is a QEMU that does not listen for QMP on a socket%s%s: it needs "
            "-qmp unix:PATH,server=on,wait=off, or to be started by 'strata record --'",
            (long)running->pid,
            running->qmp_elsewhere
                ? " with a path; another program, such as libvirt, uses its monitor"
                : "",
            running->name && running->qmp_elsewhere ? " (virsh qemu-monitor-command)" : "");
    *ret_socket = running->qmp[0];
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

int qemu_process_foreach(int (*found)(const struct qemu_process *running, void *userdata),
                         void *userdata)
{
    struct dirent **entries;
    int n = scandir("/proc", &entries, may_be_qemu, by_number);
    int r = 0;

    if (n < 0)
        return -errno;
    for (int i = 0; i < n; i++) {
        struct qemu_process running;

        if (r == 0 &&
            qemu_process_open((pid_t)strtol(entries[i]->d_name, NULL, 10), &running, NULL) >= 0) {
            r = found(&running, userdata);
            qemu_process_done(&running);
        }
        free(entries[i]);
    }
    free(entries);
    return r;
}

int64_t qemu_process_since(const struct qemu_process *running)
{
    return (int64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) +
                     proc_start_ns(running->start));
}

char *qemu_process_path(const struct qemu_process *running, const char *path)
{
    char *full;

    if (*path != '/')
        return asprintf(&full, "/proc/%ld/cwd/%s", (long)running->pid, path) < 0 ? NULL : full;
    return running->has_root ? process_root_path(running->pid, path) : strdup(path);
}

int qemu_process_file(const struct qemu_process *running, const char *path, int flags)
{
    _cleanup_free_ char *full = NULL;

    if (running->has_root)
        return MAX(process_root_open(running->pid, path, flags), -1);
    full = qemu_process_path(running, path);
    return full ? open(full, flags | O_CLOEXEC) : -1;
}

bool qemu_process_lives(const struct qemu_process *running)
{
    return start_of(running->pid) == running->start;
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
