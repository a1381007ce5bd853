/* SPDX-License-Identifier: MIT */
#include "record/kernel/kernel_sink.h"

/* Calls OPERATION of SINK, and of those after it, until one of them fails. */
#define PUT(SINK, OPERATION, ...)                                                         \
    int r = 0;                                                                            \
    for (struct kernel_sink *sink_ = (SINK); sink_ && r >= 0; sink_ = sink_->next)        \
        r = sink_->ops->OPERATION ? sink_->ops->OPERATION(sink_, __VA_ARGS__) : -EBADMSG; \
    return r

int kernel_sink_file_begin(struct kernel_sink *sink, const char *path, size_t len,
                           struct error *error)
{
    PUT(sink, file_begin, path, len, error);
}

int kernel_sink_file_put(struct kernel_sink *sink, const void *p, size_t size, struct error *error)
{
    PUT(sink, file_put, p, size, error);
}

int kernel_sink_file_end(struct kernel_sink *sink, struct error *error)
{
    PUT(sink, file_end, error);
}

int kernel_sink_pages(struct kernel_sink *sink, uint32_t cpu, uint64_t offset, const void *p,
                      size_t size, struct error *error)
{
    PUT(sink, pages, cpu, offset, p, size, error);
}

int kernel_sink_fact(struct kernel_sink *sink, const char *name, const char *value,
                     struct error *error)
{
    PUT(sink, fact, name, value, error);
}

int kernel_sink_pair(struct kernel_sink *sink, const struct guest_pair *pair, struct error *error)
{
    PUT(sink, pair, pair, error);
}

int kernel_sink_boot(struct kernel_sink *sink, struct error *error)
{
    PUT(sink, boot, error);
}

int kernel_sink_rewind(struct kernel_sink *sink, struct error *error)
{
    PUT(sink, rewind, error);
}
