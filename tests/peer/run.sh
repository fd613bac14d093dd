#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The kernel's own selftests/mm on the stock kernel and on the lifted one with foliolift enabled, engine cpu.
# No test, and no case of a test, that passes on stock may fail on lifted. tests/peer/list says what runs.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/../../lab/lib.sh"

usage() {
	cat <<'USAGE'
tests/peer/run.sh [options]
  --long               also the tests that take long
  --only NAME,NAME     these of tests/peer/list, whatever they are marked
  --kernel-dir stock=DIR,lifted=DIR
                       kernels other than build/kernel/stock and build/kernel/lifted
  --topology NAME      (numa2)
  --tap                only write build/tap/peer.t, do not show it
  --list               print the tests' names and marks, run nothing
Results: build/tap/peer.t, build/results/peer.json; what the tests printed: build/peer/out/KERNEL/NAME.log.
USAGE
}

here=$ROOT/tests/peer peer=$BUILD/peer
long=0 only='' tap=0 list=0 topology=numa2
declare -A kernel=([stock]=stock [lifted]=lifted)
while [ $# -gt 0 ]; do
	case $1 in
	--only | --kernel-dir | --topology) [ $# -ge 2 ] || usage_die "peer: $1 wants a value." ;;
	esac
	case $1 in
	--long) long=1 ;;
	--tap) tap=1 ;;
	--list) list=1 ;;
	--topology) topology=$2; shift ;;
	--only) only=$2; shift ;;
	--kernel-dir)
		IFS=, read -ra pairs <<<"$2"
		for pair in "${pairs[@]}"; do
			[[ $pair == stock=?* || $pair == lifted=?* ]] ||
				usage_die "peer: --kernel-dir wants stock=DIR,lifted=DIR, not '$pair'."
			kernel[${pair%%=*}]=${pair#*=}
		done
		shift
		;;
	-h | --help) usage; exit 0 ;;
	*) usage_die "peer: unknown option '$1'; tests/peer/run.sh --help lists them." ;;
	esac
	shift
done
check_topology "$topology"

# ---- what runs
entries() { grep -v '^[[:space:]]*\(#\|$\)' "$here/list"; }
wrong=$(entries | awk 'NF < 5 || $2 !~ /^(quick|long|off)$/ || ($2 != "off" && ($3 !~ /^[0-9]+$/ || $4 !~ /^[0-9]+$/)) || seen[$1]++ { print $1; exit }')
[ -z "$wrong" ] || die "tests/peer/list: the line of '$wrong' is not NAME WHEN SECONDS HUGE COMMAND, or the name is there twice."
if [ $list = 1 ]; then
	entries | awk '{ print $1, $2 }' | column -t
	exit 0
fi
if [ -n "$only" ]; then
	unknown=$(LC_ALL=C comm -13 <(entries | awk '$2 != "off" { print $1 }' | LC_ALL=C sort) <(tr , '\n' <<<"$only" | LC_ALL=C sort -u))
	[ -z "$unknown" ] || usage_die "peer: no test $(commas "$unknown") to run; tests/peer/run.sh --list has their names."
	wanted=$(entries | awk -v only=",$only," 'index(only, "," $1 ",")')
else
	wanted=$(entries | awk -v long=$long '$2 == "quick" || ($2 == "long" && long)')
fi

for name in stock lifted; do
	dir=${kernel[$name]}
	[ "$dir" != "$name" ] || dir=$BUILD/kernel/$name
	[ -f "$dir/arch/x86/boot/bzImage" ] || [ -f "$dir" ] ||
		die "there is no built $name kernel in $(rel "$dir"); build it with ./run kernel $name."
done
command -v prove >/dev/null || die "prove is missing; install the package perl."
take_lock peer
"$here/build.sh"

# ---- into the guest go the programs that are named, no others
work=$(mktemp -d "${TMPDIR:-/tmp}/foliolift-peer.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/add/peer/bin" "$BUILD/tap" "$BUILD/results"
while read -r program; do
	if grep -qw -- "$program" <<<"$wanted"; then cp "$peer/bin/$program" "$work/add/peer/bin/"; fi
done < <(cd "$peer/bin" && printf '%s\n' *)
cp "$here/guest.sh" "$work/add/peer/"

# One kernel, all tests. A guest that dies or hangs takes the test it was in; the next boot goes on behind it.
run_on() { # NAME
	local name=$1 out=$peer/out/$1 log=$BUILD/log/peer-$1.log todo=$wanted last limit status boot=0
	rm -rf "$out"
	mkdir -p "$out"
	: >"$out/results"
	: >"$log"
	while [ -n "$todo" ]; do
		printf '%s\n' "$todo" >"$work/add/peer/todo"
		limit=$(awk '{ s += $3 } END { print s + 60 }' <<<"$todo")
		boot=$((boot + 1)) status=0
		"$ROOT/lab/boot.sh" --kernel "${kernel[$name]}" --topology "$topology" --add "$work/add" --out "$out" \
			--log "$work/console" --timeout "$limit" -- sh /peer/guest.sh 2>"$work/said" |
			while read -r test code took; do
				done=$((${done:-0} + 1))
				[ "$code" != 124 ] || code='124 (timed out)'
				say "peer: $name, $done of $(wc -l <<<"$todo"): $test: status $code, $took s"
			done || status=$?
		cat "$work/console" >>"$log" 2>/dev/null || true
		case $status in
		0 | 126) break ;; # 126: the kernel's log has a report, which is searched for below
		esac
		last=$(tr -d '\r' <"$log" | sed -n 's/^.*peer: \([^ ]*\)$/\1/p' | tail -n1)
		if [ -z "$last" ] || [ "$last" = end ]; then
			cat "$work/said" >&2
			die "the $name kernel does not run the selftests; its console is in $(rel "$log")."
		fi
		say "peer: $name: the guest ended in $last; going on behind it"
		grep -q "^$last " "$out/results" || echo "$last died 0 0 -" >>"$out/results"
		todo=$(awk -v last="$last" 'found; $1 == last { found = 1 }' <<<"$todo")
	done
	# whose report is whose: the console, cut at the marks
	tr -d '\r' <"$log" | awk -v dir="$work" '
		match($0, /peer: [^ ]+$/) { close(file); file = dir "/part." substr($0, RSTART + 6) }
		file { print >file }'
	: >"$out/reports"
	local part
	for part in "$work"/part.*; do
		[ -f "$part" ] || continue
		"$ROOT/lab/log-check.sh" "$part" >"$out/report" || {
			echo "${part##*/part.}" >>"$out/reports"
			cp "$out/report" "$out/${part##*/part.}.report"
		}
	done
	rm -f "$work"/part.* "$out/report"
}
run_on stock
run_on lifted

printf '%s\n' "$wanted" >"$work/wanted"
entries >"$work/list"
commit=$(git -C "$ROOT" describe --always --dirty 2>/dev/null || echo none)
[ -n "$only" ] && whole=0 || whole=1
"$here/compare.pl" "$work/list" "$work/wanted" "$peer/out" "$commit" "$whole" "$BUILD/results/peer.json" >"$work/tap"
mv "$work/tap" "$BUILD/tap/peer.t"
[ $tap = 0 ] || exit 0
prove --exec cat "$BUILD/tap/peer.t" || {
	grep '^not ok' "$BUILD/tap/peer.t" | grep -v '# TODO' >&2 || true
	die "a selftest that passes on stock fails on lifted; what each printed is in $(rel "$peer/out")."
}
