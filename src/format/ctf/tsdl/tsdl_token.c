/* SPDX-License-Identifier: MIT */
/* The tokens of TSDL. */
#include <ctype.h>
#include <string.h>

#include "base/macro.h"
#include "format/ctf/tsdl/tsdl_parser.h"

static int add_char(struct parser *p, char c)
{
    if (p->len == TEXT_MAX)
        return tsdl_wrong(p, "word longer than %d bytes", TEXT_MAX);
    p->text[p->len++] = c;
    p->text[p->len] = '\0';
    return 0;
}

unsigned tsdl_digit(char c)
{
    return (unsigned)(isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10);
}

/* A number of the escape at p->at, of up to N digits. */
static char read_code(struct parser *p, const char *end, unsigned base, unsigned n)
{
    unsigned value = 0;

    while (n-- > 0 && p->at < end && isxdigit((unsigned char)*p->at) && tsdl_digit(*p->at) < base)
        value = value * base + tsdl_digit(*p->at++);
    return (char)value;
}

static char read_escape(struct parser *p, const char *end)
{
    static const char letters[] = "abfnrtv";
    static const char codes[] = "\a\b\f\n\r\t\v";
    char c = *p->at;
    const char *letter = strchr(letters, c);

    if (c >= '0' && c <= '7')
        return read_code(p, end, 8, 3);
    p->at++;
    if (c == 'x')
        return read_code(p, end, 16, 2);
    return c && letter ? codes[letter - letters] : c;
}

/* Reads from after the opening QUOTE to after the closing one, or to END. */
static int read_quoted(struct parser *p, char quote, const char *end)
{
    p->len = 0;
    p->text[0] = '\0';
    while (p->at < end && *p->at != quote) {
        char c = *p->at++;
        int r;

        if (c == '\n')
            return tsdl_wrong(p, "string without a closing quote");
        if (c == '\\' && p->at < end)
            c = read_escape(p, end);
        if (c == '\0')
            return tsdl_wrong(p, "NUL in a string");
        r = add_char(p, c);
        if (r < 0)
            return r;
    }
    if (p->at == end)
        return tsdl_wrong(p, "string without a closing quote");
    p->at++;
    return 0;
}

int tsdl_keep(struct parser *p, const char **ret)
{
    char *copy = arena_strndup(p->arena, p->text, p->len);

    if (!copy)
        return -ENOMEM;
    *ret = copy;
    return 0;
}

/* Skips the comment that begins here, and keeps the text if it is one of Strata's. */
static int read_comment(struct parser *p)
{
    const char *body = p->at + 2;
    bool line = p->at[1] == '/';
    const char *end = body < p->end
                          ? memmem(body, (size_t)(p->end - body), line ? "\n" : "*/", line ? 1 : 2)
                          : NULL;
    const struct {
        const char *start;
        const char **text;
    } known[] = {{" group \"", &p->group}, {" format \"", &p->format}, {" type \"", &p->c_type}};
    int r = 0;

    if (!end && !line)
        return tsdl_wrong(p, "comment without an end");
    if (!end)
        end = p->end;
    for (unsigned i = 0; i < ARRAY_SIZE(known) && !line; i++) {
        size_t len = strlen(known[i].start);

        if ((size_t)(end - body) <= len || memcmp(body, known[i].start, len) != 0)
            continue;
        p->at = body + len;
        r = read_quoted(p, '"', end);
        if (r >= 0)
            r = tsdl_keep(p, known[i].text);
        break;
    }
    for (const char *q = body; q < end; q++)
        p->lines_after += *q == '\n';
    p->at = line ? end : end + 2;
    return r;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-' || c == '+' || c == '$';
}

static bool at_dots(const struct parser *p)
{
    return p->end - p->at >= 3 && memcmp(p->at, "...", 3) == 0;
}

static int read_word(struct parser *p)
{
    int r = 0;

    p->token = TOKEN_WORD;
    p->len = 0;
    while (r >= 0 && p->at < p->end && is_word(*p->at) && !at_dots(p))
        r = add_char(p, *p->at++);
    return r;
}

