#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every test, and the closing line of every runner: tests/native (cmocka), the guests' programs and the kernel's own
# selftests (prove). Fails when a test fails, when one that is planned said nothing, and when a guest ended badly.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/../lab/lib.sh"

usage() {
	cat <<'USAGE'
tests/run.sh [options]
  --debug                 the guest tests on the debug kernel in place of the lifted one; nothing else
  --long                  longer stress
  --only NAME             this guest test only (may be repeated); nothing else
  --mode MODE             in this mode only: stock, off, cpu, test or own
  --kernel-dir NAME=DIR   another kernel for stock or lifted (may be repeated)
USAGE
}
long=0 only=() modes='stock off cpu test own' slow=1
declare -A kernel=([stock]=stock [lifted]=lifted)
while [ $# -gt 0 ]; do
	case $1 in
	--only | --mode | --kernel-dir) [ $# -ge 2 ] || usage_die "test: $1 wants a value." ;;
	esac
	case $1 in
	--debug) kernel[lifted]=debug kernel[stock]='' slow=8 ;;
	--long) long=1 ;;
	--only) only+=("$2"); shift ;;
	--mode)
		[[ " $modes " == *" $2 "* ]] || usage_die "unknown mode '$2'; known are: ${modes// /, }."
		modes=$2
		shift
		;;
	--kernel-dir)
		[[ $2 == stock=?* || $2 == lifted=?* ]] || usage_die "test: --kernel-dir wants stock=DIR or lifted=DIR, not '$2'."
		kernel[${2%%=*}]=${2#*=}
		shift
		;;
	-h | --help) usage; exit 0 ;;
	*) usage_die "test: unknown option '$1'; tests/run.sh --help lists them." ;;
	esac
	shift
done
suite() { sed 's/#.*//' "$ROOT/tests/guest/suite" | awk 'NF'; }
for name in "${only[@]}"; do
	suite | awk '{ print $1 }' | grep -qx -- "$name" ||
		usage_die "unknown test '$name'; known are: $(suite | awk '{ print $1 }' | paste -sd, | sed 's/,/, /g')."
done
whole=1
if [ ${#only[@]} -gt 0 ] || [ "${kernel[lifted]}" = debug ] || [[ $modes != *\ * ]]; then whole=0; fi
status=0
failed() {
	say "FAILED: $1"
	status=1
}

if [ $whole = 1 ]; then
	say "== native: the kernel files in user space"
	"$ROOT/tests/native/run.sh" || failed "tests/native"
fi

# ---- the guests
make -s -C "$ROOT" guest || die "a guest program does not compile; the compiler's messages are above."
tap=$BUILD/tap/${kernel[lifted]##*/}
rm -rf "$tap"
mkdir -p "$tap"
planned=()
guest() { # KERNEL MODE...
	local tree=$1 items=() mode name log ended=0
	shift
	[ -n "$tree" ] || return 0
	for mode; do
		[[ " $modes " == *" $mode "* ]] || continue
		while read -r name _; do
			[ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " == *" $name "* ]] || continue
			items+=("$mode:$name")
			planned+=("$mode.$name.t")
		done < <(suite | awk -v mode="$mode" '{ for (i = 2; i <= NF; i++) if ($i == mode) print }')
	done
	[ ${#items[@]} -gt 0 ] || return 0
	log=$BUILD/log/test-${tree##*/}.log
	say "== guest: ${tree##*/} kernel, ${#items[@]} tests"
	"$ROOT/lab/boot.sh" --kernel "$tree" --timeout $((1800 * slow)) --log "$log" --out "$tap" \
		-- env "FL_LONG=$([ $long = 0 ] || echo 1)" "FL_SLOW=$slow" sh /lab/suite.sh "${items[@]}" >&2 || ended=$?
	[ $ended = 0 ] || failed "the guest of the ${tree##*/} kernel ended with status $ended; its console is in $(rel "$log")."
}
guest "${kernel[stock]}" stock
# what may leave the kernel in pieces comes last
guest "${kernel[lifted]}" off cpu test own

# A program that said nothing is a failure, not a test less.
for name in "${planned[@]}"; do
	[ -s "$tap/$name" ] || printf 'not ok 1 - %s ran\n1..1\n' "$name" >"$tap/$name"
done
# The same jobs, counted by both kernels.
if [ -s "$tap/stock.counters.t" ] && [ -s "$tap/own.counters.t" ]; then
	{
		for k in stock own; do sed -n 's/^# counts: //p' "$tap/$k.counters.t" | sort -u >"$tap/$k.counts"; done
		if [ -s "$tap/stock.counts" ] && diff "$tap/stock.counts" "$tap/own.counts" >"$tap/counts.diff"; then
			echo "ok 1 - both kernels count the same"
		else
			echo "not ok 1 - both kernels count the same"
			sed 's/^/# /' "$tap/counts.diff"
		fi
		echo 1..1
	} >"$tap/both.counters.t"
fi
say "== what the guests said"
prove --exec cat "$tap"/*.t || failed "guest tests; what they said is in $(rel "$tap")."

if [ $whole = 1 ]; then
	say "== peer: the kernel's own selftests/mm on stock and on lifted"
	peer=()
	[ $long = 0 ] || peer+=(--long)
	"$ROOT/tests/peer/run.sh" "${peer[@]}" --kernel-dir "stock=${kernel[stock]},lifted=${kernel[lifted]}" || failed "tests/peer"
fi
if [ $status = 0 ]; then say "every test passed."; else say "there are failures; they are named above."; fi
exit $status
