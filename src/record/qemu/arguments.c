/* SPDX-License-Identifier: MIT */
#include "record/qemu/arguments.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "proto/message.h"
#include "record/qemu/config_file.h"

/* ---- Reading ---- */

/* Behind these may stand anything; behind other options, what begins with '-' is the next one. */
static bool takes_anything(const char *option)
{
    static const char *const options[] = {"append", "trace",  "fw_cfg",
                                          "smbios", "kernel", "initrd"};

    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        if (strcmp(option, options[i]) == 0)
            return true;
    return false;
}

static bool is(const char *option, const char *a, const char *b)
{
    return strcmp(option, a) == 0 || (b && strcmp(option, b) == 0);
}

/* One more of -accel, or, of -machine, all. */
static void note_accelerator(struct qemu_arguments *arguments, const char *name, size_t len)
{
    size_t used = strlen(arguments->accelerator);

    if (len > 0 && used + 1 + len < sizeof arguments->accelerator)
        snprintf(arguments->accelerator + used, sizeof arguments->accelerator - used, "%s%.*s",
                 used ? ":" : "", (int)len, name);
}

/* The name among "kvm,dirty-ring-size=4096" and "thread=multi,accel=tcg". */
static void note_accel(struct qemu_arguments *arguments, const char *value)
{
    bool first = true;

    for (const char *p = value; *p; first = false) {
        size_t len = strcspn(p, ",");

        if (strncmp(p, "accel=", 6) == 0)
            note_accelerator(arguments, p + 6, len - 6);
        else if (first && !memchr(p, '=', len))
            note_accelerator(arguments, p, len);
        p += len + (p[len] == ',');
    }
}

static void set_machine(struct qemu_arguments *arguments, const char *name, size_t len)
{
    snprintf(arguments->machine, sizeof arguments->machine, "%.*s", (int)len, name);
}

/* Finds the machine type in "type=q35,accel=tcg", at any position, or "q35,accel=tcg". */
static void note_machine(struct qemu_arguments *arguments, const char *value)
{
    bool first = true;

    for (const char *p = value; *p; first = false) {
        size_t len = strcspn(p, ",");

        if (strncmp(p, "accel=", 6) == 0)
            note_accelerator(arguments, p + 6, len - 6);
        if (strncmp(p, "type=", 5) == 0 || (first && !memchr(p, '=', len))) {
            size_t skipped = strncmp(p, "type=", 5) == 0 ? 5 : 0;

            set_machine(arguments, p + skipped, len - skipped);
        }
        p += len + (p[len] == ',');
    }
}

/* Each -name adds to the ones before it. */
static void note_name(struct qemu_arguments *arguments, const char *value)
{
    machine_name_of_option(value, arguments->name, sizeof arguments->name);
    if (strstr(value, "debug-threads="))
        arguments->names_threads = true;
}

/* Later options, and later files, win, as they do for QEMU. */
static void note_config(void *arg, const char *group, const char *key, const char *value)
{
    struct qemu_arguments *arguments = arg;

    if (is(key, "accel", NULL) && (is(group, "machine", "accel")))
        note_accelerator(arguments, value, strlen(value));
    else if (is(group, "machine", NULL) && is(key, "type", NULL))
        set_machine(arguments, value, strlen(value));
    else if (is(group, "name", NULL) && is(key, "debug-threads", NULL))
        arguments->names_threads = true;
    else if (is(group, "name", NULL) && is(key, "guest", NULL))
        snprintf(arguments->name, sizeof arguments->name, "%s", value);
}

static void note(struct qemu_arguments *arguments, const char *option, const char *value)
{
    if (is(option, "daemonize", NULL))
        arguments->daemonize = true;
    else if (is(option, "enable-kvm", NULL))
        note_accelerator(arguments, "kvm", 3);
    else if (!value)
        return;
    else if (is(option, "D", NULL))
        arguments->log = value;
    else if (is(option, "d", "trace"))
        arguments->logs = true;
    else if (is(option, "msg", NULL))
        arguments->message = value;
    else if (is(option, "accel", NULL))
        note_accel(arguments, value);
    else if (is(option, "M", "machine"))
        note_machine(arguments, value);
    else if (is(option, "readconfig", NULL))
        config_file_read(value, note_config, arguments);
    else if (is(option, "uuid", NULL))
        arguments->uuid = value;
    else if (is(option, "name", NULL))
        note_name(arguments, value);
}

