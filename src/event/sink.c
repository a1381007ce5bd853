/* SPDX-License-Identifier: MIT */
#include "event/sink.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"

int sink_fail(struct sink *sink, const struct sink *next, int err)
{
    sink->error = next->error;
    return error_set(&sink->error, err, NULL, "%s",
                     err == -ENOMEM ? "out of memory" : strerror(-err));
}

static void tee_begin(struct sink *sink)
{
    const struct tee_sink *tee = container_of(sink, struct tee_sink, sink);

    for (unsigned i = 0; i < tee->n; i++)
        sink_begin(tee->sinks[i]);
}

static int tee_put(struct sink *sink, const struct item *items, unsigned n)
{
    const struct tee_sink *tee = container_of(sink, struct tee_sink, sink);

    for (unsigned i = 0; i < tee->n; i++) {
        int r = sink_put(tee->sinks[i], items, n);

        if (r < 0)
            return sink_fail(sink, tee->sinks[i], r);
    }
    return 0;
}

static int tee_begin_loss(struct sink *sink, const struct item *item)
{
    const struct tee_sink *tee = container_of(sink, struct tee_sink, sink);
    int r = 0;

    for (unsigned i = 0; i < tee->n && r >= 0; i++)
        r = sink_begin_loss(tee->sinks[i], item);
    return r;
}

static int tee_flush(struct sink *sink)
{
    const struct tee_sink *tee = container_of(sink, struct tee_sink, sink);

    for (unsigned i = 0; i < tee->n; i++) {
        int r = sink_flush(tee->sinks[i]);

        if (r < 0)
            return sink_fail(sink, tee->sinks[i], r);
    }
    return 0;
}

static int tee_finish(struct sink *sink)
{
    const struct tee_sink *tee = container_of(sink, struct tee_sink, sink);

    for (unsigned i = 0; i < tee->n; i++) {
        int r = sink_finish(tee->sinks[i]);

        if (r < 0)
            return sink_fail(sink, tee->sinks[i], r);
    }
    return 0;
}

void tee_sink_init(struct tee_sink *tee, struct sink *const *sinks, unsigned n)
{
    static const struct sink_ops ops = {.begin = tee_begin,
                                        .put = tee_put,
                                        .begin_loss = tee_begin_loss,
                                        .flush = tee_flush,
                                        .finish = tee_finish};

    *tee = (struct tee_sink){.sink = {.ops = &ops}, .sinks = sinks, .n = n};
}
