# Strata records what strata exits needs, while guests with hardware virtualisation run.
. /common.sh
start_record exits --for exits --buffer-size 512K
run_guest pvh
run_guest hvm
kill -TERM $recorder
finished exits
