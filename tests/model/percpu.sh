#!/bin/sh
# Lets spin try every interleaving of the per-CPU buffers' protocol (percpu.pml), and see that it finds what is
# wrong in protocols that are broken on purpose. With STRATA_TEST_LONG in the environment also what takes
# minutes and some gigabytes of memory; else each search is ended after some seconds, should the machine
# be slow: what was searched until then holds.
set -eu

model=percpu.pml
. "$(dirname "$0")/spin.sh"

seconds=60 memory=1000
broken 'space taken without a look whether an interrupt was faster' \
    's/:: reserve == from -> reserve = end; assert/:: true -> reserve = end; assert/' -DMAIN=2 -DFIRST=1 -DSECOND=0
broken 'who was interrupted publishes what the interrupt has published' \
    's/:: c >= end -> break/:: c == end -> break/' -DMAIN=2 -DFIRST=2 -DSECOND=0
broken 'what interrupts put after a record is not published' \
    's/:: reserve != end -> publish()/:: reserve != end -> skip/' -DMAIN=2 -DFIRST=1 -DSECOND=0
broken 'an interrupt may publish between prod and committed' \
    's/prod = end } \/\* \[4\] \[10\].*/committed = end }/; s/committed = end } *\/\* \[3\] \*\//prod = end }/' \
    -DMAIN=2 -DFIRST=1 -DSECOND=0
broken 'who was interrupted notifies again' \
    's/:: crossed == seen -> crossed++; b = above/:: true -> crossed++; b = above/' \
    -DX=3 -DMARK=2 -DMAIN=3 -DFIRST=1 -DSECOND=0
broken 'the first loss is noted without a look whether an interrupt was faster' \
    's/:: first == l -> first = time/:: true -> first = time/' \
    -DX=3 -DMARK=2 -DMAIN=3 -DFIRST=1 -DSECOND=0
broken 'what an interrupt lost is not reported' \
    's/:: lost == w \&\& generation == g ->$/:: true ->/' -DX=3 -DMARK=2 -DMAIN=3 -DFIRST=1 -DSECOND=0
broken 'records written over that are not read' 's/l = k + X + 1$/l = k + X + 3/; s/end <= k + X)/end <= k + X + 2)/' \
    -DMAIN=4 -DFIRST=0 -DSECOND=0
broken 'the consumer sees prod before the record is whole' \
    's/atomic { put(from + 1, id) }/prod = end; atomic { put(from + 1, id) }/' -DMAIN=2 -DFIRST=0 -DSECOND=0

holds -DMAIN=4 -DFIRST=0 -DSECOND=0
optimise=1
holds -DX=3 -DMARK=2 -DMAIN=3 -DFIRST=1 -DSECOND=0
holds -DMAIN=1 -DFIRST=1 -DSECOND=1
holds -DMAIN=3 -DFIRST=1 -DSECOND=0
holds -DMAIN=1 -DFIRST=2 -DSECOND=0 -DX=7

[ "${STRATA_TEST_LONG:-}" ] || exit 0
seconds=3600 memory=12000 exact=1
holds -DMAIN=2 -DFIRST=1 -DSECOND=1
holds -DMAIN=2 -DFIRST=2 -DSECOND=0 -DX=7
holds -DMAIN=3 -DFIRST=2 -DSECOND=0
holds -DMAIN=5 -DFIRST=1 -DSECOND=0
holds -DMAIN=3 -DFIRST=1 -DSECOND=1
holds -DMAIN=2 -DFIRST=2 -DSECOND=1 -DX=7
