/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "base/text.h"
#include "cli/output.h"
#include "cli/size.h"
#include "cmd/cmd.h"
#include "cmd/record/run.h"
#include "record/kernel/kernel_recorder.h"

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* Prints the results of a guest. Returns the exit status. */
static int sum_up(const struct record_run *run, const struct record_item *item)
{
    const struct guest *guest = kernel_recorder_guest(item->recorder);
    const struct guest_progress *progress = &guest->progress;
    const struct guest_boot *boot = &guest->boots[guest->n_boots - 1];
    FILE *out = record_run_summary_file(run);
    _cleanup_(text_done) struct text line = TEXT_IN_MEMORY;
    char size[16], missing[160], error[24];

    bytes_text(size, sizeof size, progress->bytes);
    text_printf(&line, "%s: %s of %" PRIu32 " CPU%s", guest->config.name, size, progress->n_cpus,
                plural(progress->n_cpus));
    /* An old agent counts nothing, and another one had no time to report it where the disk was full at once. */
    if (!guest->config.virtio_trace && (progress->events || progress->bytes == 0))
        text_printf(&line, ", %" PRIu64 " event%s", progress->events, plural(progress->events));
    if (run->dir)
        text_printf(&line, "%s written to %s/guest-%s", guest->config.virtio_trace ? "," : "",
                    run->dir, guest->config.name);
    output_line(out, "%.*s", (int)text_len(&line), line.start);
    if (boot->n_pairs)
        output_line(out, "  its clock %s is related to the host's by %u %s%s%s, the best within %s",
                    boot->clock, boot->n_pairs, boot->by_kvm ? "reading" : "exchange",
                    plural(boot->n_pairs), boot->by_kvm ? " from KVM" : "",
                    record_error_text(error, sizeof error, (int64_t)boot->best.error_ns));
    if (progress->waited_ns && progress->stopped_ns)
        output_line(
            out,
            "  its first page came %.1f ms after it was started, its last %.0f ms after it was "
            "stopped",
            (double)progress->waited_ns / 1e6, (double)progress->stopped_ns / 1e6);
    if (progress->unshown) {
        bytes_text(size, sizeof size, progress->unshown);
        cli_message("  %s were not shown: the output was read too slowly%s", size,
                    run->dir ? "; the directory has them" : "");
    }
    if (progress->lost)
        cli_message("  %" PRIu64 " events were lost in the guest: its buffers were full",
                    progress->lost);
    if (record_kernel_is_cut(guest))
        cli_message("  %" PRIu64 " events that came could not be written", progress->unwritten);
    if (guest_missing_pages(progress, missing, sizeof missing))
        cli_message("  %s", missing);
    if (guest->error < 0) {
        cli_message("strata: %s: %s", guest->config.name, guest->what);
        return EXIT_FAILURE;
    }
    return run->plan->strict && (guest_lost(guest) || progress->gaps || progress->full ||
                                 (progress->unshown && !run->dir))
               ? EXIT_LOSSES
               : EXIT_SUCCESS;
}

int record_guests_add(struct record_run *run)
{
    bool is_primary =
        run->subject.kind == RECORD_BESIDE && plan_recorders_n(run->plan->recorders) == 0;
    int status = EXIT_SUCCESS;

    for (unsigned i = 0; status == EXIT_SUCCESS && i < plan_guest_list_n(run->guests); i++) {
        struct kernel_recorder_settings settings = {
            .config = run->guests->configs[i],
            .is_primary = is_primary,
        };
        struct record_item item = {.sum_up = sum_up};

        settings.config.live = record_live_guest_stream(run, i);
        if (kernel_recorder_new(&settings, &item.recorder) < 0)
            return cli_no_memory();
        status = record_run_add(run, &item);
    }
    return status;
}
