/* SPDX-License-Identifier: MIT */
#include "watch/rule.h"

#include <inttypes.h>
#include <string.h>

#include "base/printable.h"
#include "tracedir/manifest.h"

void watch_put_time(struct text *text, int64_t ns, uint32_t error_ns)
{
    text_printf(text, "at %" PRId64 ".%06" PRId64, ns / 1000000000, ns % 1000000000 / 1000);
    if (error_ns >= 1000)
        text_printf(text, " +-%" PRIu32 "us", error_ns / 1000);
    else if (error_ns > 0)
        text_printf(text, " +-%" PRIu32 "ns", error_ns);
}

void watch_put_where(struct text *text, const struct live_window *window,
                     const struct origin *origin, const char *task, int32_t pid)
{
    const struct trace_input *input = &window->trace->inputs[trace_input_of(window->trace, origin)];

    if (task) {
        text_put_literal(text, " by ");
        text_put_safe(text, task, strlen(task));
        if (pid != PID_UNKNOWN)
            text_printf(text, " (%" PRId32 ")", pid);
    } else if (pid != PID_UNKNOWN) {
        text_printf(text, " by thread %" PRId32, pid);
    }
    text_put_literal(text, " [");
    text_put_str(text, input->recorded ? input->recorded->name : layer_name(origin->layer));
    text_put_char(text, ']');
}
