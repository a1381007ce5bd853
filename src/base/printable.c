/* SPDX-License-Identifier: MIT */
#include "base/printable.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/bytes.h"
#include "base/number.h"
#include "base/utf8.h"

#define EVERY_BYTE(b) (UINT64_C(0x0101010101010101) * (b))
#define HIGH_BITS EVERY_BYTE(0x80)

bool printable_is_safe(uint32_t character)
{
    static const struct {
        uint32_t first, last;
    } unsafe[] = {
        {0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},       {0x61c, 0x61c},
        {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},   {0xd800, 0xf8ff},
        {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xe0000, 0xfffff}, {0x100000, UINT32_MAX},
    };

    for (size_t i = 0; i < ARRAY_SIZE(unsafe); i++)
        if (character >= unsafe[i].first && character <= unsafe[i].last)
            return false;
    return true;
}

/* True if any of the eight bytes is a control character, DEL, or not ASCII. (A byte under 0x20 borrows
 * into its high bit; 0x7f carries into it. Borrows and carries may also flag a harmless neighbour,
 * which costs only time.) */
static inline bool needs_a_look(uint64_t v)
{
    return (((v - EVERY_BYTE(0x20)) | (v + EVERY_BYTE(1)) | v) & HIGH_BITS) != 0;
}

static inline bool is_plain(uint8_t c)
{
    return c >= 0x20 && c < 0x7f;
}

#ifdef __SSE2__
#define UNIT 32

/* The bytes of a unit that are neither plain nor FEED. One more than a byte that is not plain (up to 0x1f, or from 0x7f on)
 * is less than 0x21, as a signed number. */
static inline __m128i bad_bytes(__m128i unit, __m128i feed)
{
    __m128i bad = _mm_cmplt_epi8(_mm_add_epi8(unit, _mm_set1_epi8(1)), _mm_set1_epi8(0x21));

    return _mm_andnot_si128(_mm_cmpeq_epi8(unit, feed), bad);
}

static inline unsigned mask_of(__m128i low, __m128i high)
{
    return (unsigned)_mm_movemask_epi8(low) | (unsigned)_mm_movemask_epi8(high) << 16;
}

/* A bit for each of the UNIT bytes at S that equals C. */
static inline unsigned equal_mask(const char *s, char c)
{
    const __m128i *units = (const __m128i *)(const void *)s;
    const __m128i like = _mm_set1_epi8(c);

    return mask_of(_mm_cmpeq_epi8(_mm_loadu_si128(units), like),
                   _mm_cmpeq_epi8(_mm_loadu_si128(units + 1), like));
}

/* The bits of tabs and of the CR of a line end, where the byte after the UNIT is there too if LONGER. */
static inline unsigned passing_mask(const char *s, bool longer)
{
    unsigned feeds = equal_mask(s, '\n');
    unsigned ends = equal_mask(s, '\r');
    unsigned next = feeds >> 1 | (unsigned)(longer && s[UNIT] == '\n') << (UNIT - 1);

    return (ends & next) | equal_mask(s, '\t');
}
#endif

/* How many bytes at the start of S are plain ASCII or, if LINES, line feeds and tabs; some line ends of two bytes, too. */
static size_t plain_span(const char *s, size_t len, bool lines)
{
    size_t i = 0;

#ifdef __SSE2__
    const __m128i feed = _mm_set1_epi8(lines ? '\n' : ' ');

    for (; len - i >= UNIT; i += UNIT) {
        const __m128i *units = (const __m128i *)(const void *)(s + i);
        __m128i low = bad_bytes(_mm_loadu_si128(units), feed);
        __m128i high = bad_bytes(_mm_loadu_si128(units + 1), feed);
        unsigned mask;

        if (likely(!_mm_movemask_epi8(_mm_or_si128(low, high))))
            continue;
        mask = mask_of(low, high);
        if (lines)
            mask &= ~passing_mask(s + i, len - i > UNIT);
        if (mask)
            return i + (unsigned)__builtin_ctz(mask);
    }
#endif
    while (i < len && (is_plain((uint8_t)s[i]) || (lines && (s[i] == '\n' || s[i] == '\t'))))
        i++;
    return i;
}

/* Longest DIGITS of ESC [ DIGITS m. */
#define COLOR_MAX 6

/* Length of the colour sequence at S; 0: none; SIZE_MAX: it may become one. */
static size_t color_len(const char *s, size_t left)
{
    for (size_t i = 1; i < COLOR_MAX; i++) {
        if (i == left)
            return SIZE_MAX;
        if (i == 1 ? s[i] != '[' : !(s[i] >= '0' && s[i] <= '9'))
            return i > 2 && s[i] == 'm' ? i + 1 : 0;
    }
    return 0;
}

/* True if S, LEFT bytes, is an incomplete UTF-8 character. */
static bool is_cut_off(const char *s, size_t left)
{
    uint8_t c = (uint8_t)*s;
    size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;

    if (c < 0xc2 || c > 0xf4 || left >= n)
        return false;
    for (size_t i = 1; i < left; i++)
        if (((uint8_t)s[i] & 0xc0) != 0x80)
            return false;
    return true;
}

static size_t escape(uint32_t character, const char *s, size_t n, char *buf)
{
    int len;

    if (n <= 1)
        len = snprintf(buf, PRINTABLE_STEP_MAX, "\\x%02x", (unsigned)(uint8_t)*s);
    else
        len = snprintf(buf, PRINTABLE_STEP_MAX, character < 0x10000 ? "\\u%04x" : "\\U%08x",
                       (unsigned)character);
    return (size_t)len;
}

