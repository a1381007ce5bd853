/* SPDX-License-Identifier: MIT */
#include "declare/c_type.h"

#include <string.h>

#include "base/macro.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static const struct word {
    const char *text;
    uint8_t size; /* 0: only changes others */
    bool is_signed;
} words[] = {
    {"bool", 1, false},     {"char", 1, true},      {"const", 0, false},     {"int", 0, false},
    {"int16_t", 2, true},   {"int32_t", 4, true},   {"int64_t", 8, true},    {"int8_t", 1, true},
    {"long", 8, true},      {"ptrdiff_t", 8, true}, {"short", 2, true},      {"signed", 0, false},
    {"size_t", 8, false},   {"ssize_t", 8, true},   {"uint16_t", 2, false},  {"uint32_t", 4, false},
    {"uint64_t", 8, false}, {"uint8_t", 1, false},  {"uintptr_t", 8, false}, {"unsigned", 0, false},
    {"void", 0, false},
};

static const struct word *find_word(const char *s, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strlen(words[i].text) == len && memcmp(words[i].text, s, len) == 0)
            return &words[i];
    return NULL;
}

static bool begins_with(const char *s, size_t len, const char *prefix)
{
    return len >= strlen(prefix) && memcmp(s, prefix, strlen(prefix)) == 0;
}

static bool begins_as_string(const char *s, size_t len)
{
    return begins_with(s, len, "const char *") || begins_with(s, len, "const char*") ||
           begins_with(s, len, "char *") || begins_with(s, len, "char*");
}

/* The next token of a type (a word or a star) at *P; its length, 0 at the end. */
static size_t next_token(const char **p, const char *end)
{
    size_t n = 0;

    while (*p < end && is_blank(**p))
        (*p)++;
    if (*p < end && **p == '*')
        return 1;
    while (*p + n < end && !is_blank((*p)[n]) && (*p)[n] != '*')
        n++;
    return n;
}

struct c_type c_type_parse(const char *s, size_t len)
{
    struct c_type type = {.size = 4, .is_signed = true};
    const char *end = s + len;
    unsigned stars = 0;
    size_t n;

    while (s < end && is_blank(*s))
        s++;
    len = (size_t)(end - s);

    for (const char *p = s; (n = next_token(&p, end)) > 0; p += n) {
        const struct word *word = find_word(p, n);

        if (*p == '*') {
            stars++;
        } else if (!word) {
            type.unknown = true;
        } else if (word->size) {
            type.size = word->size;
            type.is_signed = type.is_signed && word->is_signed;
            type.is_bool = word->size == 1 && *p == 'b';
        } else if (strcmp(word->text, "unsigned") == 0) {
            type.is_signed = false;
        } else if (strcmp(word->text, "void") == 0) {
            type.size = 0;
            type.is_signed = false;
        }
    }

    if (stars > 0)
        return (struct c_type){.size = 8,
                               .is_pointer = true,
                               .is_string = stars == 1 && begins_as_string(s, len),
                               .unknown = type.unknown};
    if (type.unknown)
        return (struct c_type){.size = 8, .unknown = true};
    return type;
}

void c_type_normalise(const char *s, size_t len, char *buf)
{
    const char *end = s + len;
    const char *start = buf;
    size_t n;

    for (const char *p = s; (n = next_token(&p, end)) > 0; p += n) {
        if (buf > start && buf[-1] != '*')
            *buf++ = ' ';
        memcpy(buf, p, n);
        buf += n;
    }
    *buf = '\0';
}
