#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
# demux.pl DIR STATUSFILE <stream: what emit sent from the guest, to files of DIR as it comes.
use strict;
use warnings;
use IO::Handle;

my ($dir, $status) = @ARGV;
my %out;
$SIG{INT} = $SIG{TERM} = 'IGNORE';    # the end of the stream ends this; what came must be kept
STDOUT->autoflush(1);
while (my $line = <STDIN>) {
	my ($name, $text) = $line =~ /\A([A-Za-z0-9_=-][A-Za-z0-9._-]*)\t(.*)\z/s or next;
	$text =~ s/\r?\n?\z/\n/;
	if ($name eq '-') {
		print $text;
	} elsif ($name eq '=') {
		open(my $f, '>', $status) or die "cannot write the status: $!\n";
		print $f $text;
		close $f;
	} else {
		if (!$out{$name}) {
			open($out{$name}, '>>', "$dir/$name") or die "cannot write $name into the results: $!\n";
			$out{$name}->autoflush(1);
		}
		print { $out{$name} } $text;
	}
}
