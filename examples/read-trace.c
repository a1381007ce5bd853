/* SPDX-License-Identifier: MIT */

/* Reads any capture with libstrata-read and prints each event with its fields:
 *
 *     cc -o read-trace read-trace.c $(pkg-config --cflags --libs strata-read)
 *     ./read-trace trace.dat
 */

#include <inttypes.h>
#include <stdio.h>
#include <strata/read.h>

static void print_time(const strata_reader *reader)
{
    int64_t time = strata_reader_time(reader);

    if (time == STRATA_TIME_UNKNOWN)
        printf("%20s ", "-");
    else
        printf("%20" PRId64 " ", time);
}

static void print_field(strata_reader *reader, unsigned i)
{
    strata_value value = strata_reader_field(reader, i);

    printf(" %s=", strata_reader_field_name(reader, i));
    switch (value.type) {
    case STRATA_ABSENT: printf("-"); break;
    case STRATA_UINT:
    case STRATA_BOOL: printf("%" PRIu64, value.u); break;
    case STRATA_INT: printf("%" PRId64, value.i); break;
    case STRATA_POINTER: printf("0x%" PRIx64, value.u); break;
    case STRATA_FLOAT: printf("%g", value.f); break;
    case STRATA_STRING: printf("%.*s", (int)value.size, value.data); break;
    case STRATA_BYTES:
        for (size_t k = 0; k < value.size; k++)
            printf("%02x", (unsigned char)value.data[k]);
        break;
    }
}

int main(int argc, char **argv)
{
    strata_reader *reader = strata_reader_new();
    int r = reader ? 0 : -1;

    for (int i = 1; i < argc && r >= 0; i++)
        r = strata_reader_add(reader, argv[i]);

    while (r >= 0 && (r = strata_reader_next(reader)) > 0) {
        print_time(reader);
        if (r == STRATA_EVENT) {
            printf("%s", strata_reader_name(reader));
            for (unsigned i = 0; i < strata_reader_n_fields(reader); i++)
                print_field(reader, i);
            printf("\n");
        } else if (strata_reader_lost(reader) == STRATA_LOST_UNKNOWN) {
            printf("events are missing\n");
        } else {
            printf("%" PRIu64 " events are missing\n", strata_reader_lost(reader));
        }
    }

    if (r < 0)
        fprintf(stderr, "read-trace: %s\n", reader ? strata_reader_error(reader) : "out of memory");
    strata_reader_free(reader);
    return r < 0;
}
