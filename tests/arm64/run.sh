#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# run.sh [--long] [--only NAME]... [--mode MODE] [--kernel-dir DIR] [--list]: the tests of tests/guest/arm64/suite on the
# machine with DMA channels, one boot. Fails when a test fails, when one that is planned said nothing, and when the guest
# ended badly. What a test said is in build/tap/arm64/MODE.NAME.t, the console in build/log/test-arm64.log.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/../../lab/lib.sh"

suite() { sed 's/#.*//' "$ROOT/tests/guest/arm64/suite" | awk 'NF'; }
known() { suite | awk -v from="$1" -v to="$2" '{ for (i = from; i <= (to ? to : NF); i++) print $i }' | sort -u; }
long=0 only=() mode='' tree=arm64
while [ $# -gt 0 ]; do
	case $1 in
	--only | --mode | --kernel-dir) [ $# -ge 2 ] || usage_die "test arm64: $1 wants a value." ;;
	esac
	case $1 in
	--long) long=1 ;;
	--only)
		known 1 1 | grep -qx -- "$2" || usage_die "unknown test '$2'; known are: $(commas "$(known 1 1)")."
		only+=("$2")
		shift
		;;
	--mode)
		known 2 0 | grep -qx -- "$2" || usage_die "unknown mode '$2'; known are: $(commas "$(known 2 0)")."
		mode=$2
		shift
		;;
	--kernel-dir) tree=$2; shift ;;
	--list) suite | awk '{ printf "%-18s", $1; $1 = ""; print }'; exit 0 ;;
	*) usage_die "test arm64: unknown argument '$1'; known are --long, --only NAME, --mode MODE, --kernel-dir DIR, --list." ;;
	esac
	shift
done

items=()
while read -r name modes; do
	[ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " == *" $name "* ]] || continue
	for m in $modes; do
		[ -n "$mode" ] && [ "$m" != "$mode" ] || items+=("$m:$name")
	done
done < <(suite)
[ ${#items[@]} -gt 0 ] || die "no test is planned in that mode; tests/arm64/run.sh --list has them."
make -s -C "$ROOT" guest-arm64 || die "a guest program does not compile for arm64; the compiler's messages are above."

tap=$BUILD/tap/arm64 log=$BUILD/log/test-arm64.log status=0 ended=0
wait_lock "$tap.lock"
rm -rf "$tap"
mkdir -p "$tap"
say "== guest: arm64 kernel, ${#items[@]} tests"
"$ROOT/lab/boot.sh" --kernel "$tree" --topology arm64-dma --timeout 900 --log "$log" --out "$tap" \
	-- env "FL_LONG=$([ $long = 0 ] || echo 1)" sh /lab/suite.sh "${items[@]}" >&2 || ended=$?
if [ $ended != 0 ]; then
	say "FAILED: the arm64 guest ended with status $ended; its console is in $(rel "$log")."
	status=1
fi
# A program that said nothing is a failure, not a test less; one that was cut off lacks its plan, and prove says so.
for item in "${items[@]}"; do
	file=$tap/${item%%:*}.${item#*:}.t
	[ -s "$file" ] || printf 'not ok 1 - %s ran\n1..1\n' "${item#*:}" >"$file"
done
prove --exec cat "$tap"/*.t || status=1
exit $status
