/* SPDX-License-Identifier: MIT */
/* Source: Linux Documentation/core-api/printk-formats.rst. */
#include "schema/kernel/net.h"

#include "base/number.h"

void kernel_put_mac(const uint8_t *p, char separator, bool reverse, struct text *text)
{
    char *out = text_room(text, 18 + NUMBER_MAX);

    for (unsigned i = 0; i < 6; i++) {
        if (i && separator)
            *out++ = separator;
        out = number_hex_byte(out, p[reverse ? 5 - i : i]);
    }
    text->next = out;
}

void kernel_put_ipv4(const uint8_t *p, bool padded, bool reverse, struct text *text)
{
    char *out = text_room(text, 4 * NUMBER_MAX);

    for (unsigned i = 0; i < 4; i++) {
        uint8_t byte = p[reverse ? 3 - i : i];

        if (i)
            *out++ = '.';
        out = padded ? number_dec_fixed(out, byte, 3) : number_dec(out, byte);
    }
    text->next = out;
}

void kernel_put_ipv6(const uint8_t *p, bool colons, struct text *text)
{
    char *out = text_room(text, 40 + NUMBER_MAX);

    for (unsigned i = 0; i < 16; i += 2) {
        if (i && colons)
            *out++ = ':';
        out = number_hex_fixed(out, (uint64_t)p[i] << 8 | p[i + 1], 4);
    }
    text->next = out;
}

/* Whether the last four bytes are an IPv4 address: ::ffff:0:0/96, or the interface part of ISATAP
 * (RFC 5214). */
static bool holds_ipv4(const uint8_t *p)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

    return memcmp(p, mapped, sizeof mapped) == 0 ||
           ((p[8] | 2) == 2 && p[9] == 0 && p[10] == 0x5e && p[11] == 0xfe);
}

void kernel_put_ipv6_short(const uint8_t *p, struct text *text)
{
    bool ipv4 = holds_ipv4(p);
    unsigned n_words = ipv4 ? 6 : 8;
    unsigned longest = 1, gap = n_words; /* where zeros are left out; a single one is not */
    bool colon = false;

    for (unsigned i = 0; i < n_words; i++) {
        unsigned n = 0;

        while (i + n < n_words && p[2 * (i + n)] == 0 && p[2 * (i + n) + 1] == 0)
            n++;
        if (n > longest) {
            longest = n;
            gap = i;
        }
    }
    for (unsigned i = 0; i < n_words; i++) {
        if (i == gap) {
            text_put_str(text, colon || i == 0 ? "::" : ":");
            colon = false;
            i += longest - 1;
            continue;
        }
        if (colon)
            text_put_char(text, ':');
        text_put_hex(text, (uint64_t)p[2 * i] << 8 | p[2 * i + 1]);
        colon = true;
    }
    if (ipv4) {
        if (colon)
            text_put_char(text, ':');
        kernel_put_ipv4(p + 12, false, false, text);
    }
}

void kernel_put_uuid(const uint8_t *p, bool guid, bool upper_case, struct text *text)
{
    static const uint8_t guid_order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    char *out = text_room(text, 40 + NUMBER_MAX);

    for (unsigned i = 0; i < 16; i++) {
        char *digits = out;

        out = number_hex_byte(out, p[guid ? guid_order[i] : i]);
        for (; upper_case && digits < out; digits++)
            if (*digits >= 'a')
                *digits = (char)(*digits - 'a' + 'A');
        if (i == 3 || i == 5 || i == 7 || i == 9)
            *out++ = '-';
    }
    text->next = out;
}
