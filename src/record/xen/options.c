/* SPDX-License-Identifier: MIT */
#include "record/xen/options.h"

#include "cli/size.h"

#define MEMBER(m) offsetof(struct buffers_options, m)

const struct cli_option buffers_choice_options[] = {
    {OPTION_FLAG, 0, "xen", NULL, "record the Xen of this machine, as root in dom0", MEMBER(xen)},
    {OPTION_STRINGS, 0, "percpu", "NAME", "record per-CPU buffers of a program", MEMBER(names),
     .page =
         "NAME is a file; without a '/', an object of shm_open(3), in /dev/shm. If the file is "
         "missing, the recorder waits for it, 10 seconds or until --time. Several buffers share "
         "the other options."},
    {OPTION_END},
};

#define WITH_BUFFERS "--xen or --percpu"

const struct cli_option buffers_options[] = {
    {OPTION_STRINGS, 0, "trace-events", "FILE",
     "read declarations of additional events; the trace gets a copy", MEMBER(tables),
     .page = "They are of class guest, or of a modified Xen (strata-xen-events(5)). --event "
             "accepts their "
             "names.",
     .requires = WITH_BUFFERS},
    {OPTION_STRING, 0, "cpu", "LIST", "record these CPUs: 0,2-5,7-", MEMBER(cpus),
     .default_text = "all", .page = "A CPU mask that another program left in Xen is ignored.",
     .requires = WITH_BUFFERS},
    {OPTION_PARSED, 0, "keep-in-memory", "SIZE",
     "keep the last SIZE in memory and write it at the end", MEMBER(memory), NULL, size_parse,
     .requires = WITH_BUFFERS, .excludes = "--flight"},
    {OPTION_NUMBER, 0, "poll", "MS", "read the buffers every MS milliseconds", MEMBER(poll),
     .default_text = "100",
     .page =
         "They are read once a second while no records arrive, and at once if one is half full."},
    {OPTION_FLAG, 0, "include-old", NULL, "also record the events that the buffers already hold",
     MEMBER(backlog), .page = "With 'tbuf_size=' on Xen's command line, this is the boot.",
     .requires = WITH_BUFFERS},
    {OPTION_FLAG, 0, "libxenctrl", NULL, "talk to Xen through its libxenctrl", MEMBER(libxenctrl),
     .page = "This is the default if Xen's control interface is newer than the known versions. "
             "libxenctrl "
             "does not report the event mask, so at the end all events are selected.",
     .requires = "--xen"},
    {OPTION_FLAG, 0, "leave-enabled", NULL, "leave tracing on at the end, with these masks",
     MEMBER(leave_on), .requires = WITH_BUFFERS},
    {OPTION_RENAMED, 0, "flight-recorder", "--keep-in-memory"},
    {OPTION_END},
};
