#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# dma-cost.sh: in the guest; lets dmatest copy on one channel, one copy after the other, each run a window of the profile
# plugin: 4 KB 100 and 1100 times, 2 MB 100 and 300 times. Nothing is compared, so nothing but the copies is counted.
set -e
knobs=/sys/module/dmatest/parameters
insmod /lib/modules/foliolift/dmatest.ko
echo 3600 >/proc/sys/vm/stat_interval
echo 1 >$knobs/noverify
echo 1 >$knobs/norandom
cat >/tmp/copies <<COPIES
echo \$1 >$knobs/test_buf_size
echo \$2 >$knobs/iterations
echo dma0chan0 >$knobs/channel
echo 1 >$knobs/run
cat $knobs/wait >/dev/null
COPIES
for size in 4096 2097152; do
	sh /tmp/copies $size 10
	sh /tmp/copies $size 10
done
for work in "4096 100" "4096 1100" "2097152 100" "2097152 300"; do
	# shellcheck disable=SC2086 # words they are
	window sh /tmp/copies $work
	dmesg | grep -q "summary ${work#* } tests, 0 failures"
done
