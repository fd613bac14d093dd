#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds the kernel files of foliolift in user space and runs their tests.

set -euo pipefail

usage() {
	cat <<-EOF
	usage: tests/native/run.sh [--seed N] [--rounds N] [TEST...]
	       tests/native/run.sh --list

	Runs all tests, or those named as --list names them.
	--seed and --rounds are for the randomised ones, which print their seed.
	OUT=DIR builds there instead of build/native; KSRC=DIR tests the kernel
	files of another copy of kernel/src.
	EOF
}

die() {
	echo "tests/native: $*" >&2
	exit 2
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
OUT=$(realpath -m "${OUT:-$top/build/native}")
KSRC=$(realpath -m "${KSRC:-$top/kernel/src}")

run_make() {
	make -s -C "$here" OUT="$OUT" KSRC="$KSRC" "$@"
}

list=0
wanted=()
while (($#)); do
	case $1 in
	--list) list=1 ;;
	--seed | --rounds)
		[[ ${2-} =~ ^[0-9]+$ ]] || die "$1 wants a number"
		if [[ $1 == --seed ]]; then export SEED=$2; else export ROUNDS=$2; fi
		shift
		;;
	--help | -h) usage; exit 0 ;;
	-*) usage >&2; exit 2 ;;
	*) wanted+=("$1") ;;
	esac
	shift
done

[[ -d $KSRC/mm/foliolift ]] || die "there is no mm/foliolift in $KSRC (KSRC=)"
mapfile -t tests < <(run_make list)
if ((list)); then
	printf '%s\n' "${tests[@]}"
	exit 0
fi
for name in "${wanted[@]}"; do
	printf '%s\n' "${tests[@]}" | grep -qxF -- "$name" ||
		die "there is no test $name; --list names them"
done
((${#wanted[@]})) && tests=("${wanted[@]}")

for tool in gcc make; do
	command -v "$tool" >/dev/null || die "$tool is missing: apt-get install gcc make"
done
echo '#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>' | gcc -fsyntax-only -xc - 2>/dev/null ||
	die "cmocka is missing: apt-get install libcmocka-dev"

run_make -j"$(nproc)" "${tests[@]/#/run-}" ||
	die "the kernel files or their tests do not compile"

# ThreadSanitizer does not start where addresses are randomised too widely.
fixed=()
if setarch -R true 2>/dev/null; then
	fixed=(setarch -R)
fi

nr_run=0
failed=()
for name in "${tests[@]}"; do
	echo "== $name"
	log=$OUT/$name.log
	mkdir -p "$(dirname "$log")"
	status=0
	timeout -k 5 120 "${fixed[@]}" "$OUT/${name%/*}/test-${name#*/}" 2>&1 |
		tee "$log" || status=$?
	# A binary that stopped half-way has no closing line, whatever it returns.
	ran=$(sed -n 's/^\[==========\] \([0-9]*\) test(s) run\.$/\1/p' "$log")
	nr_run=$((nr_run + ${ran:-0}))
	if ((status)) || [[ -z $ran || $ran -eq 0 ]]; then
		failed+=("$name")
		((status == 124)) && echo "$name: stopped after 120 seconds"
	fi
done

echo
if ((${#failed[@]})); then
	echo "native: FAILED: ${failed[*]} (of ${#tests[@]} programs, $nr_run tests)"
	exit 1
fi
echo "native: all of ${#tests[@]} programs passed, $nr_run tests"
