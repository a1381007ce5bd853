/* SPDX-License-Identifier: MIT */
#include "record/qemu/command_line.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/input.h"
#include "base/macro.h"

#define CONFIG_MAX ((size_t)1 << 20)
/* Far beyond what QEMU is started with. Further settings are not known. */
#define SETTINGS_MAX 16384u
#define BLANKS " \t\r"

struct parse {
    struct arena *arena;
    struct qemu_setting *settings;
    unsigned n, room, object;
    qemu_config_fn *open;
    void *userdata;
    bool no_memory;
};

/* Options whose value has keys. */
static const struct keyed_option {
    const char *name, *group;
    const char *first; /* the key of a first part without '='; NULL: that is a flag */
} keyed_options[] = {
    {"M", "machine", "type"},
    {"accel", "accel", "accel"},
    {"chardev", "chardev", "backend"},
    {"device", "device", "driver"},
    {"machine", "machine", "type"},
    {"mon", "mon", "chardev"},
    {"msg", "msg", NULL},
    {"name", "name", "guest"},
    {"object", "object", "qom-type"},
    {"qmp", "qmp", "address"},
    {"qmp-pretty", "qmp", "address"},
    {"trace", "trace", "enable"},
};

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

static const struct keyed_option *find_keyed(const char *option)
{
    for (size_t i = 0; i < ARRAY_SIZE(keyed_options); i++)
        if (strcmp(keyed_options[i].name, option) == 0)
            return &keyed_options[i];
    return NULL;
}

/* ---- Settings ---- */

static char *copy(struct parse *parse, const char *text, size_t len)
{
    char *s = arena_strndup(parse->arena, text, len);

    parse->no_memory |= !s;
    return s;
}

/* A key without letters is none of QEMU's. */
static void add(struct parse *parse, const struct qemu_setting *setting)
{
    if (parse->n == SETTINGS_MAX || (setting->key && *setting->key == '\0'))
        return;
    if (parse->n == parse->room) {
        unsigned room = MAX(2 * parse->room, 64u);
        struct qemu_setting *settings =
            reallocarray(parse->settings, room, sizeof *parse->settings);

        if (!settings) {
            parse->no_memory = true;
            return;
        }
        parse->settings = settings;
        parse->room = room;
    }
    parse->settings[parse->n] = *setting;
    parse->settings[parse->n++].object = parse->object;
}

/* Begins the next object; returns its first setting. */
static unsigned begin_object(struct parse *parse)
{
    parse->object++;
    return parse->n;
}

/* Gives the settings from FIRST on, of one object, the id among them. */
static void set_id(struct parse *parse, unsigned first)
{
    const char *id = NULL;

    for (unsigned i = first; i < parse->n; i++)
        if (parse->settings[i].key && strcmp(parse->settings[i].key, "id") == 0)
            id = parse->settings[i].value;
    for (unsigned i = first; i < parse->n; i++)
        parse->settings[i].id = id;
}

/* ---- "word,key=value,flag" ---- */

/* Ends the value at P in place, with doubled commas made single. Returns what is behind it. */
static char *end_value(char *p)
{
    char *to = p;
    bool is_last;

    for (; *p && (*p != ',' || p[1] == ','); p++) {
        *to++ = *p;
        p += *p == ',';
    }
    is_last = *p == '\0';
    *to = '\0';
    return is_last ? p : p + 1;
}

static void add_parts(struct parse *parse, struct qemu_setting setting, const char *first,
                      const char *word)
{
    char *p = copy(parse, word, strlen(word));

    for (bool is_first = true; p && *p; is_first = false) {
        size_t len = strcspn(p, "=,");

        if (p[len] == '=') {
            p[len] = '\0';
            setting.key = p;
            setting.value = p + len + 1;
            p = end_value(p + len + 1);
        } else if (is_first && first) {
            setting.key = first;
            setting.value = p;
            p = end_value(p);
        } else {
            bool is_off = strncmp(p, "no", 2) == 0;
            bool is_last = p[len] == '\0';

            setting.key = p + (is_off ? 2 : 0);
            setting.value = is_off ? "off" : "on";
            p[len] = '\0';
            p += len + !is_last;
        }
        add(parse, &setting);
    }
}

/* ---- JSON ---- */

static const char *json_text(struct parse *parse, const json_t *value)
{
    char number[32];

    if (json_is_string(value))
        return copy(parse, json_string_value(value), json_string_length(value));
    if (json_is_boolean(value))
        return json_is_true(value) ? "on" : "off";
    if (!json_is_integer(value))
        return NULL;
    snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    return copy(parse, number, strlen(number));
}

static void add_json(struct parse *parse, struct qemu_setting setting, const char *word)
{
    json_t *json = json_loads(word, 0, NULL);
    const char *key;
    json_t *value;

    json_object_foreach(json, key, value)
    {
        setting.value = json_text(parse, value);
        setting.key = setting.value ? copy(parse, key, strlen(key)) : NULL;
        if (setting.key)
            add(parse, &setting);
    }
    json_decref(json);
}

/* ---- Files of -readconfig ---- */