/* What the program itself prints that is not ASCII, and what stands for it: a sparkline keeps its width. NULL: nothing. */
static const char *ascii_of(uint32_t character)
{
    static const struct {
        uint32_t character;
        const char *ascii;
    } own[] = {{0xb1, "+-"},  {0xb7, "?"},   {0x2026, "..."}, {0x2581, "."},
               {0x2582, ":"}, {0x2583, "-"}, {0x2584, "="},   {0x2585, "+"},
               {0x2586, "*"}, {0x2587, "%"}, {0x2588, "#"}};

    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if (own[i].character == character)
            return own[i].ascii;
    return NULL;
}

size_t printable_step(const char *s, size_t left, unsigned flags, bool last, char *buf,
                      size_t *ret_len)
{
    uint32_t character = 0;
    size_t n = utf8_decode(s, left, &character);
    size_t as_is = 0;
    const char *ascii;

    if (n == 0 && !last && is_cut_off(s, left))
        return 0;
    if (n > 0 && printable_is_safe(character) && (character < 0x80 || !(flags & PRINTABLE_ASCII))) {
        as_is = n;
    } else if (flags & PRINTABLE_LINES && (*s == '\n' || *s == '\t')) {
        as_is = 1;
    } else if (flags & PRINTABLE_LINES && *s == '\r') {
        if (left == 1 && !last)
            return 0;
        as_is = left > 1 && s[1] == '\n' ? 2 : 0;
    } else if (flags & PRINTABLE_COLOR && *s == '\033') {
        as_is = color_len(s, left);
        if (as_is == SIZE_MAX && !last)
            return 0;
        as_is = as_is == SIZE_MAX ? 0 : as_is;
    }
    if (as_is > 0) {
        memcpy(buf, s, as_is);
        *ret_len = as_is;
        return as_is;
    }
    ascii = flags & PRINTABLE_ASCII && n > 0 ? ascii_of(character) : NULL;
    if (ascii) {
        *ret_len = strlen(ascii);
        memcpy(buf, ascii, *ret_len);
    } else {
        *ret_len = escape(character, s, n, buf);
    }
    return n > 0 ? n : 1;
}

size_t printable_span(const char *s, size_t len, unsigned flags)
{
    size_t i = plain_span(s, len, flags & PRINTABLE_LINES);

    while (i < len) {
        uint32_t character = 0;
        size_t n = 0;

        if (flags & PRINTABLE_LINES && s[i] == '\r' && len - i > 1 && s[i + 1] == '\n')
            n = 2;
        else if ((uint8_t)s[i] >= 0x80 && !(flags & PRINTABLE_ASCII))
            n = utf8_decode(s + i, len - i, &character);
        if (n == 0 || ((uint8_t)s[i] >= 0x80 && !printable_is_safe(character)))
            break;
        i += n;
        i += plain_span(s + i, len - i, flags & PRINTABLE_LINES);
    }
    return i;
}

size_t printable_put(struct text *text, const char *s, size_t len, unsigned flags, bool last)
{
    size_t at = 0;

    for (;;) {
        size_t n = printable_span(s + at, len - at, flags), put;

        text_put(text, s + at, n);
        at += n;
        if (at == len)
            return at;
        n = printable_step(s + at, len - at, flags, last, text_room(text, PRINTABLE_STEP_MAX),
                           &put);
        if (n == 0)
            return at;
        text->next += put;
        at += n;
    }
}

size_t printable_characters(const char *s, size_t len, unsigned flags)
{
    size_t at = 0, characters = 0;

    while (at < len) {
        char buf[PRINTABLE_STEP_MAX];
        size_t put;

        at += printable_step(s + at, len - at, flags, true, buf, &put);
        for (size_t i = 0; i < put; i++)
            characters += ((uint8_t)buf[i] & 0xc0) != 0x80;
    }
    return characters;
}

/* Copies LEN bytes, 1 to 7, if all are plain. */
static inline bool copy_short(char *p, const char *s, size_t len)
{
    uint32_t first, last;

    if (len < 4) {
        uint64_t v = EVERY_BYTE(' ') << 24;

        v |= (uint64_t)(uint8_t)s[0] | (uint64_t)(uint8_t)s[len / 2] << 8 |
             (uint64_t)(uint8_t)s[len - 1] << 16;
        p[0] = s[0];
        p[len / 2] = s[len / 2];
        p[len - 1] = s[len - 1];
        return !needs_a_look(v);
    }
    first = load_u32(s);
    last = load_u32(s + len - 4);
    memcpy(p, &first, sizeof first);
    memcpy(p + len - 4, &last, sizeof last);
    return !needs_a_look(first | (uint64_t)last << 32);
}

void text_put_safe(struct text *text, const char *s, size_t len)
{
    size_t done = 0;
    char *p;

    if (unlikely(len > TEXT_ROOM_MAX / 2)) {
        printable_put(text, s, len, 0, true);
        return;
    }
    if (unlikely(len == 0)) /* S and the room may be NULL */
        return;
    p = text_room(text, len);
    while (len - done >= 8) {
        uint64_t v = load_u64(s + done);

        if (unlikely(needs_a_look(v)))
            break;
        store_u64(p + done, v);
        done += 8;
    }
    if (len - done - 1 < 7 && copy_short(p + done, s + done, len - done))
        done = len;
    text->next = p + done;
    if (unlikely(done < len))
        printable_put(text, s + done, len - done, 0, true);
}

void text_put_safe_str(struct text *text, const char *s)
{
    text_put_safe(text, s, strlen(s));
}

void text_printf_safe(struct text *text, const char *format, ...)
{
    char buf[PATH_MAX + 1024];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(buf, sizeof buf, format, args);
    va_end(args);
    text_put_safe(text, buf, MIN((size_t)MAX(n, 0), sizeof buf - 1));
}
