/* SPDX-License-Identifier: MIT */

/* Reads any trace with libstrata-read and prints each event with its fields:
 *
 *     cc -o read-trace read-trace.c $(pkg-config --cflags --libs strata-read)
 *     ./read-trace -e 'sched_*' trace.dat
 */

#include <inttypes.h>
#include <stdio.h>
#include <strata/read.h>
#include <string.h>

static void print_bytes(const struct strata_value *value)
{
    for (size_t i = 0; i < value->size; i++)
        printf("%02x", (unsigned char)value->data[i]);
}

static void print_field(struct strata_reader *reader, const char *name, unsigned i)
{
    struct strata_value value = strata_reader_field(reader, i);

    printf(" %s=", name);
    switch (value.type) {
    case STRATA_VALUE_ABSENT: printf("-"); break;
    case STRATA_VALUE_UINT:
    case STRATA_VALUE_BOOL: printf("%" PRIu64, value.u); break;
    case STRATA_VALUE_INT: printf("%" PRId64, value.i); break;
    case STRATA_VALUE_POINTER: printf("0x%" PRIx64, value.u); break;
    case STRATA_VALUE_FLOAT: printf("%g", value.f); break;
    case STRATA_VALUE_STRING: printf("%.*s", (int)value.size, value.data); break;
    case STRATA_VALUE_BYTES:
    case STRATA_VALUE_ARRAY: print_bytes(&value); break;
    }
    if (value.name)
        printf("(%s)", value.name);
}

static void print_item(struct strata_reader *reader)
{
    const struct strata_reader_item *item = strata_reader_item(reader);

    if (!item)
        return;
    if (item->time == STRATA_READER_TIME_UNKNOWN)
        printf("%20s ", "-");
    else
        printf("%20" PRId64 " ", item->time);
    if (item->kind == STRATA_READER_EVENT) {
        printf("%s", item->event_class->name);
        for (unsigned i = 0; i < item->event_class->n_fields; i++)
            print_field(reader, item->event_class->fields[i].name, i);
        printf("\n");
    } else if (item->lost == STRATA_READER_LOST_UNKNOWN) {
        printf("events are missing\n");
    } else {
        printf("%" PRIu64 " events are missing\n", item->lost);
    }
}

int main(int argc, char **argv)
{
    struct strata_reader *reader = strata_reader_new();
    int r = reader ? 0 : -1;

    for (int i = 1; i < argc && r >= 0; i++) {
        if (strcmp(argv[i], "-e") == 0 && i + 1 < argc)
            r = strata_reader_add_filter(reader, argv[++i]);
        else
            r = strata_reader_add(reader, argv[i]);
    }
    while (r >= 0 && (r = strata_reader_next(reader)) > 0)
        print_item(reader);

    if (r < 0)
        fprintf(stderr, "read-trace: %s\n", reader ? strata_reader_error(reader) : "out of memory");
    strata_reader_free(reader);
    return r < 0;
}
