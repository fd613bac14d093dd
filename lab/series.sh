#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# kernel/src and kernel/hooks as a patch series, build/series/*.patch, and the proof that it is one: it applies to the
# plain source, passes checkpatch, gives just the tree that lab/overlay.sh gives, and every step of it builds.
#
# A step is a file kernel/series/NN-NAME.txt, and 00-cover.txt is the cover letter. Above the line "---":
#   new PATTERN...         files of kernel/src that come with this step, whole
#   hook NAME              a file of kernel/hooks that comes with it
#   undo FILE EXPRESSION   a substitution of Perl, over the whole file, that takes out of a file of an earlier step
#                          what this step adds to it; it has to find something
# and below it the commit's message. The steps are worked out backwards, from the whole: each one's hooks, new files and
# additions are taken away, and what is left is the step before. So the last step is always the tree as it is.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/lib.sh"

usage() {
	cat <<'USAGE'
lab/series.sh [--no-build] [--from N]
  --no-build   make and check the patches, build no kernel
  --from N     build the steps from the Nth on
The author is git's user.name and user.email.
USAGE
}
steps_too=1 from=1
while [ $# -gt 0 ]; do
	case $1 in
	--no-build) steps_too=0 ;;
	--from)
		[[ ${2-} =~ ^[1-9][0-9]*$ ]] || usage_die "series: --from wants the number of a step."
		from=$2
		shift
		;;
	-h | --help) usage; exit 0 ;;
	*) usage_die "series: unknown option '$1'; lab/series.sh --help lists them." ;;
	esac
	shift
done
[ -z "${CHECK_ONLY-}" ] || exit 0 # the arguments are fine; ./run asks before it does any work

plain=$BUILD/linux/plain source=$ROOT/kernel/series out=$BUILD/series
for tool in git perl patch; do
	command -v $tool >/dev/null || die "$tool is missing; install it with apt-get install $tool."
done
[ -f "$plain/Makefile" ] || die "there is no plain kernel source yet; ./run kernel stock unpacks it."
take_lock series
[ $steps_too = 0 ] || "$ROOT/lab/unpack.sh"
"$ROOT/lab/overlay.sh"

steps=()
for file in "$source"/[0-9][0-9]-*.txt; do
	[ "$(basename "$file")" = 00-cover.txt ] || steps+=("$file")
