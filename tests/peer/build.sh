#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# build.sh: builds tools/testing/selftests/mm of the kernel source package, static, into build/peer/bin.
# KERNEL_TREE=DIR takes another plain tree than build/linux/plain. Nothing changed: it ends at once.
#
# The tree itself stays untouched: the selftests are copied to build/peer/src and built there by their own
# Makefile, unmodified. `migration` alone is linked a second time, with clock.c, because its run time of
# 20 s a case is a constant in its source.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/../../lab/lib.sh"

here=$ROOT/tests/peer
plain=${KERNEL_TREE:-$BUILD/linux/plain} peer=$BUILD/peer log=$BUILD/log/peer-build.log
[ -f "$plain/tools/testing/selftests/mm/Makefile" ] ||
	die "there is no kernel source in $(rel "$plain"); ./run kernel stock unpacks it."

key=$({
	cat "$0" "$here/clock.c" "$here/stir.c"
	gcc --version | head -n1
	printf '%s\n' "$plain"
	cat "$plain.stamp" 2>/dev/null || stat -c '%n %Y' "$plain/Makefile" "$plain/tools/testing/selftests/mm/"*.c
} | sha256sum)
if [ "$(cat "$peer/stamp" 2>/dev/null)" = "$key" ]; then exit 0; fi

lacking=()
for file in /usr/include/numa.h:libnuma-dev /usr/include/sys/capability.h:libcap-dev /usr/include/liburing.h:liburing-dev \
	/usr/bin/gcc:gcc /usr/bin/make:make; do
	[ -e "${file%%:*}" ] || lacking+=("${file##*:}")
done
if [ ${#lacking[@]} -gt 0 ]; then
	[ "$(id -u)" = 0 ] ||
		die "the kernel's selftests need the packages ${lacking[*]}; install them with apt-get, or start this as root."
	say "installing ${lacking[*]}"
	{ apt-get -q install -y --no-install-recommends "${lacking[@]}" ||
		{ apt-get -q update && apt-get -q install -y --no-install-recommends "${lacking[@]}"; }; } >/dev/null 2>&1 </dev/null ||
		die "the packages ${lacking[*]} cannot be installed; see what 'apt-get install ${lacking[*]}' says."
fi

say "building the kernel's selftests/mm"
rm -rf "$peer/src" "${peer:?}/bin" "$peer/stamp"
mkdir -p "$peer/bin" "$peer/headers" "$(dirname "$log")"
selftests=tools/testing/selftests
(
	cd "$plain"
	for path in include/vdso lib/test_hmm_uapi.h mm/gup_test.h tools/include $selftests/{mm,x86,lib.mk,*.h,*.sh}; do
		mkdir -p "$peer/src/$(dirname "$path")"
		cp -r "$path" "$peer/src/$path"
	done
)
make_tests() { # CFLAGS TARGET...: by the selftests' own Makefile
	local flags=$1
	shift
	make -C "$peer/src/$selftests/mm" -j"${JOBS:-$(nproc)}" OUTPUT="$peer/bin" \
		KHDR_INCLUDES="-isystem $peer/headers/usr/include" EXTRA_CFLAGS="-static -w $flags" "$@"
}
build() {
	make -C "$plain" O="$peer/headers" headers &&
		# 6.12.y: khugepaged.c uses KSFT_SKIP without its header
		make_tests "-include ../kselftest.h" "$peer/bin/khugepaged" &&
		gcc -O2 -Wall -c -o "$peer/clock.o" "$here/clock.c" &&
		make_tests "-Wl,--wrap=clock_gettime $peer/clock.o" "$peer/bin/migration" &&
		make_tests "" all &&
		gcc -O2 -Wall -static -o "$peer/bin/stir" "$here/stir.c" &&
		strip "$peer/bin/"*
}
build >"$log" 2>&1 </dev/null || {
	grep -nE 'error:|cannot find|\*\*\*|fatal' "$log" | head -n 20 >&2 || true
	die "the kernel's selftests/mm do not build; the log is $(rel "$log")."
}
printf '%s\n' "$key" >"$peer/stamp"
