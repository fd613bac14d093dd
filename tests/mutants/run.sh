#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# run.sh [--native|--guest] [NAME...]: takes out one guard at a time and sees that a named test fails.
#
# Each NAME.patch here changes the lifted source so that one guard of docs/design.md is gone. Its header says which
# hazard the guard is for and what has to notice:
#	Killed-by: native TEST		a test of tests/native, or a whole program of it, compiled from the changed source
#	Killed-by: guest NAME MODE	a test of tests/guest, on a kernel built from the changed source
# A mutant counts as killed only if that very test fails; one that does not apply or build is an error.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/../../lab/lib.sh"

here=$ROOT/tests/mutants kind='native|guest' names=()
while [ $# -gt 0 ]; do
	case $1 in
	--native) kind=native ;;
	--guest) kind=guest ;;
	-*) usage_die "mutants: unknown option '$1'; known are: --native, --guest." ;;
	*)
		[ -f "$here/$1.patch" ] || usage_die "unknown mutant '$1'; known are: $(cd "$here" && commas ./*.patch | sed 's|\./||g; s|\.patch||g')."
		names+=("$1")
		;;
	esac
	shift
done
[ -z "${CHECK_ONLY-}" ] || exit 0
[ ${#names[@]} -gt 0 ] || for patch in "$here"/*.patch; do names+=("$(basename "$patch" .patch)"); done

mkdir -p "$BUILD/log"

# A test's failure as tests/native prints it, in cmocka's words; of a program that does not come to its end, its own.
kill_native() {
	local src=$BUILD/native-mutant/src status=0 program=$2 programs
	# Only the program that has the test: the others have nothing to say.
	[ -f "$ROOT/tests/native/test-$program.c" ] ||
		program=$(basename "$(grep -lw "$2" "$ROOT"/tests/native/test-*.c)" .c) program=${program#test-}
	mapfile -t programs < <("$ROOT/tests/native/run.sh" --list | grep "/$program\$")
	[ ${#programs[@]} -gt 0 ] || die "no native test is called '$2'; mend $(rel "$1")."
	rm -rf "$src"
	mkdir -p "$src"
	cp -r "$ROOT/kernel/src/." "$src"
	patch -p1 -F0 -s -f -d "$src" <"$1" >"$log" 2>&1 || die "the mutant $name does not apply to kernel/src; mend $(rel "$1")."
	KSRC=$src OUT=$BUILD/native-mutant/out "$ROOT/tests/native/run.sh" "${programs[@]}" >>"$log" 2>&1 || status=$?
	[ $status -lt 2 ] || die "the mutant $name does not compile; see $(rel "$log")."
	[ $status = 1 ] && grep -qE "FAILED.*\b$2\b" "$log"
}

# A failed file as prove prints it.
kill_guest() {
	"$ROOT/lab/overlay.sh" --into "$BUILD/linux/mutant" --extra-patch "$1" >"$log" 2>&1 ||
		die "the mutant $name does not apply to the lifted source; mend $(rel "$1")."
	"$ROOT/lab/kernel.sh" lifted --source "$BUILD/linux/mutant" --objects "$BUILD/kernel/mutant" >>"$log" 2>&1 ||
		die "the mutant $name does not build; see $(rel "$log")."
	if "$ROOT/tests/run.sh" --kernel-dir "lifted=$BUILD/kernel/mutant" --only "$2" --mode "$3" >>"$log" 2>&1; then return 1; fi
	# as prove tells it
	grep -qE "/$3\.$2\.t +\(Wstat|/$3\.$2\.t \.+.*(Failed|Dubious|No subtests|No plan)" "$log"
}

killed=0 total=0 alive=()
for name in "${names[@]}"; do
	patch=$here/$name.patch
	read -r how test mode < <(sed -n 's/^Killed-by: //p' "$patch")
	[[ $how =~ ^($kind)$ ]] || continue
	total=$((total + 1))
	log=$BUILD/log/mutant-$name.log
	start=$SECONDS
	if "kill_$how" "$patch" "$test" "${mode-}"; then
		killed=$((killed + 1))
		printf 'killed    %-32s by %s %s, %s\n' "$name" "$how" "$test" "$(elapsed "$start")"
	else
		alive+=("$name")
		printf 'SURVIVED  %-32s %s %s did not fail; see %s\n' "$name" "$how" "$test" "$(rel "$log")"
	fi
done
[ "$total" -gt 0 ] || die "no mutant was chosen."
printf '%d of %d mutants killed\n' "$killed" "$total"
[ ${#alive[@]} -eq 0 ]
