/* SPDX-License-Identifier: MIT */
#include "record/kernel/guest_pause.h"

#include <string.h>

#include "base/clock_ns.h"
#include "base/macro.h"
#include "base/wide.h"
#include "record/kernel/guest_boot.h"
#include "record/kernel/guest_internal.h"

/* A rate that pairs give is used if they are so far apart. */
#define LINE_MIN (2 * NSEC_PER_SEC)
/* By how much clocks may differ from that rate, and from the one that the guest states (timeline/clock_map.h). */
#define LINE_PPM 20u
#define STATED_PPM 500u

/* The rate that the pairs since the clock last stood still give, with their errors. False: they are too few. */
static bool measure(const struct guest_pauses *pauses, const struct guest_boot *boot,
                    struct guest_rate *ret)
{
    const struct guest_pair *a = &pauses->line, *b = &boot->last;
    uint64_t ns, wrong;

    if (!pauses->has_line || boot->n_pairs == 0 || b->guest <= a->guest || b->host_ns <= a->host_ns)
        return false;
    ns = b->host_ns - a->host_ns;
    wrong = mul_div_u64(a->error_ns + b->error_ns, 1000000, ns);
    *ret = (struct guest_rate){ns, b->guest - a->guest, LINE_PPM + MIN(wrong, UINT64_C(1000000))};
    return true;
}

static uint64_t ns_of(const struct guest_rate *rate, uint64_t ticks)
{
    return mul_div_u64(ticks, rate->ns, rate->ticks);
}

/* Whether both may be right. */
static bool agree(const struct guest_rate *a, const struct guest_rate *b)
{
    uint64_t by_b = ns_of(b, a->ticks);
    uint64_t off = by_b > a->ns ? by_b - a->ns : a->ns - by_b;

    return off <= mul_div_u64(MAX(a->ns, by_b), a->ppm + b->ppm, 1000000) + 1;
}

/* The rate of BOOT's clock. The kernel of a guest may state any: on a busy machine it measures its counter wrongly, by any factor.
 * False: it is not known. */
static bool find_rate(const struct guest_pauses *pauses, const struct guest_boot *boot,
                      struct guest_rate *ret)
{
    const struct guest_rate stated = {NSEC_PER_SEC, boot->hz, STATED_PPM};

    if (measure(pauses, boot, ret) && ret->ns > LINE_MIN)
        return true;
    *ret = pauses->rate.ticks ? pauses->rate : stated;
    if (boot->hz != 0 && pauses->rate.ticks != 0 && stated.ppm < ret->ppm && agree(&stated, ret))
        *ret = stated;
    return ret->ticks != 0;
}

/* Keeps the rate that the pairs up to the last one give, for a time in which none do. */
static void keep_rate(struct guest_pauses *pauses, const struct guest_boot *boot)
{
    struct guest_rate rate;

    if (measure(pauses, boot, &rate) && (pauses->rate.ticks == 0 || rate.ppm <= pauses->rate.ppm))
        pauses->rate = rate;
}

static uint64_t ticks_of(const struct guest_rate *rate, uint64_t ns)
{
    return mul_div_u64(ns, rate->ticks, rate->ns);
}

static uint64_t drift(const struct guest_rate *rate, uint64_t ns)
{
    return mul_div_u64(ns, rate->ppm, 1000000) + 1;
}

/* A pair that follows from pauses. */
struct pause_end {
    struct guest_pair pair;
    bool is_after_pause;
};

/* What the clock showed at HOST_NS, if it ran at RATE between then and PAIR. */
static struct guest_pair on_line(const struct guest_rate *rate, const struct guest_pair *pair,
                                 uint64_t host_ns)
{
    bool is_after = host_ns > pair->host_ns;
    uint64_t ns = is_after ? host_ns - pair->host_ns : pair->host_ns - host_ns;
    uint64_t ticks = ticks_of(rate, ns);

    return (struct guest_pair){.host_ns = host_ns,
                               .guest = is_after ? pair->guest + ticks
                                                 : pair->guest - MIN(ticks, pair->guest),
                               .error_ns = pair->error_ns + drift(rate, ns)};
}

/* Makes the pairs at the ends of the first N_PAUSES of all pauses, which are between LAST and PAIR, where they are clear of
 * these. Returns how many; *RET_IS_AFTER_PAUSE: the clock stood still between the last one, or LAST, and PAIR.
 *
 * Before the first pause the clock ran as it did up to LAST, and after the last one as it does from PAIR on, which is as exact
 * as these are. What it showed between pauses follows from how long it stood still in each, which is less exact. */
