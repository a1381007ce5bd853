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
#include "record/qemu/command_line.h"

/* ---- Reading ---- */

/* One more of -accel, or, of -machine, all. */
static void note_accelerator(struct qemu_arguments *arguments, const char *name)
{
    size_t used = strlen(arguments->accelerator);

    if (*name && used + 1 + strlen(name) < sizeof arguments->accelerator)
        snprintf(arguments->accelerator + used, sizeof arguments->accelerator - used, "%s%s",
                 used ? ":" : "", name);
}

static bool is(const struct qemu_setting *setting, const char *group, const char *key)
{
    return strcmp(setting->group, group) == 0 &&
           (!key || (setting->key && strcmp(setting->key, key) == 0));
}

/* Later options, and later files, win, as they do for QEMU. */
static void note(struct qemu_arguments *arguments, const struct qemu_setting *setting)
{
    if (is(setting, "daemonize", NULL))
        arguments->daemonize = true;
    else if (is(setting, "enable-kvm", NULL))
        note_accelerator(arguments, "kvm");
    else if (!setting->value)
        return;
    else if (is(setting, "D", NULL))
        arguments->log = setting->value;
    else if (is(setting, "d", NULL) || is(setting, "trace", NULL))
        arguments->logs = true;
    else if (is(setting, "msg", NULL) && setting->word)
        arguments->message = setting->word;
    else if (is(setting, "accel", "accel") || is(setting, "machine", "accel"))
        note_accelerator(arguments, setting->value);
    else if (is(setting, "machine", "type"))
        snprintf(arguments->machine, sizeof arguments->machine, "%s", setting->value);
    else if (is(setting, "uuid", NULL))
        arguments->uuid = setting->value;
    else if (is(setting, "name", "guest"))
        snprintf(arguments->name, sizeof arguments->name, "%s", setting->value);
    else if (is(setting, "name", "debug-threads"))
        arguments->names_threads = true;
}

int qemu_arguments_read(const char *program, const char *const *argv, unsigned n,
                        struct qemu_arguments *ret)
{
    struct arena arena = {0};
    struct qemu_command_line line;
    int r = qemu_command_line_read(argv, n, qemu_config_open, NULL, &arena, &line);

    *ret = (struct qemu_arguments){.program = program, .argv = argv, .n = n};
    for (unsigned i = 0; i < line.n; i++)
        note(ret, &line.settings[i]);
    arena_done(&arena);
    return r;
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

/* In the values of QEMU's options that have keys, a comma is doubled. */
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
                    "[chardev \"strata-record-agent\"]\n  backend = \"socket\"\n  path = \"%s\"\n"
                    "  server = \"on\"\n  wait = \"off\"\n"
                    "[device \"strata-record-serial\"]\n  driver = \"%s\"\n"
                    "[device \"" VMM_PORT_ID "\"]\n  driver = \"virtserialport\"\n"
                    "  bus = \"strata-record-serial.0\"\n  chardev = \"strata-record-agent\"\n  "
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
        add_option(&build, "-readconfig", "%s", additions->config);
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
