/* SPDX-License-Identifier: MIT */
#include "cli/config.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define BLANKS " \t"

void config_done(struct config *config)
{
    strings_done(&config->operands);
    strings_done(&config->command);
    free(config->entries);
    arena_done(&config->arena);
    *config = (struct config){0};
}

bool config_is_about_itself(const struct cli_option *option)
{
    static const char *const names[] = {"config", "print-config", "print-command"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(option->name, names[i]) == 0)
            return true;
    return option->kind == OPTION_HELP;
}

static int add(struct config *config, const struct config_entry *entry)
{
    if (config->n == config->room) {
        unsigned room = MAX(2 * config->room, 16u);
        struct config_entry *bigger = realloc(config->entries, room * sizeof *bigger);

        if (!bigger)
            return -ENOMEM;
        config->entries = bigger;
        config->room = room;
    }
    config->entries[config->n++] = *entry;
    return 0;
}

int config_add(struct config *config, const struct cli_option *option, const char *value)
{
    struct config_entry entry = {.option = option};

    if (value && !(entry.value = arena_strdup(&config->arena, value)))
        return -ENOMEM;
    return add(config, &entry);
}

int config_add_words(struct config *config, struct strings *words, unsigned n, char *const *items)
{
    for (unsigned i = 0; i < n; i++) {
        const char *copy = arena_strdup(&config->arena, items[i]);

        if (!copy || strings_add(words, copy) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* ---- Lines ---- */

struct parser {
    const struct command *command;
    struct config *config;
    const char *path;
    const char *next, *end; /* of the text */
    uint32_t line;          /* of `text`, its first */
    uint32_t next_line;
    char *text; /* the present line, with those that continue it */
    char *room; /* in the arena, for what is left of the text, and its end */
    struct error *error;
};

static bool is_comment(const char *line, const char *end)
{
    while (line < end && (*line == ' ' || *line == '\t'))
        line++;
    return line == end || *line == '#' || *line == ';' || *line == '\r';
}

/* The next line that is neither empty nor a comment: 1; 0: the end; -errno. */
static int read_line(struct parser *parser)
{
    char *to;

    for (;;) {
        const char *newline;

        if (parser->next == parser->end)
            return 0;
        parser->line = ++parser->next_line;
        newline = memchr(parser->next, '\n', (size_t)(parser->end - parser->next));
        if (!is_comment(parser->next, newline ? newline : parser->end))
            break;
        parser->next = newline ? newline + 1 : parser->end;
    }
    to = parser->text = parser->room;
    for (;;) {
        const char *newline = memchr(parser->next, '\n', (size_t)(parser->end - parser->next));
        const char *end = newline ? newline : parser->end;
        size_t len = (size_t)(end - parser->next);

        memcpy(to, parser->next, len);
        parser->next = newline ? newline + 1 : parser->end;
        if (memchr(to, '\0', len))
            return error_on_line(parser->error, -EINVAL, parser->path, parser->next_line,
                                 "contains a NUL byte; it is not a text file");
        if (len > 0 && to[len - 1] == '\r')
            len--;
        to += len;
        if (to == parser->text || to[-1] != '\\' || parser->next == parser->end)
            break;
        to[-1] = ' ';
        parser->next_line++;
    }
    parser->room = to + 1;
    while (to > parser->text && strchr(BLANKS, to[-1]))
        to--;
    *to = '\0';
    return 1;
}

/* ---- Values ---- */

static char unescape(char c)
{
    return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
}

/* The text after the quotation mark at *P, up to the closing one, in place at TO. Returns the end of what it wrote; *P is after
 * the closing mark. NULL: there is none. */
static char *read_quoted(char **p, char *to)
{
    char quote = *(*p)++;

    while (**p && **p != quote) {
        if (quote == '"' && **p == '\\' && (*p)[1]) {
            ++*p;
            *to++ = unescape(**p);
        } else {
            *to++ = **p;
        }
        ++*p;
    }
    if (!**p)
        return NULL;
    ++*p;
    return to;
}

static int report_quote(const struct parser *parser)
{
    return error_on_line(parser->error, -EINVAL, parser->path, parser->line,
                         "quotation mark without an end; close it in the same line");
}

/* An argument, in place. */
static int read_value(const struct parser *parser, char *value, const char **ret)
{
    char *p = value, *end;

    if (*value == '"') {
        end = read_quoted(&p, value);
        if (!end)
            return report_quote(parser);
        if (*p)
            return error_on_line(parser->error, -EINVAL, parser->path, parser->line,
                                 "text after the closing quotation mark; write \\\" for one that "
                                 "belongs to the value");
        *end = '\0';
    }
    *ret = value;
    return 0;
}

/* Words, in place. */
static int read_words(const struct parser *parser, char *p, struct strings *words)
{
    for (p += strspn(p, BLANKS); *p; p += strspn(p, BLANKS)) {
        char *word = p, *to = p;
        bool is_last;

        while (*p && !strchr(BLANKS, *p)) {
            if (*p == '"' || *p == '\'') {
                to = read_quoted(&p, to);
                if (!to)
                    return report_quote(parser);
            } else {
                if (*p == '\\' && p[1])
                    p++;
                *to++ = *p++;
            }
        }
        is_last = *p == '\0';
        *to = '\0';
        if (strings_add(words, word) < 0)
            return -ENOMEM;
        if (is_last)
            break;
        p++;
    }
    return 0;
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

/* A flag's argument. *RET: it is given. */
static int read_flag(const struct parser *parser, const char *name, const char *value, bool *ret)
{
    static const char *const yes[] = {"yes", "true", "on", "1", NULL};
    static const char *const no[] = {"no", "false", "off", "0", NULL};

    *ret = !value || is_one_of(value, yes);
    if (*ret || is_one_of(value, no))
        return 0;
    return error_on_line(parser->error, -EINVAL, parser->path, parser->line,
                         "%s = '%s' is neither yes nor no", name, value);
}

/* ---- A line ---- */

static int report_unknown(const struct parser *parser, const char *name)
{
    const struct cli_option *near = options_suggest(parser->command, name, strlen(name));

    if (name[0] == '[')
        return error_on_line(parser->error, -EINVAL, parser->path, parser->line,
                             "sections such as '%s' are not used; remove the line", name);
    if (name[0] == '-')
        return error_on_line(parser->error, -EINVAL, parser->path, parser->line,
                             "unknown option '%s'; write its long name without dashes", name);
    if (near)
        return error_on_line(parser->error, -EINVAL, parser->path, parser->line,
                             "unknown option '%s'; did you mean '%s'?", name, near->name);
    return error_on_line(parser->error, -EINVAL, parser->path, parser->line,
                         "unknown option '%s'; 'strata %s --help' lists all", name,
                         parser->command->name);
}

static int add_option(const struct parser *parser, const struct cli_option *option, char *value)
{
    struct config_entry entry = {.option = option, .path = parser->path, .line = parser->line};
    bool is_given = true;
    int r = 0;

    if (config_is_about_itself(option))
        return error_on_line(parser->error, -EINVAL, parser->path, parser->line,
                             "'%s' cannot be in a file; give --%s on the command line",
                             option->name, option->name);
    if (value && (*value || option->kind == OPTION_FLAG))
        r = read_value(parser, value, &entry.value);
    if (r >= 0 && option->kind == OPTION_FLAG) {
        r = read_flag(parser, option->name, entry.value, &is_given);
        entry.value = NULL;
    } else if (r >= 0 && !entry.value) {
        if (!options_has_optional_argument(option))
            return error_on_line(parser->error, -EINVAL, parser->path, parser->line,
                                 "'%s' requires %s; write '%s = %s'", option->name,
                                 option->argument, option->name, option->argument);
        entry.value = "";
    }
    return r < 0 || !is_given ? r : add(parser->config, &entry);
}

static int read_entry(struct parser *parser)
{
    struct config *config = parser->config;
    char *name = parser->text + strspn(parser->text, BLANKS);
    char *after = name + strcspn(name, BLANKS "=");
    char *value = after + strspn(after, BLANKS);
    const struct cli_option *option;

    if (*value && *value != '=' && *name != '[')
        return error_on_line(parser->error, -EINVAL, parser->path, parser->line,
                             "'=' is missing after '%.*s'", (int)MIN(after - name, 60), name);
    value = *value == '=' ? value + 1 + strspn(value + 1, BLANKS) : NULL;
    *after = '\0';
    if (strcmp(name, "operands") == 0 || strcmp(name, "command") == 0) {
        bool is_command = *name == 'c';

        if (!value || !*value)
            return error_on_line(parser->error, -EINVAL, parser->path, parser->line,
                                 "'%s' requires words", name);
        config->has_command |= is_command;
        return read_words(parser, value, is_command ? &config->command : &config->operands);
    }
    option = options_find(parser->command, name, strlen(name));
    if (option && option->kind == OPTION_RENAMED)
        return error_on_line(parser->error, -EINVAL, parser->path, parser->line, "'%s' is '%s' now",
                             name, option->argument + 2);
    return option ? add_option(parser, option, value) : report_unknown(parser, name);
}

int config_parse(const struct command *command, const char *text, size_t len, const char *path,
                 struct config *config, struct error *error)
{
    struct parser parser = {
        .command = command,
        .config = config,
        .path = path,
        .next = text,
        .end = text + len,
        .error = error,
    };
    int r;

    parser.room = arena_alloc(&config->arena, len + 1);
    if (!parser.room)
        return error_set(error, -ENOMEM, path, "out of memory");
    while ((r = read_line(&parser)) > 0) {
        r = read_entry(&parser);
        if (r < 0)
            break;
    }
    return r < 0 ? error_set(error, r, path, "%s", error_text(r)) : 0;
}

int config_read(const struct command *command, const char *path, struct config *config,
                struct error *error)
{
    _cleanup_free_ char *text = malloc(CONFIG_MAX_BYTES + 1);
    _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t n = 1;

    if (!text)
        return error_set(error, -ENOMEM, path, "out of memory");
    if (fd < 0)
        return error_set(error, -errno, path, "cannot open the configuration file: %s",
                         strerror(errno));
    while (len <= CONFIG_MAX_BYTES && n != 0) {
        n = read(fd, text + len, CONFIG_MAX_BYTES + 1 - len);
        if (n < 0 && errno != EINTR)
            return error_set(error, -errno, path, "cannot read it: %s", strerror(errno));
        len += n > 0 ? (size_t)n : 0;
        if (len > CONFIG_MAX_BYTES)
            break;
    }
    if (len > CONFIG_MAX_BYTES)
        return error_set(error, -EFBIG, path, "has more than 1 MB; it is not a configuration file");
    return config_parse(command, text, len, path, config, error);
}

int config_set(const struct command *command, struct config *config, void *options,
               struct error *error)
{
    for (unsigned i = 0; i < config->n; i++) {
        const struct config_entry *entry = &config->entries[i];
        struct error why = {0};
        char *copy = NULL; /* lists are cut up in place */
        int r;

        if (!entry->path)
            continue;
        if (entry->value && !(copy = arena_strdup(&config->arena, entry->value)))
            return error_set(error, -ENOMEM, entry->path, "out of memory");
        r = options_set(command, options, entry->option, copy, &why);
        if (r == -ENOMEM)
            return error_set(error, r, entry->path, "out of memory");
        if (r < 0)
            return error_on_line(error, r, entry->path, entry->line, "%s = '%s' %s",
                                 entry->option->name, entry->value, why.what);
    }
    return 0;
}
