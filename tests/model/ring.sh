#!/bin/sh
# Lets spin try every interleaving of the ring's protocol (ring.pml), and see that it finds what is wrong
# in protocols that are broken on purpose. With STRATA_TEST_LONG in the environment also what takes
# minutes and some gigabytes of memory; else each search is ended after some seconds, should the machine
# be slow: what was searched until then holds.
set -eu

model=ring.pml
. "$(dirname "$0")/spin.sh"

seconds=60 memory=1000
broken 'handlers do not see that a record is open' 's/busy = true;.*in begin.*/skip;/' \
    -DCRASH -DALONE -DMAIN=3 -DFIRST=1 -DSECOND=0
broken 'they see it only after the time is taken' \
    's/busy = true;.*in begin.*/atomic { clock++; time = clock }; busy = true;/; s/^        atomic { clock++; time = clock }$/skip;/' \
    -DCRASH -DALONE -DMAIN=3 -DFIRST=1 -DSECOND=0
broken 'the ring is free before the record is committed' \
    's/head = at + 1;/busy = false; head = at + 1;/' -DCRASH -DALONE -DMAIN=3 -DFIRST=1 -DSECOND=0
broken 'the time of what is committed is not' 's/line_time = time;.*in begin.*/skip;/' -DMAIN=2 -DFIRST=1 -DSECOND=0
broken 'the oldest packet is not given up before it is written over' \
    's/oldest = next + SUB - SIZE/skip/' -DOVERWRITE -DMAIN=5 -DFIRST=0 -DSECOND=0
broken 'a consumer of a flight recorder does not look again' \
    's/:: oldest > position -> goto nothing/:: false -> goto nothing/' -DOVERWRITE -DMAIN=5 -DFIRST=0 -DSECOND=0

# Five events, of which two fill a packet, go once around the two packets of the ring and into the first again.
holds -DCRASH -DALONE -DMAIN=4 -DFIRST=2 -DSECOND=1
holds -DOVERWRITE -DCRASH -DALONE -DMAIN=5 -DFIRST=2 -DSECOND=1
optimise=1
holds -DMAIN=4 -DFIRST=1 -DSECOND=0
holds -DMAIN=2 -DFIRST=1 -DSECOND=1
holds -DOVERWRITE -DMAIN=4 -DFIRST=1 -DSECOND=0

[ "${STRATA_TEST_LONG:-}" ] || exit 0
seconds=3600 memory=12000 exact=1
holds -DMAIN=6 -DFIRST=1 -DSECOND=0
holds -DOVERWRITE -DMAIN=6 -DFIRST=1 -DSECOND=0
holds -DMAIN=4 -DFIRST=2 -DSECOND=1
holds -DCRASH -DALONE -DMAIN=6 -DFIRST=2 -DSECOND=2
holds -DCRASH -DMAIN=5 -DFIRST=1 -DSECOND=1
holds -DOVERWRITE -DCRASH -DALONE -DMAIN=7 -DFIRST=2 -DSECOND=2
