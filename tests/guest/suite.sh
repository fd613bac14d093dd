#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# suite.sh MODE:NAME...: runs the programs of tests/guest one after the other; each one's TAP goes to the host, line by
# line, as MODE.NAME.t. That they ran is all that is promised here: the host's prove judges what they said.
n=0
for item; do
	mode=${item%%:*} name=${item#*:} n=$((n + 1))
	program=/lab/$name
	[ -x "$program" ] || program="sh /lab/$name.sh"
	read -r start _ </proc/uptime
	{
		FL_MODE=$mode $program 2>&1 </dev/null
		echo $? >/tmp/suite.status
	} | emit "$mode.$name.t"
	read -r end _ </proc/uptime
	read -r status </tmp/suite.status
	[ "$status" = 0 ] && said=ok || said=FAILED
	echo "$n of $# $mode $name: $said, $((${end%.*} - ${start%.*})) s"
done
