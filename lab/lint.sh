#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Looks for mistakes without running anything: checkpatch, kernel-doc and sparse for kernel code, checkpatch for C in
# user space, shellcheck for shell. One line a tool; ends with 1 if any of them found something.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/lib.sh"

# ---- what is not asked for, and why
kernel_ignores=FILE_PATH_CHANGES # "does MAINTAINERS need updating?": not in the kernel, so no entry
allowed=(
	# the macros of tracepoints are laid out as in every include/trace/events file
	'include/trace/events/[^:]*:[0-9]+: CHECK:(PARENTHESIS_ALIGNMENT|OPEN_ENDED_LINE):'
	# what calls a tracepoint has to be a macro, and its stub then ignores what it is given
	"mm/foliolift/migrate\\.h:[0-9]+: WARNING:MACRO_ARG_UNUSED:"
	# a file whose operations the test changes under way, so they cannot be constant
	"mm/foliolift/tests/test_engine\\.c:[0-9]+: WARNING:CONST_STRUCT:"
)
# The stubs of kernel headers (tests/native) are shaped by what they stand for, and its tests feed odd input.
stub_ignores=(MACRO_ARG_REUSE MACRO_ARG_PRECEDENCE MACRO_ARG_UNUSED NEW_TYPEDEFS COMPLEX_MACRO MEMORY_BARRIER
	NR_CPUS
	QUOTED_WHITESPACE_BEFORE_NEWLINE SINGLE_STATEMENT_DO_WHILE_MACRO MULTISTATEMENT_MACRO_USE_DO_WHILE
	MACRO_WITH_FLOW_CONTROL STATIC_CONST_CHAR_ARRAY)
# User space has no kernel headers: no u64, BIT(), __printf(), min() or kstrtoul(), PRIu64 is spelt so, volatile means
# what C says, ENOSYS what the kernel says, errno is positive, and a word of a message may well be a function's name.
# The last two are a matter of taste.
user_ignores=(PREFER_KERNEL_TYPES BIT_MACRO PREFER_DEFINED_ATTRIBUTE_MACRO VOLATILE MINMAX CAMELCASE STRCPY STRNCPY
	PREFER_FALLTHROUGH SSCANF_TO_KSTRTO CONSIDER_KSTRTO SPLIT_STRING EMBEDDED_FUNCTION_NAME ENOSYS AVOID_EXTERNS
	USE_NEGATIVE_ERRNO MULTIPLE_ASSIGNMENTS OPEN_ENDED_LINE)
user_width=120

usage() {
	cat <<'USAGE'
lab/lint.sh [TOOL...]
Tools: checkpatch, kernel-doc, sparse, userspace, shellcheck; all of them when none is named.
USAGE
}
join() { local IFS=,; echo "$*"; }
tools=() checkpatch_patch=
while [ $# -gt 0 ]; do
	case $1 in
	checkpatch | kernel-doc | sparse | userspace | shellcheck) tools+=("$1") ;;
	--checkpatch-patch) checkpatch_patch=1 ;; # for lab/series.sh: the patch on standard input
	-h | --help) usage; exit 0 ;;
	*) usage_die "lint: unknown tool '$1'; known are: checkpatch, kernel-doc, sparse, userspace, shellcheck." ;;
	esac
	shift