void qemu_arguments_read(const char *program, const char *const *argv, unsigned n,
                         struct qemu_arguments *ret)
{
    struct qemu_arguments arguments = {.program = program, .argv = argv, .n = n};

    for (unsigned i = 1; i < n; i++) {
        const char *option = argv[i];
        const char *value = i + 1 < n ? argv[i + 1] : NULL;

        if (!option || option[0] != '-' || option[1] == '\0')
            continue; /* a disk, or a value of the option before */
        option += 1 + (option[1] == '-');
        if (value && value[0] == '-' && value[1] != '\0' && !takes_anything(option))
            value = NULL;
        note(&arguments, option, value);
        i += value && takes_anything(option);
    }
    *ret = arguments;
}

static bool machine_is(const struct qemu_arguments *arguments, const char *name)
{
    return strcmp(arguments->machine, name) == 0;
}

static bool program_is_for(const struct qemu_arguments *arguments, const char *target)
{
    const char *slash = strrchr(arguments->program, '/');
    const char *name = slash ? slash + 1 : arguments->program;

    return strncmp(name, "qemu-system-", 12) == 0 && strcmp(name + 12, target) == 0;
}

const char *vmm_serial_device(const struct qemu_arguments *arguments)
{
    if (machine_is(arguments, "none") || machine_is(arguments, "isapc"))
        return NULL;
    if (program_is_for(arguments, "s390x"))
        return "virtio-serial-ccw";
    if (machine_is(arguments, "microvm") || program_is_for(arguments, "m68k"))
        return "virtio-serial-device";
    return "virtio-serial-pci";
}

/* ---- Building ---- */

struct build {
    struct arena *arena;
    char **argv;
    unsigned n, room;
    bool no_memory;
};

static void add(struct build *build, const char *word)
{
    char *copy = arena_strdup(build->arena, word);

    if (!copy || build->n + 1 >= build->room)
        build->no_memory = true;
    else
        build->argv[build->n++] = copy;
}

static void add_option(struct build *build, const char *option, const char *format, ...)
    _printf_(3, 4);
static void add_option(struct build *build, const char *option, const char *format, ...)
{
    _cleanup_free_ char *value = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&value, format, args) < 0) {
        value = NULL;
        build->no_memory = true;
    }
    va_end(args);
    add(build, option);
    add(build, value ? value : "");
}

/* In the values of QEMU's options, a comma is doubled. */
static char *doubled(struct arena *arena, const char *s)
{
    struct text text = TEXT_IN_MEMORY;
    char *copy;

    for (; *s; s++) {
        if (*s == ',')
            text_put_char(&text, ',');
        text_put_char(&text, *s);
    }
    copy = text.error ? NULL : arena_strndup(arena, text.start ? text.start : "", text_len(&text));
    text_done(&text);
    return copy;
}

/* The user's -msg without the times, which the one behind it would forget otherwise. */
static void add_message(struct build *build, const char *message)
{
    struct text text = TEXT_IN_MEMORY;

    text_put_literal(&text, "timestamp=on");
    while (message && *message) {
        size_t len = strcspn(message, ",");

        if (len > 0 && strncmp(message, "timestamp", 9) != 0 &&
            strncmp(message, "notimestamp", 11) != 0) {
            text_put_char(&text, ',');
            text_put(&text, message, len);
        }
        message += len + (message[len] == ',');
    }
    text_put_char(&text, '\0');
    if (text.error)
        build->no_memory = true;
    else
        add_option(build, "-msg", "%s", text.start);
    text_done(&text);
}

