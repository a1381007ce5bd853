/* SPDX-License-Identifier: MIT */
/* kernelshark FILE: what KernelShark's own library has of a trace.dat, all its buffers:
 * "BUFFER TIME CPU THREAD TASK SYSTEM/EVENT: TEXT". */
#include <libkshark-tepdata.h>
#include <libkshark.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int show(struct kshark_context *context, int id)
{
    struct kshark_data_stream *stream = kshark_get_data_stream(context, id);
    const char *name = stream->name && stream->name[0] > ' ' ? stream->name : "-";
    struct kshark_entry **entries;
    ssize_t n = kshark_load_entries(context, id, &entries);

    if (n < 0)
        return -1;
    for (ssize_t i = 0; i < n; i++) {
        char *task = kshark_get_task(entries[i]);
        char *event = kshark_get_event_name(entries[i]);
        char *text = kshark_get_info(entries[i]);

        printf("%s %" PRId64 " %d %d %s %s: %s\n", name, entries[i]->ts, entries[i]->cpu,
               entries[i]->pid, task, event, text);
        free(task);
        free(event);
        free(text);
        free(entries[i]);
    }
    free(entries);
    return 0;
}

int main(int argc, char **argv)
{
    struct kshark_context *context = NULL;
    int top, n_streams, *ids;

    if (argc != 2 || !kshark_instance(&context))
        return 1;
    top = kshark_open(context, argv[1]);
    if (top < 0 || kshark_tep_init_all_buffers(context, top) < 0)
        return 1;
    ids = kshark_all_streams(context);
    n_streams = context->n_streams;
    for (int i = 0; i < n_streams; i++)
        if (show(context, ids[i]) < 0)
            return 1;
    free(ids);
    kshark_close_all(context);
    return 0;
}
