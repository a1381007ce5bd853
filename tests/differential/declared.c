/* SPDX-License-Identifier: MIT */
/* declared newest | MAJOR MINOR: takes trace-events files from standard input, each as a length (32
 * bits, little-endian) and so many bytes, and prints a line for each: "ok", or its first error. For
 * trace_events.py. */
#include <stdio.h>
#include <string.h>

#include "schema/trace_events/trace_events.h"

#define CASE_MAX (1U << 20)

static bool read_case(char *buf, size_t *ret_len)
{
    unsigned char head[4];
    size_t len;

    if (fread(head, 1, sizeof head, stdin) != sizeof head)
        return false;
    len = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
    if (len > CASE_MAX || fread(buf, 1, len, stdin) != len)
        return false;
    *ret_len = len;
    return true;
}

int main(int argc, char **argv)
{
    unsigned rules = DECLARATION_RULES_NEWEST & ~(unsigned)DECLARE_FORMATS_FIT;
    char *buf = malloc(CASE_MAX);
    size_t len;

    if (!buf || argc < 2)
        return 2;
    if (argc == 3)
        rules = declaration_rules_of_qemu((unsigned)atoi(argv[1]), (unsigned)atoi(argv[2]));
    while (read_case(buf, &len)) {
        struct declarations declarations = {.rules = rules};
        struct error error = {0};

        if (declarations_parse(&declarations, "f", buf, len, NULL, NULL, &error) < 0)
            printf("%s\n", error.what);
        else
            puts("ok");
        declarations_done(&declarations);
    }
    free(buf);
    return 0;
}