static unsigned make_ends(const struct guest_pauses *pauses, unsigned n_pauses,
                          const struct guest_rate *rate, const struct guest_pair *last,
                          const struct guest_pair *pair,
                          struct pause_end ret[static 2 * GUEST_PAUSES_MAX],
                          bool *ret_is_after_pause)
{
    uint64_t between = pair->host_ns - last->host_ns;
    uint64_t ran = ns_of(rate, pair->guest - last->guest);
    uint64_t error = last->error_ns + pair->error_ns + drift(rate, ran);
    uint64_t stood = between - MIN(ran, between);
    uint64_t paused = 0, host = last->host_ns, guest = last->guest, late, width;
    struct guest_pair before = *last;   /* the next one has to come after it */
    bool is_after = false;              /* it is after a pause */
    bool is_crossed = pauses->are_more; /* and a pause follows it */
    unsigned n = 0;

    *ret_is_after_pause = true;
    for (unsigned i = 0; i < n_pauses; i++) {
        const struct guest_pause *pause = &pauses->items[i];

        if (pause->stopped <= host || pause->resumed == 0 || pause->resumed >= pair->host_ns)
            return 0;
        paused += pause->resumed - pause->stopped;
        host = pause->resumed;
    }
    /* A clock that went on meanwhile, as a processor's counter does under KVM. */
    if (stood + error < paused) {
        *ret_is_after_pause = stood > error || ran > between + error; /* or the rate is wrong */
        return 0;
    }
    late = stood - MIN(paused, stood);
    error += late; /* by no more do STOP and RESUME come late and early */
    width = ticks_of(rate, error);
    host = last->host_ns;
    for (unsigned i = 0; i < n_pauses; i++) {
        const struct guest_pause *pause = &pauses->items[i];
        uint64_t share = late / (2 * n_pauses);
        uint64_t stopped = MAX(pause->stopped - share, host);
        struct guest_pair end;

        guest += ticks_of(rate, stopped - host);
        host = pause->resumed + share;
        /* The clock showed one of these ticks when it stood still. Where they reach back to the pause before, the time
         * between both is not known either. */
        if (i == 0 && !pauses->are_more)
            end = on_line(rate, last, MAX(last->host_ns + error, pause->stopped) - error);
        else
            end = (struct guest_pair){.host_ns = stopped - MIN(error, stopped),
                                      .guest = guest - MIN(width, guest),
                                      .error_ns = error};
        if (end.host_ns > before.host_ns && end.guest > before.guest) {
            ret[n++] = (struct pause_end){end, is_crossed};
            before = end;
        } else if (is_after) {
            before = --n > 0 ? ret[n - 1].pair : *last;
        }
        if (i + 1 == n_pauses)
            end = on_line(rate, pair, MIN(pause->resumed + error, pair->host_ns));
        else
            end = (struct guest_pair){
                .host_ns = host + error, .guest = guest + width + 1, .error_ns = error};
        is_after = end.host_ns < pair->host_ns && end.guest < pair->guest &&
                   end.host_ns > before.host_ns && end.guest > before.guest;
        is_crossed = !is_after;
        if (is_after) {
            ret[n++] = (struct pause_end){end, true};
            before = end;
        }
    }
    *ret_is_after_pause = is_crossed;
    return n;
}

/* Puts what pauses before PAIR make of the time before it. *RET_IS_AFTER_PAUSE: one is right before PAIR. */
static int put_ends(struct guest *guest, const struct guest_pair *pair, bool *ret_is_after_pause)
{
    const struct guest_boot *boot = guest_boot(guest);
    struct guest_pauses *pauses = &guest->pauses;
    struct pause_end ends[2 * GUEST_PAUSES_MAX];
    unsigned n_pauses = 0, n = 0;
    struct guest_rate rate;
    int r = 0;

    /* A pair comes late: pauses may have been reported that are after it. */
    while (n_pauses < pauses->n && pauses->items[n_pauses].stopped < pair->host_ns)
        n_pauses++;
    *ret_is_after_pause = n_pauses > 0 || pauses->are_more;
    if (n_pauses > 0 && find_rate(pauses, boot, &rate))
        n = make_ends(pauses, n_pauses, &rate, &boot->last, pair, ends, ret_is_after_pause);
    for (unsigned i = 0; i < n && r >= 0; i++)
        r = guest_boot_pair(guest, &ends[i].pair, ends[i].is_after_pause);
    pauses->has_line = false;
    return r;
}

static uint64_t hz_of(const struct guest_rate *rate)
{
    return rate->ticks ? mul_div_u64(rate->ticks, NSEC_PER_SEC, rate->ns) : 0;
}