done
[ -z "${CHECK_ONLY-}" ] || exit 0 # the arguments are fine; ./run asks before it does any work
[ ${#tools[@]} -gt 0 ] || tools=(checkpatch kernel-doc sparse userspace shellcheck)

plain=$BUILD/linux/plain lifted=$BUILD/linux/lifted work=$BUILD/lint
# no git directory: it would look for the kernel's history in ours
checkpatch() { GIT_DIR=/nonexistent perl "$plain/scripts/checkpatch.pl" --strict --terse --show-types --no-summary "$@" || true; }
not_allowed() { grep -vE "$(IFS='|'; echo "${allowed[*]}")" || true; }
if [ "$checkpatch_patch" ]; then
	checkpatch --root="$plain" --showfile --ignore "$kernel_ignores" - | not_allowed
	exit 0
fi
[ -f "$plain/scripts/checkpatch.pl" ] || die "there is no plain kernel source yet; ./run kernel stock unpacks it."
lacking=()
for program in perl sparse shellcheck gcc make; do command -v $program >/dev/null || lacking+=("$program"); done
if [ ${#lacking[@]} -gt 0 ]; then
	[ "$(id -u)" = 0 ] || die "lint needs the packages ${lacking[*]}; install them with apt-get, or start this as root."
	say "installing ${lacking[*]}"
	{ apt-get -q install -y --no-install-recommends "${lacking[@]}" ||
		{ apt-get -q update && apt-get -q install -y --no-install-recommends "${lacking[@]}"; }; } >/dev/null 2>&1 </dev/null ||
		die "the packages ${lacking[*]} cannot be installed; see what 'apt-get install ${lacking[*]}' says."
fi
"$ROOT/lab/overlay.sh"
mkdir -p "$work"
cd "$ROOT"

# every file of the project, built ones aside
files() { find . -name .git -prune -o -path ./build -prune -o -type f -printf '%P\n' | LC_ALL=C sort; }
total=0
report() { # TOOL WHAT FILE_WITH_FINDINGS
	local n
	n=$(grep -c . "$3" || true)
	cat "$3" >&2
	total=$((total + n))
	printf '%-11s %s: %s\n' "$1" "$2" "$([ "$n" = 0 ] && echo 'no findings' || echo "$n findings")"
}

lint_checkpatch() {
	local file hook n=0 hooks=0
	{
		while read -r file; do
			# in the tree, where it finds what it looks up there
			(cd "$lifted" && checkpatch --root=. --ignore "$kernel_ignores" -f "$file") | sed 's|^|kernel/src/|'
		done < <(cd kernel/src && files)
		for hook in kernel/hooks/*.patch; do
			# a hook is no commit: its message is one line and nobody signs it
			checkpatch --root="$plain" --no-signoff --ignore "$kernel_ignores,COMMIT_MESSAGE,DIFF_IN_COMMIT_MSG" - <"$hook" | sed "s|^-:|$hook:|"
		done
	} | not_allowed >"$work/checkpatch"
	n=$(cd kernel/src && files | wc -l) hooks=$(find kernel/hooks -name '*.patch' | wc -l)
	report checkpatch "$n new kernel files, $hooks hooks" "$work/checkpatch"
}

lint_kernel-doc() {
	local sources
	mapfile -t sources < <(cd kernel/src && files | grep '\.[ch]$')
	(cd "$lifted" && perl scripts/kernel-doc -none -Wall "${sources[@]}") >"$work/kernel-doc" 2>&1 || true
	report kernel-doc "${#sources[@]} new kernel files" "$work/kernel-doc"
}

# Sparse sees the new files, and mm/migrate.c before and after: what it says of the plain one is not ours.
lint_sparse() {
	local log=$work/sparse.log objects=$work/obj pattern
	"$ROOT/lab/configure.sh" "$lifted" "$objects" "$ROOT/kernel/configs/lab.config" "$ROOT/kernel/configs/foliolift.config"
	export PATH=/usr/lib/ccache:$PATH CCACHE_DIR=${CCACHE_DIR:-$BUILD/ccache}
	if ! make -C "$objects" -j"${JOBS:-$(nproc)}" prepare >"$log" 2>&1 </dev/null ||
		! make -C "$objects" C=2 V=1 mm/foliolift/ mm/migrate.o drivers/dma/softdma.o >>"$log" 2>&1 </dev/null; then
		tail -n 15 "$log" >&2
		die "sparse cannot be run, since the lifted kernel does not build; the log is $(rel "$log")."
	fi
	local said=$work/sparse.said
	grep -E '\.[ch]:[0-9]+:[0-9]+: (warning|error|sparse)' "$log" | grep -oE '(mm|drivers/dma|include)/[^ ]*: .*' | sort -u >"$said.lifted" || true
	# the same command for the plain mm/migrate.c
	local command
	command=$(grep -E '^ *sparse .*/mm/migrate\.c' "$log" | tail -n1)
	[ -n "$command" ] || die "sparse was not run on mm/migrate.c; the log is $(rel "$log")."
	(cd "$objects" && sh -c "${command//"$lifted"/"$plain"}") 2>&1 |
		grep -oE '(mm|include)/[^ ]*:[0-9]+:[0-9]+: (warning|error|sparse).*' | sort -u >"$said.plain" || true
	# lines move: compare without their numbers
	pattern='s/:[0-9]+:[0-9]+:/:/'
	sed -E "$pattern" "$said.plain" | sort -u >"$said.known"
	while read -r line; do
		grep -qxF -- "$(sed -E "$pattern" <<<"$line")" "$said.known" || echo "$line"
	done <"$said.lifted" >"$work/sparse"
	report sparse "mm/foliolift, softdma and mm/migrate.c ($(wc -l <"$said.known") warnings of the plain kernel left out)" "$work/sparse"
}

lint_userspace() {
	local sources file ignores
	mapfile -t sources < <(files | grep '\.[ch]$' | grep -v '^kernel/')
	for file in "${sources[@]}"; do
		ignores=("${user_ignores[@]}")
		[[ $file != tests/native/* ]] || ignores+=("${stub_ignores[@]}")
		checkpatch --no-tree --root="$plain" --max-line-length=$user_width --ignore "$(join "${ignores[@]}")" -f "$file"
	done >"$work/userspace"
	report userspace "${#sources[@]} C files" "$work/userspace"
}

lint_shellcheck() {
	local scripts=() file
	while read -r file; do
		case $file in
		*.sh) scripts+=("$file") ;;
		*) if head -c 64 "$file" | head -n1 | grep -aqE '^#!.*\b(ba|da)?sh\b'; then scripts+=("$file"); fi ;;
		esac
	done < <(files)
	shellcheck -x -f gcc "${scripts[@]}" >"$work/shellcheck" || true
	report shellcheck "${#scripts[@]} scripts" "$work/shellcheck"
}

for tool in "${tools[@]}"; do "lint_$tool"; done
[ "$total" = 0 ] || die "lint has $total findings (above)."