done
[ ${#steps[@]} -gt 0 ] || die "there is no step in kernel/series."
recipe() { sed '/^---$/,$d' "$1"; }
message() { sed '1,/^---$/d' "$1"; }
rm -rf "$out/state" "$out/git" "$out"/*.patch
mkdir -p "$out/state"

# ---- every file and every hook belongs to one step
declare -A owner=()
(cd "$ROOT/kernel/src" && find . -type f ! -name '.*' -printf '%P\n' | sort) >"$out/state/files"
for step in "${steps[@]}"; do
	name=$(basename "$step" .txt)
	grep -qx -- '---' "$step" || die "kernel/series/$name.txt has no line '---' between its recipe and its message."
	while read -r verb rest; do
		case $verb in
		new)
			read -ra patterns <<<"$rest"
			for pattern in "${patterns[@]}"; do
				found=
				while read -r file; do
					# shellcheck disable=SC2053 # a pattern it is
					[[ $file == $pattern ]] || continue
					[ -z "${owner[$file]-}" ] || die "kernel/src/$file is in two steps, ${owner[$file]} and $name."
					owner[$file]=$name found=1
				done <"$out/state/files"
				[ "$found" ] || die "kernel/series/$name.txt names $pattern, and kernel/src has no such file."
			done
			;;
		hook)
			[ -f "$ROOT/kernel/hooks/$rest" ] || die "kernel/series/$name.txt names the hook $rest, and there is none."
			[ -z "${owner[hook $rest]-}" ] || die "kernel/hooks/$rest is in two steps, ${owner[hook $rest]} and $name."
			owner["hook $rest"]=$name
			;;
		undo | '') ;;
		*) die "kernel/series/$name.txt: '$verb' is not new, hook or undo." ;;
		esac
	done < <(recipe "$step")
done
while read -r file; do
	[ "${owner[$file]-}" ] || die "kernel/src/$file is in no step of kernel/series; add it to the step it belongs to."
done <"$out/state/files"
for hook in "$ROOT"/kernel/hooks/*.patch; do
	[ "${owner[hook $(basename "$hook")]-}" ] ||
		die "kernel/hooks/$(basename "$hook") is in no step of kernel/series; add it to the step it belongs to."
done

# ---- the states, from the last to the first: only the files that differ from the plain source
all=$(printf '%02d' ${#steps[@]})
mkdir "$out/state/$all"
while read -r file; do
	install -D -m 644 "$BUILD/linux/lifted/$file" "$out/state/$all/$file"
done <"$BUILD/linux/lifted.overlay"
for ((i = ${#steps[@]}; i >= 1; i--)); do
	step=${steps[i - 1]} name=$(basename "${steps[i - 1]}" .txt)
	state=$out/state/$(printf '%02d' $((i - 1)))
	cp -r "$out/state/$(printf '%02d' "$i")" "$state"
	while read -r verb rest; do
		case $verb in
		new)
			read -ra patterns <<<"$rest"
			for pattern in "${patterns[@]}"; do
				(cd "$state" && find . -type f -path "./$pattern" -delete)
			done
			;;
		hook)
			patch -p1 -R -s -f --no-backup-if-mismatch -r - -d "$state" <"$ROOT/kernel/hooks/$rest" >"$out/state/said" 2>&1 ||
				{ sed 's/^/  /' "$out/state/said" >&2
				die "kernel/hooks/$rest cannot be taken back in the step $name; a hook must come in or after the step of those it builds on."; }
			;;
		undo)
			file=${rest%%[[:space:]]*} expression=${rest#*[[:space:]]}
			[ -f "$state/$file" ] || die "kernel/series/$name.txt undoes something in $file, which is not there by then."
			perl -0777 -i -pe "BEGIN { our \$n = 0 } \$n += ($expression); END { exit(\$n ? 0 : 3) }" "$state/$file" ||
				die "kernel/series/$name.txt: nothing in $file fits '$expression' any more; mend the expression."
			;;
		esac
	done < <(recipe "$step")
done
left=$(cd "$out/state/00" && find . -type f -printf '%P\n' | while read -r file; do cmp -s "$file" "$plain/$file" || echo "$file"; done)
[ -z "$left" ] || die "with all steps taken away $(commas "$left") still differ from the plain source; mend kernel/series."

# ---- a small repository, one commit a step
mkdir "$out/git"
GIT() { git -C "$out/git" -c core.autocrlf=false -c commit.gpgsign=false -c init.defaultBranch=main "$@"; }
author=$(git -C "$ROOT" config user.name || true) email=$(git -C "$ROOT" config user.email || true)
if [ -z "$author" ] || [ -z "$email" ]; then
	author=foliolift email=foliolift@localhost
	say "git has no user.name and user.email: the patches are signed off by $author <$email>; set both before sending them."
fi
date=$(git -C "$ROOT" log -1 --format=%cI 2>/dev/null || true)
export GIT_AUTHOR_NAME=$author GIT_AUTHOR_EMAIL=$email GIT_COMMITTER_NAME=$author GIT_COMMITTER_EMAIL=$email
export GIT_AUTHOR_DATE=${date:-$(date -u +%FT%TZ)}
export GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
GIT init -q
commit() { # STATE MESSAGE_FILE [OPTION]
	find "$out/git" -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +
	cp -r "$out/state/$1/." "$out/git/"
	GIT add -A
	GIT commit -q -F "$2" "${@:3}"
}
version=$(kernel_version <"$plain/Makefile")
echo "Linux $version" >"$out/state/message"
commit 00 "$out/state/message" --allow-empty
for ((i = 1; i <= ${#steps[@]}; i++)); do
	message "${steps[i - 1]}" >"$out/state/message"
	cmp -s <(cd "$out/state/$(printf '%02d' $((i - 1)))" && find . -type f | sort | xargs -r sha256sum) \
		<(cd "$out/state/$(printf '%02d' "$i")" && find . -type f | sort | xargs -r sha256sum) &&
		die "the step $(basename "${steps[i - 1]}" .txt) changes nothing."
	commit "$(printf '%02d' "$i")" "$out/state/message" --signoff
done
GIT format-patch -q --cover-letter --no-renames -o "$out" --root HEAD~${#steps[@]}..HEAD
subject=$(head -n1 "$source/00-cover.txt")
cover=$(printf '%s\n' "$out"/0000-*.patch)
{ tail -n +3 "$source/00-cover.txt"; printf '\nMade against Linux %s.\n' "$version"; } >"$out/state/message"
SUBJECT=$subject BODY=$out/state/message perl -0777 -i -pe '
	open(my $h, "<", $ENV{BODY}) or die; my $body = <$h>;
	s/\*\*\* SUBJECT HERE \*\*\*/$ENV{SUBJECT}/; s/\*\*\* BLURB HERE \*\*\*\n/$body/' "$cover"
patches=("$out"/[0-9]*.patch)
patches=("${patches[@]:1}")

# ---- checkpatch. There is no entry of MAINTAINERS for a project that is not in the kernel.
findings=0
for patch in "${patches[@]}"; do
	"$ROOT/lab/lint.sh" --checkpatch-patch <"$patch" >"$out/state/said"
	if [ -s "$out/state/said" ]; then
		sed "s|^|$(rel "$patch"): |" "$out/state/said" >&2
		findings=$((findings + $(wc -l <"$out/state/said")))
	fi
done
say "series: ${#patches[@]} patches in $(rel "$out"), checkpatch has $findings findings"

# ---- it applies to the plain source, step by step, and at the end the tree is the overlay's
tree=$out/linux
if [ ! -f "$tree/Makefile" ] || [ "$(cat "$tree.stamp" 2>/dev/null)" != "$(cat "$plain.stamp")" ]; then
	rm -rf "$tree" "$out/obj"
	cp -al "$plain" "$tree"
	cp "$plain.stamp" "$tree.stamp"
fi
# a file is replaced, never written in place: it may be a hard link to the plain one
put() { # FROM FILE
	cmp -s "$1" "$tree/$2" && return
	mkdir -p "$(dirname "$tree/$2")"
	cp "$1" "$tree/$2.new"
	mv "$tree/$2.new" "$tree/$2"
}
touched=$(sed -n 's|^+++ b/||p' "${patches[@]}" | sort -u)
check=$out/state/check
mkdir "$check"
while read -r file; do
	[ ! -f "$plain/$file" ] || install -D -m 644 "$plain/$file" "$check/$file"
done <<<"$touched"

compile() { # STEP_NAME FRAGMENT...
	local name=$1 start=$SECONDS
	shift
	"$ROOT/lab/configure.sh" "$tree" "$out/obj" "$@"
	make -C "$out/obj" -j"${JOBS:-$(nproc)}" vmlinux modules >"$out/build.log" 2>&1 </dev/null || {
		grep -nE 'error:|undefined|ERROR|\*\*\*' "$out/build.log" | head -n 20 >&2 || true
		die "the step $name does not build; the log is $(rel "$out/build.log")."
	}
	! grep -n 'warning:' "$out/build.log" >&2 || die "the step $name builds with warnings; the log is $(rel "$out/build.log")."
	say "series: $name builds ($(grep -c '^  CC' "$out/build.log" || true) objects, $(elapsed "$start"))"
}
configs=$ROOT/kernel/configs
export PATH=/usr/lib/ccache:$PATH CCACHE_DIR=${CCACHE_DIR:-$BUILD/ccache} CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-3G}
export KBUILD_BUILD_TIMESTAMP='2025-01-01' KBUILD_BUILD_USER=foliolift KBUILD_BUILD_HOST=lab KBUILD_BUILD_VERSION=1
seed() { # the objects of the lifted kernel, so that only what differs is compiled
	local lifted=$BUILD/kernel/lifted
	[ ! -d "$out/obj" ] && [ -f "$lifted/.foliolift" ] || return 0
	cp -a "$lifted" "$out/obj"
	rm -f "$out/obj/.foliolift"
	find "$out/obj" \( -name '*.cmd' -o -name '.*.d' -o -name Makefile \) -type f -print0 |
		xargs -0 sed -i -e "s|$BUILD/linux/lifted|$tree|g" -e "s|$lifted|$out/obj|g"
	ln -sfn "$tree" "$out/obj/source"
}
if [ $steps_too = 1 ]; then
	seed
	while read -r file; do # what an earlier run left
		if [ -f "$plain/$file" ]; then put "$plain/$file" "$file"; else rm -f "$tree/$file"; fi
	done < <(cat "$BUILD/linux/lifted.overlay" <(printf '%s\n' "$touched") "$out/tree.touched" 2>/dev/null | sort -u)
	printf '%s\n' "$touched" >"$out/tree.touched"
fi
for ((i = 1; i <= ${#patches[@]}; i++)); do
	patch -p1 -F0 -s -f --no-backup-if-mismatch -r - -d "$check" <"${patches[i - 1]}" >"$out/state/said" 2>&1 || {
		sed 's/^/  /' "$out/state/said" >&2
		die "$(rel "${patches[i - 1]}") does not apply to the plain source."
	}
	if [ $steps_too = 0 ] || [ "$i" -lt "$from" ]; then continue; fi
	while read -r file; do
		[ ! -f "$check/$file" ] || put "$check/$file" "$file"
	done <<<"$touched"
	# of foliolift's options those that this step knows
	known=$({
		sed -n 's/^config //p' "$tree/mm/foliolift/Kconfig"
		# dmatest can only be had where a device selects the DMA engines
		sed -n 's/^config \(DMA_SOFT\)$/\1\nDMATEST/p' "$tree/drivers/dma/Kconfig"
	} | paste -sd'|')
	grep -E "^CONFIG_($known)=" "$configs/foliolift.config" >"$out/state/fragment" || true
	compile "$(basename "${steps[i - 1]}" .txt)" "$configs/lab.config" "$out/state/fragment"
done
while read -r file; do
	cmp -s "$check/$file" "$BUILD/linux/lifted/$file" || die "after the last patch $file is not what lab/overlay.sh makes of it."
done <"$BUILD/linux/lifted.overlay"
say "series: it applies to Linux $version and ends in the overlay's tree"
if [ $steps_too = 1 ]; then compile "the whole with CONFIG_FOLIOLIFT off" "$configs/lab.config"; fi
[ $findings = 0 ] || die "checkpatch has $findings findings in the series (above)."
