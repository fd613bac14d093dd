#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The machine is what an engine for DMA channels needs: two nodes, eight channels that see the CPU's caches, and each
# of them copies faultlessly, all at once, as the kernel's own dmatest finds.
want=8 iterations=200
module=/lib/modules/foliolift/dmatest.ko
knobs=/sys/module/dmatest/parameters
# shellcheck source=tests/guest/arm64/tap.sh
. /lab/tap.sh

[ "$(cat /sys/devices/system/node/has_memory)" = 0-1 ]
ok $? "there are two nodes with memory"
channels=$(cd /sys/class/dma && echo *)
# shellcheck disable=SC2086 # words they are
set -- $channels
[ $# = $want ]
ok $? "there are $want DMA channels"
coherent=0
for channel; do
	[ ! -e "/sys/class/dma/$channel/device/of_node/dma-coherent" ] || coherent=$((coherent + 1))
done
[ $coherent = $#  ]
ok $? "all of them see the CPU's caches"
[ $coherent = $# ] || echo "# $coherent do"

insmod $module
ok $? "dmatest can be loaded"
[ -d $knobs ] || end
echo $iterations >$knobs/iterations
echo 16384 >$knobs/test_buf_size
echo 10000 >$knobs/timeout
mark="channels.sh begins, $$"
echo "<6>$mark" >/dev/kmsg
for channel; do echo "$channel" >$knobs/channel; done
echo 1 >$knobs/run
cat $knobs/wait >/dev/null # until all are done
dmesg | sed "1,/$mark/d" | grep dmatest: >/tmp/dmatest
for channel; do
	grep -q "dmatest: $channel-copy0: summary $iterations tests, 0 failures" /tmp/dmatest
	ok $? "$channel: $iterations copies, no failure"
done
[ $failures = 0 ] || sed 's/^/# /' /tmp/dmatest
rmmod dmatest
ok $? "dmatest can be removed"
end
