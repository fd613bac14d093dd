#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Boots a kernel in QEMU, runs one command in it and ends with the command's status.
# The contract is docs/lab-contract.md; the guest's side is lab/guest/init and lab/guest/emit.c.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "$0")/lib.sh"

usage() {
	cat <<'USAGE'
lab/boot.sh --kernel stock|lifted|debug|arm64|DIR|FILE [options] -- COMMAND [ARG...]
  --topology NAME      a file of lab/topologies (numa2; of an arm64 kernel arm64-dma)
  --accel auto|tcg|kvm auto: kvm if a short probe boots a guest, else tcg
  --icount             one instruction is one nanosecond of guest time (implies tcg, one thread)
  --plugin FILE,ARG=.. a TCG plugin (implies tcg)
  --append "k=v ..."   more words for the kernel's command line
  --add DIR            DIR's contents also appear in the guest's root (may be repeated)
  --timeout SECONDS    (300)
  --log FILE           keep the console's log there
  --out DIR            where `emit NAME` of the guest appends (build/out)
  --shell              instead of a command: a shell on the console
One COMMAND word is a line for the guest's shell; several are a program and its arguments.
Status: the command's; 124 timed out; 125 the guest died; 126 the kernel log has a report.
USAGE
}

arguments=("$@")
kernel='' topology='' accel=auto icount=0 plugin='' append='' limit=300 log='' out=$BUILD/out shell=0 add=()
while [ $# -gt 0 ]; do
	case $1 in
	--kernel | --topology | --accel | --plugin | --append | --add | --timeout | --log | --out)
		[ $# -ge 2 ] || usage_die "boot: $1 wants a value." ;;
	esac
	case $1 in
	--kernel) kernel=$2; shift ;;
	--topology) topology=$2; shift ;;
	--accel) accel=$2; shift ;;
	--plugin) plugin=$2; shift ;;
	--append) append=$2; shift ;;
	--add) add+=("$2"); shift ;;
	--timeout) limit=$2; shift ;;
	--log) log=$2; shift ;;
	--out) out=$2; shift ;;
	--icount) icount=1 ;;
	--shell) shell=1 ;;
	-h | --help) usage; exit 0 ;;
	--) shift; break ;;
	*) usage_die "boot: unknown option '$1'; lab/boot.sh --help lists them." ;;
	esac
	shift
done
[ -n "$kernel" ] || usage_die "boot: --kernel stock, lifted, debug, arm64 or a build directory is missing."
[ "$shell" = 1 ] || [ $# -gt 0 ] || usage_die "boot: the command to run in the guest is missing (after --)."
[[ $limit =~ ^[1-9][0-9]*$ ]] || usage_die "boot: --timeout wants whole seconds, not '$limit'."
for dir in "${add[@]}"; do [ -d "$dir" ] || usage_die "boot: --add $dir: no such directory."; done

# The kernel's image and the directory its modules are taken from.
case " $KERNELS " in
*" $kernel "*) objects=$BUILD/kernel/$kernel ;;
*) objects=$(realpath -m "$kernel") ;;
esac
arch=x86_64 image=$objects/arch/x86/boot/bzImage
[ ! -f "$objects/arch/arm64/boot/Image" ] || arch=arm64 image=$objects/arch/arm64/boot/Image
[ -n "$topology" ] || topology=$([ "$arch" = arm64 ] && echo arm64-dma || echo numa2)
check_topology "$topology"
if [ -f "$objects" ]; then
	image=$objects objects=
	arch=$(topology_arch "$topology")
fi
[ -f "$image" ] || die "there is no built kernel '$kernel'; build it with ./run kernel ${kernel##*/}."
check_topology "$topology" "$arch"

# What differs between the processors: QEMU, its machine, the serial ports, and where the guest's programs are from.
case $arch in
x86_64)
	emulator=qemu-system-x86_64 tools='' ports=(ttyS0 ttyS1)
	programs=$BUILD/guest busybox=/bin/busybox scripts=()
	;;
