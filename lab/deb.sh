#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A Debian package of the kernel with foliolift, in build/deb: linux-image-6.12.y-foliolift and its headers.
# Built by the kernel's own bindeb-pkg from build/linux/lifted.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/lib.sh"

usage() {
	cat <<'USAGE'
lab/deb.sh [--config FILE] [--boot]
  --config FILE   a server's own configuration, /boot/config-VERSION, with CONFIG_FOLIOLIFT=y added; without it the
                  lab's, which has no drivers for real machines
  --boot          boot the kernel out of the built package in the lab and migrate pages there
USAGE
}
config='' boot=0
while [ $# -gt 0 ]; do
	case $1 in
	--config)
		[ $# -ge 2 ] || usage_die "deb: --config wants a file."
		[ -r "$2" ] || usage_die "deb: $2 cannot be read; give a kernel configuration such as /boot/config-$(uname -r)."
		grep -q '^CONFIG_64BIT=y' "$2" || usage_die "deb: $2 is not the configuration of a 64-bit kernel."
		config=$(realpath "$2")
		shift
		;;
	--boot) boot=1 ;;
	-h | --help) usage; exit 0 ;;
	*) usage_die "deb: unknown option '$1'; lab/deb.sh --help lists them." ;;
	esac
	shift
done

out=$BUILD/deb lifted=$BUILD/linux/lifted log=$BUILD/log/deb.log
free=$(df --output=avail -BG "$ROOT" | tail -n1 | tr -dc 0-9)
want=2
[ -z "$config" ] || want=25
[ "$free" -ge "$want" ] || die "a kernel package with this configuration takes $want GB of disk and $free GB are free; make room below $ROOT."
[ -z "${CHECK_ONLY-}" ] || exit 0
"$ROOT/lab/packages.sh" debhelper dpkg-dev fakeroot
take_lock deb
mkdir -p "$out" "$BUILD/log"

# ---- configuration and objects: with the lab's, those of the lifted kernel are the start
if [ -z "$config" ]; then
	objects=$BUILD/kernel/deb-lab
	"$ROOT/lab/kernel.sh" lifted --objects "$objects"
else
	objects=$BUILD/kernel/deb-config
	"$ROOT/lab/overlay.sh"
	mkdir -p "$objects"
	cp "$config" "$objects/.config"
	# keys of the distributor that built the kernel the configuration is from are not ours
	"$lifted/scripts/config" --file "$objects/.config" --enable FOLIOLIFT --disable FOLIOLIFT_KUNIT_TEST \
		--disable FOLIOLIFT_TEST_ENGINE --set-str SYSTEM_TRUSTED_KEYS '' --set-str SYSTEM_REVOCATION_KEYS ''
fi
"$lifted/scripts/config" --file "$objects/.config" --set-str LOCALVERSION -foliolift --disable LOCALVERSION_AUTO
make -C "$lifted" O="$objects" olddefconfig >"$log" 2>&1 </dev/null ||
	die "the kernel cannot be configured with ${config:-the lab configuration}; the log is $(rel "$log")."
grep -q '^CONFIG_FOLIOLIFT=y' "$objects/.config" ||
	die "CONFIG_FOLIOLIFT does not go with ${config:-the lab configuration}: it needs MIGRATION, SYSFS and a 64-bit kernel."

