/* SPDX-License-Identifier: MIT */
/* A guest that reboots while it is recorded.
 *
 * Its agent's next HELLO has another boot ID. The session in the guest's child notices that (guest_session_setup.c), flushes
 * what it has of the boot before, and sends PACKET_BOOT. The recorder then ends the trace of that boot and begins another
 * source: a directory (guest_store.c), a list of problems and pairs of clocks (guest_boot.c), and the first file of pages. */
#include "record/agent/guest_boot.h"
#include "record/agent/guests_internal.h"

int guest_reboot(struct guests *guests, struct guest *guest, struct error *error)
{
    int r;

    guest_boot_end(guest);
    r = guest_store_next_boot(&guest->store, error);
    if (r < 0)
        return r;
    r = guest_boot_begin(guest);
    if (r >= 0)
        r = guest_make_first_file(guest, error);
    guests->written = false;
    guest_report(guests, guest, "guest rebooted; continuing in a new trace");
    return r;
}
