/* SPDX-License-Identifier: MIT */
/* A guest that reboots while it is recorded, or whose state goes back to an earlier one (QEMU's loadvm).
 *
 * Reboot: its agent's next HELLO has another boot ID. The session in the guest's child notices that (guest_session_setup.c),
 * flushes what it has of the boot before, and sends PACKET_BOOT. Earlier state: the guest's clock, or the numbers of its
 * pages, step back (guest_session_rewind.c), and it sends PACKET_REWIND.
 *
 * The recorder then ends the trace of that boot and begins another source: a directory (guest_store.c), a list of problems
 * and pairs of clocks (guest_boot.c), and the first file of pages. */
#include "record/kernel/guest_boot.h"
#include "record/kernel/guest_clock.h"
#include "record/kernel/guest_internal.h"

#define REBOOTED "guest rebooted; continuing in a new trace"
#define REWOUND "guest was set back to an earlier state; continuing in a new trace"

/* Begins the next boot, of which the directory exists. */
static int begin(struct guest *guest, struct error *error)
{
    int r = guest_boot_begin(guest);

    if (r >= 0)
        r = guest_make_first_file(guest, error);
    guest->written = false;
    return r;
}

int guest_reboot(struct guest *guest, struct error *error)
{
    int r;

    guest_pause_end(guest);
    guest_boot_end(guest);
    r = guest_store_next_boot(&guest->store, error);
    if (r < 0)
        return r;
    r = begin(guest, error);
    guest_report(guest, REBOOTED);
    return r;
}

int guest_rewind(struct guest *guest, struct error *error)
{
    char what[400];
    int r;

    guest_boot_lost(guest, "the guest was set back to an earlier state, as by QEMU's loadvm: what "
                           "it had recorded and not sent yet is lost");
    guest_pause_end(guest);
    guest_boot_end(guest);
    r = guest_store_next_rewound(&guest->store, error);
    if (r < 0)
        return r;
    r = begin(guest, error);
    if (r >= 0) {
        guest_boot_copy_facts(guest);
        guest_clock_begin(guest, what, sizeof what);
        guest_boot_problem(guest,
                           "the guest was set back to an earlier state, as by QEMU's loadvm: this "
                           "trace begins with what it recorded after that");
    }
    guest_report(guest, REWOUND);
    guest->was_running = false;
    guest->is_rewound = true;
    return r;
}
