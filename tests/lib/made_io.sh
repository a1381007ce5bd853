# Made of `vm`, a recording whose requests to disks are all joined:
#   unjoined   QEMU's log lacks each fourth request after the firmware's four;
#   held       QEMU holds the first request of the firmware back for 42 ms;
#   asleep     and one of the guest for 57 ms, in which the host's events are there, and QEMU's thread sleeps.
for made in unjoined held asleep; do
    cp -r vm $made
done
awk '/:virtio_blk_handle_read/ && ++n > 4 && n % 4 == 0 { next } { print }' vm/vmm/trace.log >unjoined/vmm/trace.log
awk '/:virtio_blk_handle_read/ && !n++ { next }
     { print }
     /@1795391587.599986:virtio_blk_data_plane_start/ {
         print "5559@1795391587.599990:virtio_blk_handle_read vdev 0x556c8f3788f0 req 0x556c8e668ec0 sector 0 nsectors 1"
     }' vm/vmm/trace.log >held/vmm/trace.log
awk '/@1795391610.129938:virtio_blk_handle_read/ { sub("610.129938", "610.050000") } { print }' vm/vmm/trace.log |
    sort -s -t@ -k2,2 >asleep/vmm/trace.log
