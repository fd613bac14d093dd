#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The KUnit suites that ran at boot, as one TAP stream; a suite that is not there is a failure.
n=0
for suite in foliolift-engine foliolift-batch; do
	results=/sys/kernel/debug/kunit/$suite/results
	if [ ! -r "$results" ]; then
		n=$((n + 1))
		echo "not ok $n - $suite ran"
		continue
	fi
	while read -r word rest; do
		case "$word $rest" in
		"ok "*[0-9]" foliolift_kunit"*) n=$((n + 1)); echo "ok $n - $suite: ${rest#* }" ;;
		"not ok "*" foliolift_kunit"*) n=$((n + 1)); rest=${rest#* }; echo "not ok $n - $suite: ${rest#* }" ;;
		"#"*) echo "# $suite: $rest" ;;
		esac
	done <"$results"
done
echo "1..$n"
