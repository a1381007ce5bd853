/* SPDX-License-Identifier: MIT */
/* strata top --batch: prints screens as plain text. */

#include <stdlib.h>

#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/top/top.h"
#include "record/stop_signals.h"

#define OUT_SIZE ((size_t)16 * 1024)
#define WIDTH 80u
#define WIDTH_MAX 500u

static unsigned find_width(void)
{
    const char *columns = getenv("COLUMNS");
    unsigned long width = columns ? strtoul(columns, NULL, 10) : 0;

    return width >= WIDTH && width <= WIDTH_MAX ? (unsigned)width : WIDTH;
}

static int print(const struct top_view *view, struct top_rows *rows, struct text *out)
{
    int r = top_layout(view, rows);

    for (unsigned i = 0; r >= 0 && i < rows->n; i++) {
        if (rows->rows[i].len > 0)
            text_put(out, rows->text.start + rows->rows[i].begin, rows->rows[i].len);
        text_put_char(out, '\n');
    }
    return r;
}

/* 1 if there is something new; 0 after a signal; a negative errno with ERROR. */
static int wait_for_windows(struct top_driver *driver, struct stop_signals *signals,
                            struct error *error)
{
    int r;

    while ((r = top_driver_step(driver, error)) == 0)
        if (stop_signals_wait(signals, top_driver_fd(driver), top_driver_due(driver)))
            return 0;
    return r;
}

int top_batch(struct top_driver *driver, const struct top_options *options)
{
    struct top_view view = {.width = find_width(),
                            .is_ascii = output_locale() != 0,
                            .sort = (enum top_sort)options->sort};
    struct stop_signals signals = {.fd = -1};
    struct top_rows rows = {0};
    struct error error = {0};
    struct text out;
    int status = EXIT_SUCCESS, r;

    if (output_open(&out, OUTPUT_TEXT, OUT_SIZE) < 0)
        return cli_no_memory();
    r = stop_signals_open(true, &signals);
    if (r < 0) {
        text_done(&out);
        return cli_print_failure(&error, r);
    }
    for (uint64_t i = 0; status == EXIT_SUCCESS && r >= 0; i++) {
        int found = wait_for_windows(driver, &signals, &error);

        if (found < 0)
            status = cli_print_failure(&error, found);
        if (found <= 0)
            break;
        if (i > 0)
            text_put_char(&out, '\n');
        top_driver_view(driver, &view);
        if (print(&view, &rows, &out) < 0)
            status = cli_no_memory();
        r = text_flush(&out);
        if (driver->has_ended || i + 1 == options->iterations)
            break;
    }
    if (r < 0)
        status = cli_output_error(r);
    stop_signals_close(&signals);
    top_rows_done(&rows);
    text_done(&out);
    return status;
}
