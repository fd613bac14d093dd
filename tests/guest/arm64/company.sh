#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The engine holds four channels while the kernel's own dmatest works on the other four, and then comes and goes, with all
# eight, while memory migrates (H9). Whatever moves is checked by tools/throughput.c.
# shellcheck source=lab/guest/knobs.sh
. /lab/knobs.sh
# shellcheck source=tests/guest/arm64/tap.sh
. /lab/tap.sh
modules=/lib/modules/foliolift
knobs=/sys/module/dmatest/parameters
move() { throughput --page-size "$1" --pages "$2" --from 0 --to 1 --runs 1 --both-directions; }

# ---- beside dmatest
insmod $modules/foliolift_dma.ko channels=dma0chan0,dma1chan0,dma2chan0,dma3chan0
ok $? "the engine takes four channels by name"
[ "$(cat $LIFT/engines/dma/channels_in_service)" = 4 ]
ok $? "and no other"
insmod $modules/dmatest.ko
echo 400 >$knobs/iterations
echo 65536 >$knobs/test_buf_size
echo 10000 >$knobs/timeout
mark="company.sh begins, $$"
echo "<6>$mark" >/dev/kmsg
for channel in dma4chan0 dma5chan0 dma6chan0 dma7chan0; do echo $channel >$knobs/channel; done
echo 1 >$knobs/run
set_engine dma:4
before=$(engine_count dma pages)
{ move 4k 2048 && move 2m 8; } >/tmp/said 2>&1
ok $? "pages and THPs move right beside dmatest"
sed 's/^/# /' /tmp/said
[ "$(engine_count dma pages)" -gt "$before" ]
ok $? "the engine copied them"
cat $knobs/wait >/dev/null
dmesg | sed "1,/$mark/d" | grep dmatest: >/tmp/dmatest
[ "$(grep -c 'summary 400 tests, 0 failures' /tmp/dmatest)" = 4 ]
ok $? "dmatest had no failure on any of its channels"
rmmod dmatest
put $LIFT/engine cpu && rmmod foliolift_dma
ok $? "the engine can be removed"

# ---- coming and going
[ "$FL_LONG" ] && cycles=1000 || cycles=50
while [ ! -e /tmp/stop ]; do move 4k 512 && move 2m 2 || echo wrong; done >/tmp/moves 2>&1 &
i=0 odd=0 copied=0
while [ $i -lt "$cycles" ]; do
	i=$((i + 1))
	insmod $modules/foliolift_dma.ko && put $LIFT/engine dma || odd=$((odd + 1))
	usleep 20000
	copied=$((copied + $(engine_count dma pages)))
	put $LIFT/engine cpu && rmmod foliolift_dma || odd=$((odd + 1))
done
touch /tmp/stop
wait
rm /tmp/stop
[ $odd = 0 ]
ok $? "the engine comes and goes $cycles times"
[ $copied -gt 0 ]
ok $? "and copies meanwhile"
! grep -q -e wrong -e MISMATCH /tmp/moves && [ -s /tmp/moves ]
ok $? "every byte that moved is right"
lift_off
end