/* The first pairs of a trace that begins as the guest was set back. */
static int put_seam(struct guest *guest, const struct guest_pair *pair)
{
    const struct guest_boot *before = guest_boot(guest) - 1;
    const struct guest_pauses *pauses = &guest->pauses;
    uint64_t resumed = pauses->n > 0 ? pauses->items[pauses->n - 1].resumed : 0;
    struct guest_pair seam = *pair;
    struct guest_rate rate;
    int r = 0;

    /* The pairs that follow are few, and the first stands for a time in which the clock did not run evenly. */
    if (guest_boot(guest)->hz == 0)
        guest_boot(guest)->hz = hz_of(&pauses->rate);
    if (resumed > before->last.host_ns && resumed < pair->host_ns &&
        find_rate(pauses, before, &rate))
        seam = on_line(&rate, pair, resumed);
    if (before->n_pairs > 0 && before->first.guest < seam.guest)
        r = guest_boot_pair(guest, &before->first, false);
    return r < 0 || seam.host_ns == pair->host_ns ? r : guest_boot_pair(guest, &seam, true);
}

int guest_pause_pair(struct guest *guest, const struct guest_pair *pair)
{
    struct guest_boot *boot = guest_boot(guest);
    struct guest_pauses *pauses = &guest->pauses;
    bool is_after_pause = false;
    int r = 0;

    if (boot->n_pairs > 0 &&
        (pair->guest <= boot->last.guest || pair->host_ns <= boot->last.host_ns))
        return 0; /* left out: what pauses say is for the next one */
    if (boot->is_rewound && boot->n_pairs == 0) {
        r = put_seam(guest, pair);
        pauses->has_line = false;
    } else if (boot->n_pairs > 0 && pauses->n > 0) {
        r = put_ends(guest, pair, &is_after_pause);
    }
    if (r >= 0)
        r = guest_boot_pair(guest, pair, is_after_pause);
    /* One that has not ended, or not before PAIR, is of the next pairs. */
    pauses->are_more = false;
    while (pauses->n > 0 && pauses->items[0].resumed != 0 &&
           pauses->items[0].resumed < pair->host_ns)
        memmove(pauses->items, pauses->items + 1, --pauses->n * sizeof *pauses->items);
    if (!pauses->has_line)
        pauses->line = *pair;
    pauses->has_line = true;
    keep_rate(pauses, boot);
    return r;
}

void guest_pause_end(struct guest *guest)
{
    const struct guest_boot *boot = guest_boot(guest);
    struct guest_rate rate;

    for (unsigned i = 0; i < guest->pauses.n && find_rate(&guest->pauses, boot, &rate); i++) {
        const struct guest_pause *pause = &guest->pauses.items[i];
        const struct guest_pair *last = &boot->last;
        struct guest_pair end;

        if (boot->n_pairs == 0 || pause->stopped <= last->host_ns || pause->resumed == 0)
            continue;
        end = (struct guest_pair){
            .host_ns = pause->resumed,
            .guest = last->guest + ticks_of(&rate, pause->stopped - last->host_ns) + 1,
            /* By how much STOP came too late, and RESUME too early, does not show. */
            .error_ns = last->error_ns + drift(&rate, pause->stopped - last->host_ns) +
                        (pause->resumed - pause->stopped) / 2};
        (void)guest_boot_pair(guest, &end, true);
    }
}

/* ---- What the monitor reports ---- */

static void send_child(struct guest *guest, enum guest_packet_kind kind)
{
    const struct guest_packet_head head = {.kind = kind};

    if (!guest->ended && !guest->config.virtio_trace &&
        guest_packet_send_to_child(guest->channel, &head, NULL, 0) < 0)
        guest_read_last_messages(guest);
}

void guest_agent_closed(struct guest *guest)
{
    if (guest->was_running && !guest->closed_at)
        guest->closed_at = clock_ns(CLOCK_MONOTONIC);
    send_child(guest, PACKET_AGENT_CLOSED);
}

void guest_machine_stopped(struct guest *guest, uint64_t ns)
{
    struct guest_pauses *pauses = &guest->pauses;

    /* Of more pauses without a pair between them, the first is not worth its memory. */
    if (pauses->n == GUEST_PAUSES_MAX) {
        memmove(pauses->items, pauses->items + 1, --pauses->n * sizeof *pauses->items);
        pauses->are_more = true;
    }
    pauses->items[pauses->n++] = (struct guest_pause){.stopped = ns};
    send_child(guest, PACKET_PAUSE);
}

void guest_machine_resumed(struct guest *guest, uint64_t ns)
{
    struct guest_pauses *pauses = &guest->pauses;
    struct guest_pause *pause = pauses->n > 0 ? &pauses->items[pauses->n - 1] : NULL;

    /* The machine stood still at both times, whichever is earlier: the clock that they are of may have been set. */
    if (pause && pause->resumed == 0) {
        pause->resumed = MAX(ns, pause->stopped);
        pause->stopped = MIN(ns, pause->stopped);
    }
    send_child(guest, PACKET_CONTINUE);
}

bool guest_is_paused(const struct guest *guest)
{
    const struct guest_pauses *pauses = &guest->pauses;

    return !guest->ended && pauses->n > 0 && pauses->items[pauses->n - 1].resumed == 0;
}
