/* SPDX-License-Identifier: MIT */
#include "schema/trace_events/c_literal.h"

#include <string.h>

#include "base/macro.h"
#include "base/number.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "schema/trace_events/c_char.h"

/* The widths of <inttypes.h>. glibc gives those below an int no length: the argument is promoted. */
static const struct {
    const char *suffix;
    const char *length;
} widths[] = {
    {"64", "l"},     {"32", ""},      {"16", ""},       {"8", ""},     {"LEAST8", ""},
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

/* The digits of an escape at *Q, up to MAX of them, to base 1 << SHIFT; -1: none, or too much. */
static int64_t parse_digits(const char **q, const char *end, unsigned shift, int max)
{
    int64_t value = -1;

    for (int i = 0; i < max && *q < end; i++, (*q)++) {
        int digit = number_hex_digit(**q);

        if (digit < 0 || digit >= 1 << shift)
            break;
        value = (value < 0 ? 0 : value) << shift | digit;
        if (value > INT32_MAX)
            return -1;
    }
    return value;
}

/* "\u00e9" and "\U000000e9", after the backslash at *Q, in UTF-8. */
static size_t parse_universal(const char **q, const char *end, char *buf)
{
    int n = **q == 'u' ? 4 : 8;
    const char *start = *q + 1;
    int64_t value;

    *q = start;
    value = parse_digits(q, end, 4, n);
    if (*q - start != n || value > 0x10ffff || (value >= 0xd800 && value < 0xe000) ||
        (value < 0xa0 && value != '$' && value != '@' && value != '`'))
        return 0;
    return utf8_encode((uint32_t)value, buf);
}

/* The escape at *P, a backslash, into BUF, which has room for 4 bytes; their number; 0: not an escape.
 * *P moves to its end. */
static size_t parse_escape(const char **p, const char *end, char *buf)
{
    static const char letters[] = "abefnrtv\\\"'?";
    static const char meanings[] = "\a\b\033\f\n\r\t\v\\\"'?";
    const char *q = *p + 1;
    const char *letter;
    int64_t value = -1;
    size_t n = 1;

    if (q == end)
        return 0;
    if (*q >= '0' && *q <= '7') {
        value = parse_digits(&q, end, 3, 3);
    } else if (*q == 'x') {
        q++;
        value = parse_digits(&q, end, 4, INT32_MAX);
    } else if (*q == 'u' || *q == 'U') {
        n = parse_universal(&q, end, buf);
        if (n == 0)
            return 0;
    } else if (*q != '\0' && (letter = strchr(letters, *q))) {
        value = (unsigned char)meanings[letter - letters];
        q++;
    }
    if (n == 1) {
        if (value < 0 || value > 255)
            return 0;
        *buf = (char)value;
    }
    *p = q;
    return n;
}

static const char *parse_quoted(const char **p, const char *end, char **out)
{
    const char *q = *p + 1;

    for (;;) {
        const char *at = q;
        size_t n = 1;

        while (q < end && c_char_is_plain(*q))
            q++;
        memcpy(*out, at, (size_t)(q - at));
        *out += q - at;
        if (q == end || *q == '"')
            break;
        at = q;
        if (*q == '\\')
            n = parse_escape(&q, end, *out);
        if (n == 0 || *at == '\0' || **out == '\0') {
            *p = at;
            return n == 0 ? "an escape that C does not have" : "a NUL in the format";
        }
        *out += n;
    }
    if (q == end)
        return "a string that is not ended: a closing '\"' is missing";
    *p = q + 1;
    return NULL;
}

/* A string may have the prefix "u8", which changes nothing; and others, which make it no format. */
static bool is_prefix(const char *s, size_t len, const char *end)
{
    return s + len < end && s[len] == '"' &&
           (same(s, len, "u8") || same(s, len, "L") || same(s, len, "u") || same(s, len, "U") ||
            same(s, len, "R") || same(s, len, "u8R"));
}

const char *c_literal_parse(const char **p, const char *end, char *buf,
                            struct c_literal *ret_literal)
{
    struct c_literal literal = {0};
    char *out = buf;

    for (;;) {
        const char *q = *p;

        while (q < end && c_char_is_blank(*q))
            q++;
        if (q == end || *q == ',')
            break;
        *p = q;
        literal.n_pieces++;
        if (*q == '"') {
            const char *wrong = parse_quoted(p, end, &out);
            if (wrong)
                return wrong;
        } else if (c_char_is_word(*q)) {
            size_t n;
            while (q < end && c_char_is_word(*q))
                q++;
            n = expand(*p, (size_t)(q - *p), out);
            if (n == 0) {
                if (is_prefix(*p, (size_t)(q - *p), end)) {
                    if (**p != 'u' || q - *p != 2)
                        return "a string with a prefix";
                } else if (q - *p >= 3 && memcmp(*p, "PRI", 3) == 0) {
                    return "a macro that <inttypes.h> does not have";
                } else if (!literal.unknown_macro) {
                    literal.unknown_macro = *p;
                    literal.unknown_macro_len = (size_t)(q - *p);
                }
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

/* Behind the piece at P: a string with its quotes and its prefix, or a word. */
static const char *piece_end(const char *p, const char *end)
{
    if (*p != '"') {
        const char *word = p;

        while (p < end && c_char_is_word(*p))
            p++;
        if (!is_prefix(word, (size_t)(p - word), end))
            return p;
    }
    for (p++;; p += 2) {
        while (c_char_is_plain(*p))
            p++;
        if (*p == '"')
            return p + 1;
    }
}

size_t c_literal_normalise(const char *s, size_t len, char *buf)
{
    const char *end = s + len;
    char *out = buf;

    while (s < end) {
        const char *piece = s;

        if (c_char_is_blank(*s)) {
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

const char *c_literal_place(const char *s, const char *end, size_t offset)
{
    char buf[C_MACRO_MAX];
    const char *last = s;

    while (s < end) {
        if (c_char_is_word(*s)) {
            const char *word = s;
            size_t n;

            while (s < end && c_char_is_word(*s))
                s++;
            n = expand(word, (size_t)(s - word), buf);
            if (offset < n)
                return word;
            offset -= n;
            last = s;
        } else if (*s != '"') {
            s++;
        } else {
            for (s++; s < end && *s != '"';) {
                const char *at = s;
                size_t n = 1;

                if (*s != '\\')
                    s++;
                else if ((n = parse_escape(&s, end, buf)) == 0)
                    return at;
                if (offset < n)
                    return at;
                offset -= n;
            }
            last = s;
            s++;
        }
    }
    return last;
}

bool c_literal_near_macro(const char *s, size_t len, char *buf)
{
    static const char conversions[] = "diouxX";
    size_t best = MIN(len / 3, (size_t)2) + 1;
    char word[C_MACRO_MAX];

    if (len < 4 || len >= sizeof word)
        return false;
    memcpy(word, s, len);
    for (size_t i = 0; i < 3; i++)
        if (word[i] == "pri"[i])
            word[i] = "PRI"[i];
    if (memcmp(word, "PR", 2) != 0)
        return false;
    for (size_t i = 0; conversions[i]; i++)
        for (size_t j = 0; j < ARRAY_SIZE(widths); j++) {
            char macro[C_MACRO_MAX];
            size_t n = strlen(widths[j].suffix);
            size_t d;

            memcpy(macro, "PRI", 3);
            macro[3] = conversions[i];
            memcpy(macro + 4, widths[j].suffix, n + 1);
            d = suggest_distance(word, len, macro, n + 4);
            if (d < best) {
                best = d;
                memcpy(buf, macro, n + 5);
            }
        }
    return best <= MIN(len / 3, (size_t)2);
}
