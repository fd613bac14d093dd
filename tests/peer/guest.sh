#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The guest's half of tests/peer/run.sh: runs the tests of /peer/todo (lines of tests/peer/list), one by one,
# and tells of each at once, so that a guest that dies leaves what it had:
#   results      NAME STATUS SECONDS MIGRATED COPIED: status 124 is a time-out; pages that migrated; folios that the
#                engine copied, or -
#   NAME.log     what the test printed
#   environment  KEY VALUE lines
# The kernel's log gets a line at the beginning of each test, for the host to tell whose report is whose.
export PATH="/peer/bin:$PATH"
lift=/sys/kernel/mm/foliolift

printf '%s\n' "kernel $(uname -r)" "topology $LAB_TOPOLOGY" "accelerator $LAB_ACCEL" | emit environment
if [ -d $lift ]; then
	echo cpu >$lift/engine
	echo 1 >$lift/enabled
fi
echo 'nobody:x:65534:65534:nobody:/tmp:/bin/sh' >>/etc/passwd
chmod 1777 /tmp
# mremap_test needs luck with the addresses that it finds free: let it be the same luck each time
echo 0 >/proc/sys/kernel/randomize_va_space
# some tests want swap: a loop device over files that cannot be swapped themselves
mkdir -p /swap
if mount -t ramfs swap /swap; then
	dd if=/dev/zero of=/swap/file bs=1M count=96 2>/dev/null
	losetup /dev/loop0 /swap/file && mkswap /dev/loop0 >/dev/null && swapon /dev/loop0
fi

copied() {
	cat $lift/engines/cpu/folios 2>/dev/null || echo -
}
migrated() {
	awk '$1 == "pgmigrate_success" { print $2 }' /proc/vmstat
}
seconds() {
	cut -d. -f1 /proc/uptime
}
# whatever a test left behind, child or orphan
sweep() {
	for exe in /proc/[0-9]*/exe; do
		case $(readlink "$exe") in
		/peer/bin/*)
			pid=${exe#/proc/}
			kill -9 "${pid%/exe}" 2>/dev/null
			;;
		esac
	done
}
settings() { # HUGETLB_PAGES
	sysctl -qw vm.overcommit_memory=0
	[ "$(cat /proc/sys/vm/nr_hugepages)" != "$1" ] || return 0
	if [ "$1" != 0 ]; then
		echo 3 >/proc/sys/vm/drop_caches
		echo 1 >/proc/sys/vm/compact_memory
	fi
	echo "$1" >/proc/sys/vm/nr_hugepages
}

while read -r name _when limit pages command; do
	echo "peer: $name" >/dev/kmsg
	settings "$pages"
	mkdir -p "/tmp/$name"
	cd "/tmp/$name" || exit 1
	before=$(copied)
	pages=$(migrated)
	start=$(seconds)
	setsid timeout -s TERM -k 3 "$limit" sh -c "$command" >/tmp/log 2>&1 </dev/null
	status=$?
	took=$(($(seconds) - start))
	case $status in
	137 | 143) [ $took -lt "$limit" ] || status=124 ;;
	esac
	sweep
	cd /tmp || exit 1
	rm -rf "/tmp/$name"
	pages=$(($(migrated) - pages))
	copied=-
	[ "$before" = - ] || copied=$(($(copied) - before))
	emit "$name.log" </tmp/log
	echo "$name $status $took $pages $copied" | emit results
	echo "$name $status $took"
done </peer/todo
echo "peer: end" >/dev/kmsg
