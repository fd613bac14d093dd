#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# throughput.sh RUNS DIRECTIONS SIZES BUSY ENGINE[:N]...: in the guest; rows go to the host as throughput.jsonl. ENGINE none is
# foliolift off, and all a stock kernel can do. DIRECTIONS: push, pull or both. SIZES: "4k 512,4096;2m 1,8". BUSY 1: every
# CPU but one of the caller's node is kept busy by a real-time task that never sleeps.
set -e
# shellcheck source=lab/guest/knobs.sh
. /lab/knobs.sh
runs=$1 directions=$2 sizes=$3 busy=$4
shift 4
[ "$directions" != both ] || directions='push pull'
[ "$LAB_KERNEL" = stock ] || need_lift

# total COUNTER: over the engines that can be behind "auto"
total() {
	sum=0
	for dir in "$LIFT"/engines/*; do sum=$((sum + $(cat "$dir/$1"))); done
	echo $sum
}
hogs=
keep_busy() { # NODE: leaves its first CPU
	[ "$busy" = 1 ] || return 0
	spare=$(sed 's/[-,].*//' /sys/devices/system/node/node"$1"/cpulist)
	echo -1 >/proc/sys/kernel/sched_rt_runtime_us
	for dir in /sys/devices/system/cpu/cpu[0-9]*; do
		cpu=${dir##*/cpu}
		[ "$cpu" != "$spare" ] || continue
		hog "$cpu" &
		hogs="$hogs $!"
	done
}
unhog() {
	# shellcheck disable=SC2086 # numbers
	[ -z "$hogs" ] || kill $hogs
	hogs=
}
measure() { # ENGINE DIRECTION
	name=${1%%:*} width=1
	[ "$name" = "$1" ] || width=${1#*:}
	[ "$name" != mt ] || put $LIFT/engines/mt/pull "$([ "$2" = pull ] && echo 1 || echo 0)"
	old=$IFS
	IFS=';'
	for work in $sizes; do
		IFS=$old
		throughput --page-size "${work% *}" --pages "${work#* }" --from 0 --to 1 --runs "$runs" --direction "$2" \
			--kernel "$LAB_KERNEL" --engine "$name" --threads "$width" --json >/tmp/rows
		sed "s/}\$/,\"accelerator\":\"$LAB_ACCEL\"}/" /tmp/rows | emit throughput.jsonl
	done
	IFS=$old
	echo "$LAB_KERNEL kernel, engine $1, $2: every byte checked"
}
for engine; do
	if [ "$engine" = none ]; then lift_off; else set_engine "$engine"; fi
	[ "$engine" = none ] || before=$(total folios)
	for direction in $directions; do
		keep_busy "$([ "$direction" = pull ] && echo 1 || echo 0)"
		measure "$engine" "$direction"
		unhog
	done
	[ "$engine" = none ] || [ "$(total folios)" -gt "$before" ] || {
		echo "foliolift: engine $engine copied nothing, so nothing of it was measured." >&2
		exit 1
	}
done