arm64)
	emulator=qemu-system-aarch64 tools=aarch64-linux-gnu- ports=(ttyAMA0 ttyAMA1)
	programs=$BUILD/guest/arm64 busybox=$BUILD/guest/arm64/busybox scripts=("$ROOT"/tests/guest/arm64/*.sh)
	;;
esac
command -v "$emulator" >/dev/null || die "$emulator is missing; ./run kernel ${kernel##*/} installs it."
[ -x "$busybox" ] || die "busybox for $arch is missing; ./run kernel ${kernel##*/} installs it."

work=$(mktemp -d "${TMPDIR:-/tmp}/foliolift.XXXXXX")
pid=''
# shellcheck disable=SC2317 # called by the trap
finish() {
	[ -z "$pid" ] || { kill "$pid" && wait "$pid"; } 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT
console=$work/console
show_tail() { # LINES
	say "--- the guest's console, last lines:"
	tail -n "$1" "$console" 2>/dev/null | tr -d '\r' >&2 || true
	say "---"
}
trap 'say "foliolift: stopped."; show_tail 15; exit 130' INT
trap 'say "foliolift: stopped."; show_tail 15; exit 143' TERM HUP

# ---- which accelerator
probe_kvm() {
	local key cache=$BUILD/.kvm-probe
	key="$(cat /proc/sys/kernel/random/boot_id 2>/dev/null) $(qemu-system-x86_64 --version | head -n1)"
	if [ ! -f "$cache" ] || [ "$(head -n1 "$cache")" != "$key" ]; then
		local found=tcg
		# the guest's caches and KVM's state both have to work: only a whole boot tells
		if [ -w /dev/kvm ] && "$0" --kernel "$kernel" --accel kvm --timeout 10 --out "$work" \
			--log "$work/probe" -- true >/dev/null 2>&1; then
			found=kvm
		fi
		printf '%s\n%s\n' "$key" "$found" >"$work/probe" && mv "$work/probe" "$cache"
	fi
	tail -n1 "$cache"
}
mkdir -p "$BUILD/log" "$programs" "$out"
[ -z "$plugin" ] && [ $icount = 0 ] || accel=tcg
[ "$arch" = x86_64 ] || [ "$accel" != auto ] || accel=tcg
[ "$accel" != auto ] || accel=$(probe_kvm)
case $accel in
kvm)
	[ "$arch" = x86_64 ] || usage_die "boot: an $arch kernel can only be emulated; leave out --accel kvm."
	machine=(-accel kvm) cpu=host
	;;
tcg) machine=(-accel "tcg,thread=multi") cpu=max ;;
*) usage_die "boot: unknown accelerator '$accel'; known are: auto, tcg, kvm." ;;
esac
[ $icount = 0 ] || machine=(-accel "tcg,thread=single" -icount "shift=0,sleep=off")
[ -z "$plugin" ] || machine+=(-plugin "$plugin" -d plugin -D "$out/plugin.log")
[ "$arch" != x86_64 ] || machine+=(-cpu "$cpu" -machine q35)

# ---- topology: a line is an option of QEMU and its value, or "arch NAME", or "kernel WORD...", or
# "device-tree PATH PROPERTY [STRING]": a property that nodes get, all whose names fit the last part of the path
words=() board=() properties=()
while read -ra words; do
	case ${words[0]-} in
	'' | '#'* | arch) ;;
	device-tree) properties+=("${words[*]:1}") ;;
	kernel) append="${words[*]:1} $append" ;;
	*)
		# a measurement does not want to wait for the host's memory in the middle of a copy
		[ -z "${LAB_PREALLOC-}" ] || words=("${words[@]/#memory-backend-ram,/memory-backend-ram,prealloc=on,}")
		board+=("${words[@]//@CPU@/$cpu}")
		;;
	esac
done <"$ROOT/lab/topologies/$topology.conf"