/* "[group "id"]": both ended in place. */
static void read_section(char *line, struct qemu_setting *setting)
{
    size_t len = strcspn(line + 1, BLANKS "]");
    char *rest = line + 1 + len;
    char *id, *end;

    *setting = (struct qemu_setting){0};
    if (len == 0 || *rest == '\0')
        return;
    id = strchr(rest, '"');
    end = id ? strchr(id + 1, '"') : NULL;
    *rest = '\0';
    setting->group = line + 1;
    if (end) {
        *end = '\0';
        setting->id = id + 1;
    }
}

/* "key = "value"", both ended in place. */
static bool read_entry(char *line, struct qemu_setting *setting)
{
    size_t len = strcspn(line, BLANKS "=");
    char *value = line + len + strspn(line + len, BLANKS);
    char *end;

    if (len == 0 || *value != '=')
        return false;
    value += 1 + strspn(value + 1, BLANKS);
    end = *value == '"' ? strchr(value + 1, '"') : NULL;
    if (!end)
        return false;
    line[len] = '\0';
    *end = '\0';
    setting->key = line;
    setting->value = value + 1;
    return true;
}

static void add_lines(struct parse *parse, char *text)
{
    struct qemu_setting setting = {0};
    char *line;

    while ((line = strsep(&text, "\n"))) {
        line += strspn(line, BLANKS);
        if (*line == '[') {
            (void)begin_object(parse);
            read_section(line, &setting);
        } else if (setting.group && *line != '#' && read_entry(line, &setting)) {
            add(parse, &setting);
        }
    }
}

static void add_file(struct parse *parse, const char *path)
{
    _cleanup_(closep) int fd = parse->open ? parse->open(parse->userdata, path) : -1;
    _cleanup_free_ char *text = NULL;
    struct stat status;
    char *lines;
    size_t len;

    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
        status.st_size > (off_t)CONFIG_MAX ||
        input_read_file(fd, CONFIG_MAX, path, &text, &len, NULL) < 0)
        return;
    lines = copy(parse, text, len);
    if (lines)
        add_lines(parse, lines);
}

int qemu_config_open(void *userdata, const char *path)
{
    (void)userdata;
    return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* ---- The command line ---- */

static void add_option(struct parse *parse, const char *option, const char *word)
{
    const struct keyed_option *keyed = word ? find_keyed(option) : NULL;
    struct qemu_setting setting = {
        .group = keyed ? keyed->group : option, .value = word, .word = word};
    unsigned first = begin_object(parse);

    if (keyed && *word == '{')
        add_json(parse, setting, word);
    else if (keyed)
        add_parts(parse, setting, keyed->first, word);
    if (parse->n == first)
        add(parse, &setting);
    else
        set_id(parse, first);
    if (word && strcmp(option, "readconfig") == 0)
        add_file(parse, word);
}

int qemu_command_line_read(const char *const *argv, unsigned n, qemu_config_fn *open,
                           void *userdata, struct arena *arena, struct qemu_command_line *ret)
{
    struct parse parse = {.arena = arena, .open = open, .userdata = userdata};

    for (unsigned i = 1; i < n; i++) {
        const char *option = argv[i];
        const char *word = i + 1 < n ? argv[i + 1] : NULL;

        if (!option || option[0] != '-' || option[1] == '\0')
            continue; /* a disk */
        option += 1 + (option[1] == '-');
        if (word && word[0] == '-' && word[1] != '\0' && !takes_anything(option))
            word = NULL;
        add_option(&parse, option, word);
        i += word != NULL;
    }
    *ret = (struct qemu_command_line){0};
    if (!parse.no_memory && parse.n > 0) {
        ret->settings = arena_memdup(arena, parse.settings, parse.n * sizeof *parse.settings);
        ret->n = ret->settings ? parse.n : 0;
        parse.no_memory = !ret->settings;
    }
    free(parse.settings);
    return parse.no_memory ? -ENOMEM : 0;
}

/* ---- Looking at it ---- */

unsigned qemu_next_object(const struct qemu_command_line *line, unsigned i)
{
    unsigned object = line->settings[i].object;

    while (i < line->n && line->settings[i].object == object)
        i++;
    return i;
}

const char *qemu_object_value(const struct qemu_command_line *line, unsigned i, const char *key)
{
    unsigned object = line->settings[i].object;
    const char *value = NULL;

    while (i > 0 && line->settings[i - 1].object == object)
        i--;
    for (; i < line->n && line->settings[i].object == object; i++)
        if (line->settings[i].key && strcmp(line->settings[i].key, key) == 0)
            value = line->settings[i].value;
    return value;
}

const struct qemu_setting *qemu_find_object(const struct qemu_command_line *line, const char *group,
                                            const char *id)
{
    for (unsigned i = 0; i < line->n; i++) {
        const struct qemu_setting *setting = &line->settings[i];

        if (setting->id && strcmp(setting->group, group) == 0 && strcmp(setting->id, id) == 0)
            return setting;
    }
    return NULL;
}

bool qemu_value_is_on(const char *value)
{
    return value &&
           (strcmp(value, "on") == 0 || strcmp(value, "yes") == 0 || strcmp(value, "true") == 0);
}
