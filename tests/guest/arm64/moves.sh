#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# move_pages(2) of 4096 small pages and of THPs, to and fro; tools/throughput.c checks each page's status, node and
# contents, and that huge pages stay huge. The engine that the mode names has copied them; dmaN is dma with N channels.
# shellcheck source=lab/guest/knobs.sh
. /lab/knobs.sh
# shellcheck source=tests/guest/arm64/tap.sh
. /lab/tap.sh
case $FL_MODE in
off) lift_off ;;
dma*) set_engine "dma:${FL_MODE#dma}" ;;
*) set_engine "$FL_MODE" ;;
esac 2>/tmp/said
ok $? "foliolift can be switched to $FL_MODE"
sed 's/^/# /' /tmp/said
for work in "4k 4096 4096" "2m 16 8192"; do
	# shellcheck disable=SC2086 # words they are
	set -- $work
	before=$(engine_count "${FL_MODE%%[0-9]*}" pages)
	throughput --page-size "$1" --pages "$2" --from 0 --to 1 --runs 1 --both-directions >/tmp/said 2>&1
	ok $? "$2 pages of $1 move to and fro"
	sed 's/^/# /' /tmp/said
	if [ "$FL_MODE" != off ]; then
		# twice to and fro: the first round is not counted by throughput, but moved
		copied=$(($(engine_count "${FL_MODE%%[0-9]*}" pages) - before))
		[ $copied = $((4 * $3)) ]
		ok $? "engine $FL_MODE copied every one of them"
		echo "# $copied of $((4 * $3)) pages"
	fi
done
case $FL_MODE in
dma*)
	[ "$(cat $LIFT/engines/dma/errors $LIFT/engines/dma/timeouts | paste -sd+)" = 0+0 ]
	ok $? "no channel failed or was late"
	[ "$(cat $LIFT/engines/dma/channels_in_service)" = 8 ]
	ok $? "all channels are in service"
	put $LIFT/engine cpu && rmmod foliolift_dma
	ok $? "the engine can be removed"
	;;
esac
lift_off
end
