/* SPDX-License-Identifier: MIT */
#include "monitor/hmp_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static char *skip_spaces(char *at)
{
    while (is_space(*at))
        at++;
    return at;
}

char *hmp_next_word(char **at)
{
    char *word = skip_spaces(*at);
    char *end = word;

    while (*end && !is_space(*end))
        end++;
    *at = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

/* A string in quotes, at the first of them. NULL: OUT says what is wrong. */
static char *quoted(char **at, struct buffer *out)
{
    static const char escapes[] = "n\nr\r\\\\''\"\"";
    char *begin = *at + 1;
    char *to = begin;
    char *from = begin;

    for (; *from && *from != '"'; from++) {
        const char *escape = escapes;

        if (*from != '\\') {
            *to++ = *from;
            continue;
        }
        from++;
        while (*escape && *escape != *from)
            escape += 2;
        if (!*from)
            break;
        if (!*escape) {
            buffer_printf(out, "unsupported escape code: '\\%c'\n", *from);
            return NULL;
        }
        *to++ = escape[1];
    }
    if (!*from) {
        buffer_text(out, "unterminated string\n");
        return NULL;
    }
    *at = from + 1;
    *to = '\0';
    return begin;
}

static bool read_text(char **at, const char *command, const struct argument_spec *spec,
                      struct argument *argument, struct buffer *out)
{
    if (**at == '"')
        argument->text = quoted(at, out);
    else if (**at)
        argument->text = hmp_next_word(at);
    else if (spec->optional)
        return true;
    argument->given = argument->text != NULL;
    if (!argument->given)
        buffer_printf(out, "%s: %s expected\n", command,
                      spec->kind == ARGUMENT_FILE ? "filename" : "string");
    return argument->given;
}

static bool read_number(char **at, const char *command, struct argument *argument,
                        struct buffer *out)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(*at, &end, 0);
    if (end == *at) {
        buffer_printf(out, "invalid char '%c' in expression\n", **at);
        return false;
    }
    if (errno == ERANGE) {
        buffer_text(out, "number too large\n");
        return false;
    }
    if (number < 0 || number > INT32_MAX) {
        buffer_printf(out, "'%s' has failed: integer is for 32-bit values\n", command);
        return false;
    }
    *at = end;
    argument->number = (int32_t)number;
    argument->given = true;
    return true;
}

bool hmp_read_arguments(char *at, const char *command, const struct argument_spec *specs,
                        struct argument ret[ARGUMENTS_MAX], struct buffer *out)
{
    memset(ret, 0, ARGUMENTS_MAX * sizeof(*ret));
    for (unsigned i = 0; i < ARGUMENTS_MAX && specs[i].kind != ARGUMENT_NONE; i++) {
        struct argument *argument = &ret[i];

        at = skip_spaces(at);
        if (specs[i].kind == ARGUMENT_REST) {
            argument->given = *at;
            argument->text = at;
            return true;
        }
        if (specs[i].kind == ARGUMENT_STRING || specs[i].kind == ARGUMENT_FILE) {
            if (!read_text(&at, command, &specs[i], argument, out))
                return false;
        } else if (specs[i].kind == ARGUMENT_ON_OFF) {
            const char *word = hmp_next_word(&at);

            argument->on = strcmp(word, "on") == 0;
            argument->given = true;
            if (!argument->on && strcmp(word, "off") != 0) {
                buffer_text(out, "Expected 'on' or 'off'\n");
                return false;
            }
        } else if (*at || !specs[i].optional) {
            if (!read_number(&at, command, argument, out))
                return false;
        }
    }
    if (*skip_spaces(at)) {
        buffer_printf(out, "%s: extraneous characters at the end of line\n", command);
        return false;
    }
    return true;
}
