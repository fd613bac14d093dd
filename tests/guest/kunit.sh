#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the kernel's own suites (KUnit, run while it booted) found, as plain TAP.
dir=/sys/kernel/debug/kunit
for suite in foliolift-batch foliolift-engine; do
	if [ ! -f "$dir/$suite/results" ]; then
		echo "not ok 1 - the kernel ran the suite $suite"
		echo "1..1"
		exit 1
	fi
done
for results in "$dir"/foliolift-*/results; do
	suite=${results%/results}
	echo "suite ${suite##*/}"
	cat "$results"
done | awk '
	function settle() {
		if (suite != "" && want != seen) {
			printf "not ok %d - %s: ran %d of %d cases\n", ++n, suite, seen, want
			failed = 1
		}
	}
	$1 == "suite" { settle(); suite = $2; want = -1; seen = 0; next }
	{ sub(/^\[[ 0-9.]*\] */, "") }
	/^ +1\.\./ { want = substr($1, 4) + 0; next }
	/^ +(not )?ok / {
		seen++
		bad = $1 == "not"
		failed += bad
		name = $0
		sub(/^ +(not )?ok [0-9]+ (- )?/, "", name)
		printf "%sok %d - %s: %s\n", bad ? "not " : "", ++n, suite, name
		next
	}
	/^ +# / { sub(/^ +# /, ""); print "# " $0; next }
	END { settle(); print "1.." n + 0; exit failed > 0 }'
