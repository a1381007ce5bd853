/* SPDX-License-Identifier: MIT */
/* A configuration as a file, and as a command line. */
#include <string.h>

#include "base/shell_word.h"
#include "cli/config.h"

static bool has_control(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 0x7f)
            return true;
    return false;
}

/* In quotation marks in which a line can have all characters. */
static void put_escaped(struct text *out, const char *s)
{
    text_put_char(out, '"');
    for (; *s; s++) {
        char c = *s == '\n' ? 'n' : *s == '\t' ? 't' : *s == '\r' ? 'r' : *s;

        if (c != *s || c == '"' || c == '\\')
            text_put_char(out, '\\');
        text_put_char(out, c);
    }
    text_put_char(out, '"');
}

static void put_value(struct text *out, const char *value)
{
    size_t len = strlen(value);

    if (len == 0 || strchr(" \t\"", value[0]) || strchr(" \t\\", value[len - 1]) ||
        has_control(value))
        put_escaped(out, value);
    else
        text_put_str(out, value);
}

static void put_words(struct text *out, const char *name, const struct strings *words)
{
    if (words->n == 0)
        return;
    text_put_str(out, name);
    text_put_str(out, " =");
    for (unsigned i = 0; i < words->n; i++) {
        text_put_char(out, ' ');
        if (has_control(words->items[i]))
            put_escaped(out, words->items[i]);
        else
            shell_put_word(out, words->items[i]);
    }
    text_put_char(out, '\n');
}

/* An argument that was given: of an option that can be without, "" is none. */
static const char *argument_of(const struct config_entry *entry)
{
    return entry->value && *entry->value == '\0' && options_has_optional_argument(entry->option)
               ? NULL
               : entry->value;
}

void config_print(const struct config *config, const char *verb, struct text *out)
{
    text_printf(out, "# Configuration of strata %s, see strata-%s.conf(5)\n", verb, verb);
    for (unsigned i = 0; i < config->n; i++) {
        const struct config_entry *entry = &config->entries[i];
        const char *argument = argument_of(entry);

        if (config_is_about_itself(entry->option))
            continue;
        text_put_str(out, entry->option->name);
        if (argument) {
            text_put_str(out, " = ");
            put_value(out, argument);
        } else if (entry->option->kind == OPTION_FLAG) {
            text_put_str(out, " = yes");
        }
        text_put_char(out, '\n');
    }
    put_words(out, "operands", &config->operands);
    put_words(out, "command", &config->command);
}

void config_print_command(const struct config *config, const char *verb, struct text *out)
{
    text_printf(out, "strata %s", verb);
    for (unsigned i = 0; i < config->n; i++) {
        const struct config_entry *entry = &config->entries[i];
        const char *argument = argument_of(entry);

        if (config_is_about_itself(entry->option))
            continue;
        text_put_str(out, " --");
        text_put_str(out, entry->option->name);
        if (argument) {
            text_put_char(out, '=');
            shell_put_word(out, argument);
        }
    }
    for (unsigned i = 0; i < config->operands.n; i++) {
        text_put_char(out, ' ');
        shell_put_word(out, config->operands.items[i]);
    }
    if (config->has_command)
        text_put_str(out, " --");
    for (unsigned i = 0; i < config->command.n; i++) {
        text_put_char(out, ' ');
        shell_put_word(out, config->command.items[i]);
    }
    text_put_char(out, '\n');
}