/* Reads the next token. */
int tsdl_next(struct parser *p)
{
    int r = 0;

    p->line += p->lines_after;
    p->lines_after = 0;
    for (;;) {
        while (p->at < p->end && isspace((unsigned char)*p->at))
            p->lines_after += *p->at++ == '\n';
        if (p->end - p->at < 2 || p->at[0] != '/' || (p->at[1] != '*' && p->at[1] != '/'))
            break;
        p->line += p->lines_after;
        p->lines_after = 0;
        r = read_comment(p);
        if (r < 0)
            return r;
    }
    p->line += p->lines_after;
    p->lines_after = 0;
    if (p->at == p->end) {
        p->token = TOKEN_END;
        return 0;
    }
    if (*p->at == '"' || *p->at == '\'') {
        char quote = *p->at++;

        p->token = TOKEN_STRING;
        return read_quoted(p, quote, p->end);
    }
    if (at_dots(p)) {
        p->token = TOKEN_MARK;
        p->mark = MARK_UP_TO;
        p->at += 3;
        return 0;
    }
    if (is_word(*p->at))
        return read_word(p);
    p->token = TOKEN_MARK;
    p->mark = *p->at++;
    if (p->mark == ':' && p->at < p->end && *p->at == '=') {
        p->mark = MARK_IS;
        p->at++;
    }
    return 0;
}

bool tsdl_at_mark(const struct parser *p, char mark)
{
    return p->token == TOKEN_MARK && p->mark == mark;
}

bool tsdl_at_word(const struct parser *p, const char *word)
{
    return p->token == TOKEN_WORD && strcmp(p->text, word) == 0;
}

int tsdl_expect(struct parser *p, char mark)
{
    if (!tsdl_at_mark(p, mark)) {
        if (mark == MARK_IS)
            return tsdl_wrong(p, "expected ':='");
        return tsdl_wrong(p, "expected '%c'", mark);
    }
    return tsdl_next(p);
}

int tsdl_open_brace(struct parser *p)
{
    if (p->depth == DEPTH_MAX)
        return tsdl_wrong(p, "braces nested more than %d deep", DEPTH_MAX);
    p->depth++;
    return tsdl_expect(p, '{');
}

int tsdl_close_brace(struct parser *p)
{
    p->depth--;
    return tsdl_expect(p, '}');
}

/* Passes over what is left of a statement: up to its ';', with all braces in between. */
int tsdl_pass_over(struct parser *p)
{
    unsigned depth = 0;
    int r = 0;

    while (r >= 0 && !(depth == 0 && (tsdl_at_mark(p, ';') || tsdl_at_mark(p, '}')))) {
        if (p->token == TOKEN_END)
            return tsdl_wrong(p, "the metadata ends in the middle of a declaration");
        depth += tsdl_at_mark(p, '{') ? 1 : 0;
        depth -= tsdl_at_mark(p, '}') ? 1 : 0;
        r = tsdl_next(p);
    }
    return r;
}

bool tsdl_is_number(const struct parser *p)
{
    char first = p->text[p->text[0] == '-' || p->text[0] == '+'];

    return p->token == TOKEN_WORD && isdigit((unsigned char)first);
}

/* Of the token; a count further than a signed number goes becomes negative. */
int tsdl_to_number(struct parser *p, int64_t *ret)
{
    char *end = p->text;
    int64_t value = 0;

    if (tsdl_is_number(p)) {
        const char *digits = p->text + (p->text[0] == '-' || p->text[0] == '+');
        bool is_binary = digits[0] == '0' && (digits[1] == 'b' || digits[1] == 'B');

        errno = 0;
        if (is_binary) {
            value = (int64_t)strtoull(digits + 2, &end, 2);
            value = p->text[0] == '-' ? -value : value;
        } else {
            value =
                p->text[0] == '-' ? strtoll(p->text, &end, 0) : (int64_t)strtoull(p->text, &end, 0);
        }
        end += strspn(end, "uUlL");
        if (!errno && *end == '\0') {
            *ret = value;
            return 0;
        }
    }
    return tsdl_wrong(p, "expected a number");
}
