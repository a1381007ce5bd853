/* SPDX-License-Identifier: MIT */
#include "schema/trace_events/c_type.h"

#include <string.h>

#include "base/macro.h"
#include "schema/trace_events/c_char.h"

/* What a word of a type does beside others. */
enum role {
    ROLE_CONST,
    ROLE_SIGN, /* signed, unsigned */
    ROLE_INT,
    ROLE_CHAR,
    ROLE_SHORT,
    ROLE_LONG,
    ROLE_ALONE, /* is a type by itself and goes with no other */
    N_ROLES,
};

static const struct word {
    const char *text;
    uint8_t len;
    uint8_t size; /* 0: only changes others */
    bool is_signed;
    uint8_t role;
} words[] = {
#define WORD(text) (text), sizeof(text) - 1
    {WORD("bool"), 1, false, ROLE_ALONE},      {WORD("char"), 1, true, ROLE_CHAR},
    {WORD("const"), 0, false, ROLE_CONST},     {WORD("int"), 0, false, ROLE_INT},
    {WORD("int16_t"), 2, true, ROLE_ALONE},    {WORD("int32_t"), 4, true, ROLE_ALONE},
    {WORD("int64_t"), 8, true, ROLE_ALONE},    {WORD("int8_t"), 1, true, ROLE_ALONE},
    {WORD("long"), 8, true, ROLE_LONG},        {WORD("ptrdiff_t"), 8, true, ROLE_ALONE},
    {WORD("short"), 2, true, ROLE_SHORT},      {WORD("signed"), 0, false, ROLE_SIGN},
    {WORD("size_t"), 8, false, ROLE_ALONE},    {WORD("ssize_t"), 8, true, ROLE_ALONE},
    {WORD("uint16_t"), 2, false, ROLE_ALONE},  {WORD("uint32_t"), 4, false, ROLE_ALONE},
    {WORD("uint64_t"), 8, false, ROLE_ALONE},  {WORD("uint8_t"), 1, false, ROLE_ALONE},
    {WORD("uintptr_t"), 8, false, ROLE_ALONE}, {WORD("unsigned"), 0, false, ROLE_SIGN},
    {WORD("void"), 0, false, ROLE_ALONE},
#undef WORD
};

static const struct word *find_word(const char *s, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (words[i].len == len && memcmp(words[i].text, s, len) == 0)
            return &words[i];
    return NULL;
}

bool c_type_is_word(const char *s, size_t len)
{
    return find_word(s, len) != NULL;
}

/* By how often each role is there. */
static bool is_valid(const uint8_t roles[N_ROLES])
{
    unsigned with_others = 0U + roles[ROLE_SIGN] + roles[ROLE_INT] + roles[ROLE_CHAR] +
                           roles[ROLE_SHORT] + roles[ROLE_LONG];

    if (roles[ROLE_ALONE])
        return roles[ROLE_ALONE] == 1 && with_others == 0;
    if (with_others == 0 || roles[ROLE_SIGN] > 1 || roles[ROLE_INT] > 1)
        return false;
    if (roles[ROLE_CHAR])
        return roles[ROLE_CHAR] == 1 && !roles[ROLE_SHORT] && !roles[ROLE_LONG] && !roles[ROLE_INT];
    return roles[ROLE_SHORT] ? roles[ROLE_SHORT] == 1 && !roles[ROLE_LONG] : roles[ROLE_LONG] <= 2;
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

size_t c_type_token(const char **p, const char *end)
{
    size_t n = 0;

    while (*p < end && c_char_is_blank(**p))
        (*p)++;
    if (*p < end && **p == '*')
        return 1;
    while (*p + n < end && !c_char_is_blank((*p)[n]) && (*p)[n] != '*')
        n++;
    return n;
}

struct c_type c_type_parse(const char *s, size_t len)
{
    struct c_type type = {.size = 4, .is_signed = true};
    const char *end = s + len;
    uint8_t roles[N_ROLES] = {0};
    unsigned stars = 0;
    size_t n;

    while (s < end && c_char_is_blank(*s))
        s++;
    len = (size_t)(end - s);

    for (const char *p = s; (n = c_type_token(&p, end)) > 0; p += n) {
        const struct word *word;

        if (*p == '*') {
            stars++;
            continue;
        }
        word = find_word(p, n);
        if (!word) {
            type.unknown = true;
            continue;
        }
        if (roles[word->role] < 99)
            roles[word->role]++;
        if (word->size) {
            type.size = word->size;
            type.is_signed = type.is_signed && word->is_signed;
            type.is_bool = word->size == 1 && *p == 'b';
        } else if (word->role == ROLE_SIGN && *p == 'u') {
            type.is_signed = false;
        } else if (word->role == ROLE_ALONE) { /* void */
            type.size = 0;
            type.is_signed = false;
        }
    }
    type.invalid = !type.unknown && (!is_valid(roles) || (type.size == 0 && stars == 0));

    if (stars > 0)
        return (struct c_type){.size = 8,
                               .is_pointer = true,
                               .is_string = stars == 1 && begins_as_string(s, len),
                               .unknown = type.unknown,
                               .invalid = type.invalid};
    if (type.unknown)
        return (struct c_type){.size = 8, .unknown = true};
    return type;
}

void c_type_normalise(const char *s, size_t len, char *buf)
{
    const char *end = s + len;
    const char *start = buf;
    size_t n;

    for (const char *p = s; (n = c_type_token(&p, end)) > 0; p += n) {
        if (buf > start && buf[-1] != '*')
            *buf++ = ' ';
        memcpy(buf, p, n);
        buf += n;
    }
    *buf = '\0';
}