# The device tree that QEMU makes for this machine, with those properties
if [ ${#properties[@]} -gt 0 ]; then
	command -v fdtput >/dev/null || die "fdtput is missing; ./run kernel ${kernel##*/} installs it."
	tree=$work/machine.dtb
	# through dtc, since fdtget stumbles over what QEMU leaves out of its tree again
	{ "$emulator" -nodefaults -display none "${board[@]}" -machine "dumpdtb=$tree.raw" &&
		dtc -q -I dtb -O dtb -p 4096 -o "$tree" "$tree.raw"; } >"$work/dtb.said" 2>&1 ||
		{ cat "$work/dtb.said" >&2; die "QEMU does not tell this machine's device tree; what it said is above."; }
	for property in "${properties[@]}"; do
		read -ra words <<<"$property"
		parent=${words[0]%/*}
		mapfile -t nodes < <(fdtget -l "$tree" "${parent:-/}" 2>/dev/null | while read -r node; do
			# shellcheck disable=SC2254 # a pattern it is
			case $node in ${words[0]##*/}) echo "$parent/$node" ;; esac
		done)
		[ ${#nodes[@]} -gt 0 ] || die "this QEMU's device tree has no node '${words[0]}'; mend lab/topologies/$topology.conf."
		for node in "${nodes[@]}"; do fdtput -t s "$tree" "$node" "${words[@]:1}"; done
	done
	board+=(-dtb "$tree")
fi

# ---- the guest's file system: what seldom changes is cached, the rest is appended to it
emit=$programs/emit
if [ ! -x "$emit" ] || [ "$ROOT/lab/guest/emit.c" -nt "$emit" ]; then
	"${tools}gcc" -O2 -Wall -static -s -o "$work/emit" "$ROOT/lab/guest/emit.c"
	mv "$work/emit" "$emit"
fi
pack() { (cd "$1" && find . -mindepth 1 -print0 | sort -z | cpio --null -o -H newc -R 0:0 --quiet); }

make_base() {
	local tree=$work/root f inputs=("$ROOT/lab/guest" "$ROOT/tests/guest" "$programs/bin" "$emit" "$busybox")
	local modules=() list=$work/inputs base=$BUILD/guest/root-$1.cpio lock
	if [ -n "$objects" ]; then mapfile -d '' modules < <(find "$objects" -name '*.ko' -print0 2>/dev/null | sort -z); fi
	for f in "${inputs[@]}" "${modules[@]}"; do
		[ ! -e "$f" ] || find -L "$f" -type f -printf '%p %s %T@\n'
	done | cat - <(printf '%s\n' "$0" "$kernel") <(stat -c %Y "$0") >"$list"
	exec {lock}>"$base.lock"
	flock "$lock"
	if ! cmp -s "$list" "$base.inputs" || [ ! -f "$base" ]; then
		mkdir -p "$tree/bin" "$tree/lab" "$tree/lib/modules/foliolift"
		cp "$busybox" "$tree/bin/busybox"
		ln -s busybox "$tree/bin/sh"
		cp "$ROOT/lab/guest/init" "$tree/init"
		cp "$emit" "$tree/lab/"
		for f in "$programs/bin/"* "$ROOT/lab/guest/"*.sh "$ROOT/tests/guest/"*.sh "${scripts[@]}"; do
			[ ! -f "$f" ] || cp -L "$f" "$tree/lab/"
		done
		chmod -R a+rx "$tree/lab" "$tree/init" "$tree/bin"
		if [ ${#modules[@]} -gt 0 ]; then
			cp "${modules[@]}" "$tree/lib/modules/foliolift/"
			"${tools}strip" --strip-debug "$tree/lib/modules/foliolift/"*.ko
		fi
		pack "$tree" >"$base.new"
		mv "$base.new" "$base"
		cp "$list" "$base.inputs"
	fi
	cp --reflink=auto "$base" "$work/initrd"
	exec {lock}>&-
}
make_base "$(basename "$kernel")-$(printf %s "$image" | cksum | cut -d' ' -f1)"

mkdir "$work/cmd"
if [ "$shell" = 1 ] && [ ! -t 0 ]; then
	cat >"$work/cmd/lab.cmd" # no terminal: the commands come from standard input
	shell=0
elif [ $# = 1 ]; then
	printf '%s\n' "$1" >"$work/cmd/lab.cmd"
else
	printf '%s ' "${@@Q}" >"$work/cmd/lab.cmd"
fi
cat >"$work/cmd/lab.env" <<ENV
export LAB_KERNEL=${kernel@Q} LAB_TOPOLOGY=${topology@Q} LAB_ACCEL=$accel LAB_ICOUNT=$icount LAB_SHELL=$shell LAB_PORT=/dev/${ports[1]}
ENV
pack "$work/cmd" >>"$work/initrd"
for dir in "${add[@]}"; do pack "$dir" >>"$work/initrd"; done

# ---- the boot
# Whatever kills this script takes the guest along (pdeathsig); a panic or reboot ends QEMU (-no-reboot).
guest=(setpriv --pdeathsig KILL "$emulator" -nodefaults -no-user-config -display none -no-reboot
	"${machine[@]}" "${board[@]}" -kernel "$image" -initrd "$work/initrd"
	-append "console=${ports[0]} rdinit=/init panic=-1 oops=panic nokaslr rcupdate.rcu_cpu_stall_timeout=120 $append")
port=$work/port
mkfifo "$port"
"$ROOT/lab/demux.pl" "$out" "$work/status" <"$port" &
reader=$!
: >"$console"
qemu=0
if [ "$shell" = 1 ]; then
	"${guest[@]}" -chardev "stdio,id=c0,mux=on,signal=off,logfile=$console" -serial chardev:c0 \
		-mon chardev=c0 -serial "file:$port" || qemu=$?
else
	setpriv --pdeathsig TERM timeout --foreground -k 5 "$limit" "${guest[@]}" \
		-serial "file:$console" -serial "file:$port" </dev/null 2>"$work/qemu.err" &
	pid=$!
	wait "$pid" || qemu=$?
	pid=''
	# a board's own network ports are left alone
	grep -vE 'terminating on signal|warning: nic [^ ]* has no peer' "$work/qemu.err" >&2 || true
fi
# A QEMU that never opened the port leaves the reader waiting: open and close it once.
: <>"$port"
if kill -0 "$reader" 2>/dev/null; then { : >"$port"; } 2>/dev/null & opener=$!; fi
wait "$reader" || true
[ -z "${opener-}" ] || { kill "$opener" && wait "$opener"; } 2>/dev/null || true

keep_log() {
	[ -n "$log" ] || log=$BUILD/log/boot-$(basename "$kernel")-$topology-$$.log
	mkdir -p "$(dirname "$log")"
	cp "$console" "$log"
}
[ -z "$log" ] || keep_log

# ---- the verdict
status=$(cat "$work/status" 2>/dev/null || true)
if [ -z "$status" ]; then
	keep_log
	# Emulated CPUs with a thread each may go on executing a breakpoint that another CPU has already taken out of the
	# code (docs/testing.md). The kernel patches its code while it boots: before the first program that says nothing
	# of what is to be tested, so boot again, once.
	if [ "$accel" = tcg ] && [ -z "${LAB_AGAIN-}" ] && grep -q 'Oops: int3' "$console" &&
		! grep -q 'Run /init as init process' "$console"; then
		say "foliolift: the emulator met a stale breakpoint while the kernel was booting; booting again. The console is in $(rel "$log")."
		finish
		LAB_AGAIN=1 exec "$0" "${arguments[@]}"
	fi
	if [ "$qemu" = 124 ] || [ "$qemu" = 137 ]; then
		show_tail 40
		say "foliolift: the guest ran longer than $limit s and was stopped; its console is in $(rel "$log")."
		exit 124
	fi
	show_tail 40
	say "foliolift: the guest ended without a status (a panic, it was ended from outside, or QEMU failed); its console is in $(rel "$log")."
	exit 125
fi
if ! "$ROOT/lab/log-check.sh" "$console" >"$work/report"; then
	keep_log
	cat "$work/report" >&2
	say "foliolift: the kernel log has a report (above); the whole log is in $(rel "$log")."
	[ "$status" != 0 ] || status=126
fi
exit "$status"
