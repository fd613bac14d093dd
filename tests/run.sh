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
  --mode MODE             in this mode only: stock, off, own, bounce, or an engine's name (cpu, mt, dma, test)
  --kernel-dir NAME=DIR   another kernel for stock or lifted (may be repeated, or joined by commas)
  --list                  the guest tests and their modes
What a test said is in build/tap/KERNEL/MODE.NAME.t, the consoles are in build/log.
USAGE
}
engines='cpu mt dma test'
long=0 only=() modes="stock off $engines own bounce" slow=1
declare -A kernel=([stock]=stock [lifted]=lifted)
suite() { sed 's/#.*//' "$ROOT/tests/guest/suite" | awk 'NF'; }
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
		IFS=, read -ra pairs <<<"$2"
		for pair in "${pairs[@]}"; do
			[[ $pair == stock=?* || $pair == lifted=?* ]] ||
				usage_die "test: --kernel-dir wants stock=DIR or lifted=DIR, not '$pair'."
			kernel[${pair%%=*}]=${pair#*=}
		done
		shift
		;;
	--list) suite | awk '{ printf "%-18s", $1; $1 = ""; print }'; exit 0 ;;
	-h | --help) usage; exit 0 ;;
	*) usage_die "test: unknown option '$1'; tests/run.sh --help lists them." ;;
	esac
	shift
done
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
wait_lock "$tap.lock"
rm -rf "$tap"
mkdir -p "$tap"
planned=()
# What a mode needs on the kernel's command line; such a mode has a guest of its own.
declare -A append=([bounce]=swiotlb=force)
# A guest that dies or hangs takes the test with it that it was in; the next boot goes on behind that one.
guest() { # KERNEL MODE...
	local tree=$1 items=() mode name log ended boot=0 i file words
	shift
	words=${append[$1]-}
	[ -n "$tree" ] || return 0
	for mode; do
		[[ " $modes " == *" $mode "* ]] || continue
		while read -r name _; do
			[ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " == *" $name "* ]] || continue
			items+=("$mode:$name")
			planned+=("$mode.$name.t")
		done < <(suite | awk -v mode="$mode" '{ for (i = 2; i <= NF; i++) if ($i == mode) print }')
	done
	while [ ${#items[@]} -gt 0 ]; do
		boot=$((boot + 1)) ended=0
		log=$BUILD/log/test-${tree##*/}.log
		[ $boot = 1 ] || log=$BUILD/log/test-${tree##*/}-$boot.log
		[ -z "$words" ] || log=${log%.log}-$1.log
		say "== guest: ${tree##*/} kernel, ${#items[@]} tests${words:+, $words}"
		"$ROOT/lab/boot.sh" --kernel "$tree" --append "$words" --timeout $((1800 * slow)) --log "$log" --out "$tap" \
			-- env "FL_LONG=$([ $long = 0 ] || echo 1)" "FL_SLOW=$slow" sh /lab/suite.sh "${items[@]}" >&2 || ended=$?
		[ $ended = 0 ] || failed "the guest of the ${tree##*/} kernel ended with status $ended; its console is in $(rel "$log")."
		case $ended in
		124 | 125) ;;
		*) break ;;
		esac
		for ((i = 0; i < ${#items[@]}; i++)); do
			file=$tap/${items[i]%%:*}.${items[i]#*:}.t
			grep -q '^1\.\.' "$file" 2>/dev/null || break
		done
		[ $i -lt ${#items[@]} ] || break
		printf 'not ok 9998 - the guest survives\n' >>"$file"
		items=("${items[@]:i+1}")
	done
}
guest "${kernel[stock]}" stock
# shellcheck disable=SC2086 # words
guest "${kernel[lifted]}" off $engines own
guest "${kernel[lifted]}" bounce

# A program that said nothing is a failure, not a test less.
for name in "${planned[@]}"; do
	[ -s "$tap/$name" ] || printf 'not ok 1 - %s ran\n1..1\n' "$name" >"$tap/$name"
done
# The same jobs, counted by both kernels.
if [ -s "$tap/stock.counters.t" ] && [ -s "$tap/own.counters.t" ]; then
	for name in stock own; do sed -n 's/^# counts: //p' "$tap/$name.counters.t" >"$tap/$name.counts"; done
	awk '
		NR == FNR { stock[$1] = $0; next }
		{ lifted[$1] = $0 }
		END {
			for (job in lifted)
				if (!(job in stock)) stock[job] = "nothing"
			for (job in stock) {
				same = stock[job] == lifted[job]
				printf "%sok %d - %s counts alike on both kernels\n", same ? "" : "not ", ++n, job
				if (!same) printf "# stock:  %s\n# lifted: %s\n", stock[job], lifted[job]
			}
			printf "%sok %d - there are jobs to compare\n1..%d\n", n ? "" : "not ", n + 1, n + 1
		}' "$tap/stock.counts" "$tap/own.counts" >"$tap/both.counters.t"
fi
if [ ${#planned[@]} -gt 0 ]; then
	say "== what the guests said"
	prove --exec cat "$tap"/*.t || failed "guest tests; what they said is in $(rel "$tap")."
else
	failed "no test is planned in that mode; tests/run.sh --list has them."
fi

if [ $whole = 1 ]; then
	say "== arm64: the machine with DMA channels"
	arm64=()
	[ $long = 0 ] || arm64+=(--long)
	"$ROOT/tests/arm64/run.sh" "${arm64[@]}" || failed "tests/arm64"
	say "== peer: the kernel's own selftests/mm on stock and on lifted"
	peer=()
	[ $long = 0 ] || peer+=(--long)
	"$ROOT/tests/peer/run.sh" "${peer[@]}" --kernel-dir "stock=${kernel[stock]},lifted=${kernel[lifted]}" || failed "tests/peer"
fi
if [ $status = 0 ]; then say "every test passed."; else say "there are failures; they are named above."; fi
exit $status
