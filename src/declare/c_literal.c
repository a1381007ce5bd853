/* SPDX-License-Identifier: MIT */
#include "declare/c_literal.h"

#include <string.h>

#include "base/macro.h"

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The widths of <inttypes.h>. glibc gives those below an int no length: the argument is promoted. */
static const struct {
    const char *suffix;
    const char *length;
} widths[] = {
    {"8", ""},       {"16", ""},      {"32", ""},       {"64", "l"},   {"LEAST8", ""},
    {"LEAST16", ""}, {"LEAST32", ""}, {"LEAST64", "l"}, {"FAST8", ""}, {"FAST16", "l"},
    {"FAST32", "l"}, {"FAST64", "l"}, {"PTR", "l"},     {"MAX", "l"},
};

/* Macros of QEMU's own that declarations of some versions use. Where a width depends on what QEMU
 * was built for, the widest is taken: the values are stored as 64 bits. */
static const struct {
    const char *name;
    const char *meaning;
} macros[] = {
    {"RAM_ADDR_FMT", "%lx"},   {"RAM_ADDR_PRI", "lx"},      {"TARGET_FMT_ld", "%ld"},
    {"TARGET_FMT_lu", "%lu"},  {"TARGET_FMT_lx", "%016lx"}, {"TARGET_FMT_plx", "%016lx"},
    {"TARGET_PRIxPHYS", "lx"},
};

static const char *const prefixes[] = {"HWADDR_PRI", "VADDR_PRI", "TARGET_PRI", "BLOCK_PRI"};

static bool same(const char *s, size_t len, const char *text)
{
    return strlen(text) == len && memcmp(s, text, len) == 0;
}

/* "PRIx64" and its like. */
static size_t inttypes_macro(const char *s, size_t len, char *buf)
{
    if (len < 5 || !strchr("diouxX", s[3]))
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(widths); i++)
        if (same(s + 4, len - 4, widths[i].suffix)) {
            size_t n = strlen(widths[i].length);
            memcpy(buf, widths[i].length, n);
            buf[n] = s[3];
            return n + 1;
        }
    return 0;
}

/* What macro S expands to, into BUF; its length, 0: not known. */
static size_t expand(const char *s, size_t len, char *buf)
{
    if (len > 3 && memcmp(s, "PRI", 3) == 0)
        return inttypes_macro(s, len, buf);
    for (size_t i = 0; i < ARRAY_SIZE(macros); i++)
        if (same(s, len, macros[i].name)) {
            memcpy(buf, macros[i].meaning, strlen(macros[i].meaning));
            return strlen(macros[i].meaning);
        }
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
        size_t n = strlen(prefixes[i]);
        if (len == n + 1 && memcmp(s, prefixes[i], n) == 0 && strchr("diouxX", s[n])) {
            buf[0] = 'l';
            buf[1] = s[n];
            return 2;
        }
    }
    return 0;
}

/* The escape behind the backslash at *P as a byte, or -1; *P moves behind it. */
static int parse_escape(const char **p, const char *end)
{
    static const char letters[] = "abfnrtv\\\"'?";
    static const char meanings[] = "\a\b\f\n\r\t\v\\\"'?";
    const char *q = *p + 1;
    const char *letter;
    int value = -1;

    if (q == end)
        return -1;
    if (*q >= '0' && *q <= '7') {
        value = 0;
        for (int i = 0; i < 3 && q < end && *q >= '0' && *q <= '7'; i++)
            value = value * 8 + (*q++ - '0');
    } else if (*q == 'x') {
        for (q++; q < end && hex_digit(*q) >= 0; q++)
            value = ((value < 0 ? 0 : value) * 16 + hex_digit(*q)) & 0xfff;
    } else if (*q != '\0' && (letter = strchr(letters, *q))) {
        value = (unsigned char)meanings[letter - letters];
        q++;
    }
    if (value < 0 || value > 255)
        return -1;
    *p = q;
    return value;
}

static const char *parse_quoted(const char **p, const char *end, char **out)
{
    const char *q = *p + 1;

    while (q < end && *q != '"') {
        int c = (unsigned char)*q;

        if (c == '\\') {
            const char *escape = q;
            c = parse_escape(&q, end);
            if (c < 0) {
                *p = escape;
                return "an escape that C does not have";
            }
            if (c == 0)
                *p = escape;
        } else {
            if (c == 0)
                *p = q;
            q++;
        }
        if (c == 0)
            return "a NUL in the format";
        *(*out)++ = (char)c;
    }
    if (q == end)
        return "a string that is not ended: a closing '\"' is missing";
    *p = q + 1;
    return NULL;
}

const char *c_literal_parse(const char **p, const char *end, char *buf,
                            struct c_literal *ret_literal)
{
    struct c_literal literal = {0};
    char *out = buf;

    for (;;) {
        const char *q = *p;

        while (q < end && is_blank(*q))
            q++;
        if (q == end || *q == ',')
            break;
        *p = q;
        if (*q == '"') {
            const char *wrong = parse_quoted(p, end, &out);
            if (wrong)
                return wrong;
        } else if (is_word(*q)) {
            size_t n;
            while (q < end && is_word(*q))
                q++;
            n = expand(*p, (size_t)(q - *p), out);
            if (n == 0) {
                if (q - *p >= 3 && memcmp(*p, "PRI", 3) == 0)
                    return "a macro that <inttypes.h> does not have";
                literal.unknown_macro = true;
            }
            out += n;
            *p = q;
        } else {
            return "expected a string in double quotes or a macro";
        }
    }
    *out = '\0';
    literal.len = (size_t)(out - buf);
    *ret_literal = literal;
    return NULL;
}

/* Behind the piece at P: a string with its quotes, or a word. */
static const char *piece_end(const char *p, const char *end)
{
    if (*p != '"') {
        while (p < end && is_word(*p))
            p++;
        return p;
    }
    for (p++; p < end && *p != '"'; p++)
        p += *p == '\\';
    return p + 1;
}

size_t c_literal_normalise(const char *s, size_t len, char *buf)
{
    const char *end = s + len;
    char *out = buf;

    while (s < end) {
        const char *piece = s;

        if (is_blank(*s)) {
            s++;
            continue;
        }
        s = piece_end(piece, end);
        if (out > buf)
            *out++ = ' ';
        memcpy(out, piece, (size_t)(s - piece));
        out += s - piece;
    }
    return (size_t)(out - buf);
}
