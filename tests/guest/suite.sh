#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# suite.sh MODE:NAME...: runs the programs of tests/guest one after the other; each one's TAP goes to the host, line by
# line, as MODE.NAME.t. That they ran is all that is promised here: the host's prove judges what they said.
for item; do
	mode=${item%%:*} name=${item#*:}
	program=/lab/$name
	[ -x "$program" ] || program="sh /lab/$name.sh"
	echo "$mode $name"
	FL_MODE=$mode $program 2>&1 </dev/null | emit "$mode.$name.t"
done