# ---- build
version=$(kernel_version <"$lifted/Makefile")
export PATH=/usr/lib/ccache:$PATH CCACHE_DIR=${CCACHE_DIR:-$BUILD/ccache} CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-3G}
export KBUILD_BUILD_TIMESTAMP='2025-01-01' KBUILD_BUILD_USER=foliolift KBUILD_BUILD_HOST=lab KBUILD_BUILD_VERSION=1
export DEBFULLNAME=foliolift DEBEMAIL=foliolift@localhost KDEB_CHANGELOG_DIST=bookworm KDEB_SOURCENAME=linux-foliolift
KDEB_PKGVERSION=$version-$(git -C "$ROOT" rev-list --count HEAD 2>/dev/null || echo 1)
export KDEB_PKGVERSION DEB_BUILD_OPTIONS="parallel=${JOBS:-$(nproc)}"
# debugging symbols would be most of the package; the lab's headers serve nobody
DEB_BUILD_PROFILES=pkg.linux-foliolift.nokerneldbg
[ -n "$config" ] || DEB_BUILD_PROFILES+=' pkg.linux-foliolift.nokernelheaders'
export DEB_BUILD_PROFILES
rm -f "$BUILD"/kernel/*.deb "$BUILD"/kernel/linux-foliolift_*
make -C "$objects" bindeb-pkg >"$log" 2>&1 </dev/null &
pid=$!
# shellcheck disable=SC2317 # called by the trap
stop() {
	kill "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	die "the build of the package was stopped; the next run goes on from there."
}
trap stop INT TERM HUP
start=$SECONDS last=0
while kill -0 "$pid" 2>/dev/null; do
	sleep 1
	[ $((SECONDS - last)) -ge 10 ] || continue
	last=$SECONDS
	say "building the package: $(grep -cE '^ *(CC|AS|LD|# CC|# AS|# LD) ' "$log" || true) objects compiled anew, $(elapsed $start)"
done
status=0
wait "$pid" || status=$?
trap - INT TERM HUP
if [ "$status" != 0 ]; then
	{ grep -nE 'error:|Unmet build dep|\*\*\*' "$log" | head -n 20; tail -n 15 "$log"; } >&2
	die "the package cannot be built; the whole log is in $(rel "$log")."
fi
rm -f "$out"/*.deb
# linux-libc-dev would take the place of the distribution's
rm -f "$BUILD"/kernel/linux-libc-dev_*.deb "$BUILD"/kernel/linux-foliolift_*
mv "$BUILD"/kernel/*.deb "$out/"
image=$(find "$out" -name 'linux-image-*-foliolift_*.deb')
for package in "$out"/*.deb; do printf '%s  %s\n' "$(rel "$package")" "$(du -h "$package" | cut -f1)"; done
if [ -z "$config" ]; then
	say "It has the lab's configuration; for a server: ./run deb --config /boot/config-\$(uname -r)"
else
	say "Install it on the server with: sudo apt install ./$(basename "$image")"
fi
[ $boot = 1 ] || exit 0

# ---- boot what is in the package
work=$(mktemp -d "${TMPDIR:-/tmp}/foliolift-deb.XXXXXX")
trap 'rm -rf "$work"' EXIT
dpkg-deb -x "$image" "$work/root"
vmlinuz=$(find "$work/root/boot" -name 'vmlinuz-*')
[ -f "$vmlinuz" ] || die "$(rel "$image") has no kernel in it; its build log is $(rel "$log")."
install -D "$vmlinuz" "$work/kernel/arch/x86/boot/bzImage"
mv "$work/root/lib/modules" "$work/kernel/modules"
mkdir -p "$work/add/deb"
gcc -O2 -static -o "$work/add/deb/moveonce" "$ROOT/tools/moveonce.c"
cat >"$work/add/deb/check" <<'CHECK'
set -e
lift=/sys/kernel/mm/foliolift
uname -r
[ -d $lift ] || { echo "there is no $lift"; exit 1; }
echo cpu >$lift/engine
echo 1 >$lift/enabled
/deb/moveonce --page-size 4k --folios 512
/deb/moveonce --page-size 2m --folios 4
n=$(cat $lift/engines/cpu/pages)
echo "pages copied in batches: $n"
[ "$n" -ge 2560 ]
CHECK
"$ROOT/lab/boot.sh" --kernel "$work/kernel" --add "$work/add" --log "$BUILD/log/deb-boot.log" --timeout 120 -- sh /deb/check ||
	die "the packaged kernel does not migrate pages in the lab; its console is in $(rel "$BUILD/log/deb-boot.log")."
say "the packaged kernel boots and migrates"
