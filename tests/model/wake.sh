#!/bin/sh
# Lets spin try every interleaving of how a process wakes its recorder (wake.pml), and see that it finds what is wrong in
# protocols that are broken on purpose.
set -eu

model=wake.pml
. "$(dirname "$0")/spin.sh"

seconds=60 memory=1000
broken 'the process looks whether the recorder sleeps before others see what it closed' \
    's/(stored_closed == 0); \/\* fence of the process/\/* fence of the process/'
broken 'the recorder looks at the rings before others see that it sleeps' \
    's/!stored_asleep; \/\* fence/\/* fence/'
broken 'the recorder drains before it says that it sleeps' \
    's/skip; \/\* before/drained = closed; \/* before/; s/drained = closed; \/\* after/\/* after/'
broken 'the recorder sleeps though it was woken meanwhile' 's/is_sleeping = asleep/is_sleeping = true/'
holds
holds -DCLOSES=6