static int write_config(const struct vmm_additions *additions, const char *serial,
                        struct error *error)
{
    struct text text = TEXT_IN_MEMORY;
    int fd = open(additions->config, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int r = 0;

    if (fd < 0)
        return error_set(error, -errno, additions->config, "cannot be made: %s", strerror(errno));
    /* Not by -mon on the command line, which would take away the monitor that there is by default. */
    if (additions->monitor)
        text_printf(&text,
                    "[chardev \"strata-record-monitor\"]\n  backend = \"socket\"\n  path = \"%s\"\n"
                    "[mon \"strata-record-monitor\"]\n  chardev = \"strata-record-monitor\"\n"
                    "  mode = \"control\"\n",
                    additions->monitor);
    if (additions->control)
        text_printf(&text,
                    "[chardev \"strata-record-control\"]\n  backend = \"socket\"\n  path = \"%s\"\n"
                    "  server = \"on\"\n  wait = \"off\"\n"
                    "[mon \"strata-record-control\"]\n  chardev = \"strata-record-control\"\n"
                    "  mode = \"control\"\n",
                    additions->control);
    if (additions->port)
        text_printf(&text,
                    "[chardev \"strata-record-kernel\"]\n  backend = \"socket\"\n  path = \"%s\"\n"
                    "  server = \"on\"\n  wait = \"off\"\n"
                    "[device \"strata-record-serial\"]\n  driver = \"%s\"\n"
                    "[device \"" VMM_PORT_ID "\"]\n  driver = \"virtserialport\"\n"
                    "  bus = \"strata-record-serial.0\"\n  chardev = \"strata-record-kernel\"\n  "
                    "name = \"%s\"\n",
                    additions->port, serial, PROTO_PORT);
    if (text.error)
        r = -ENOMEM;
    else
        r = write_all(fd, text.start, text_len(&text));
    if (r < 0)
        error_set(error, r, additions->config, "cannot be written: %s", error_text(r));
    text_done(&text);
    close(fd);
    return r;
}

int qemu_arguments_build(const struct qemu_arguments *arguments,
                         const struct vmm_additions *additions, struct arena *arena,
                         char ***ret_argv, unsigned *ret_n, struct error *error)
{
    struct build build = {.arena = arena, .room = arguments->n + 2 * additions->n_events + 20};
    const char *serial = vmm_serial_device(arguments);
    int r = 0;

    if (arguments->daemonize)
        return error_set(
            error, -EINVAL, NULL,
            "cannot record QEMU with -daemonize; remove the option, and run the whole command "
            "with '&'");
    if (additions->port && !serial)
        return error_set(
            error, -EINVAL, NULL,
            "this machine type has no bus for the virtio-serial device that --guest requires; "
            "record without --guest");
    build.argv = arena_alloc(arena, build.room * sizeof *build.argv);
    if (!build.argv)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    for (unsigned i = 0; i < arguments->n; i++)
        add(&build, arguments->argv[i]);
    for (unsigned i = 0; i < additions->n_events; i++)
        add_option(&build, "-trace", "enable=%s", additions->events[i]);
    if (additions->log) {
        add_option(&build, "-D", "%s", additions->log);
        add_message(&build, arguments->message);
    }
    /* Last: each -trace forgets the file of the one before. */
    if (additions->trace_file) {
        const char *file = doubled(arena, additions->trace_file);

        add_option(&build, "-trace", "file=%s", file ? file : "");
        build.no_memory |= !file;
    }
    if (!arguments->names_threads)
        add_option(&build, "-name", "debug-threads=on");
    if (additions->config) {
        const char *config = doubled(arena, additions->config);

        add_option(&build, "-readconfig", "%s", config ? config : "");
        build.no_memory |= !config;
        r = write_config(additions, serial, error);
    }
    if (build.no_memory)
        r = error_set(error, -ENOMEM, NULL, "out of memory");
    if (r < 0)
        return r;
    build.argv[build.n] = NULL;
    *ret_argv = build.argv;
    *ret_n = build.n;
    return 0;
}
