#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
# report.pl [--top N] instructions.json: the profile as tables for people.
use strict;
use warnings;
use Getopt::Long;
use JSON::PP;
use List::Util qw(max);

my $top = 30;
GetOptions('top=i' => \$top) && @ARGV == 1 or die "usage: report.pl [--top N] instructions.json\n";
my $results = decode_json(do { local (@ARGV, $/) = @ARGV; <> });

# ---- a column for each kernel and engine, stock first

my (@columns, %title);
for (@{$results->{rows}}) {
	my $column = "$_->{kernel} $_->{engine}";
	next if $title{$column};
	$title{$column} = $_->{engine} ne 'none' ? "$_->{kernel}, $_->{engine}" : $_->{kernel} eq 'stock' ? 'stock' : "$_->{kernel}, off";
	push @columns, $column;
}
my $base = $columns[0];
my (%row, %functions);
for (@{$results->{rows}}) {
	# a call for which no difference exists stands for itself
	my $what = $_->{measure} eq 'difference' ? 'each' : $_->{pages};
	$row{$_->{page_size}}{$what}{$_->{init_on_alloc}}{"$_->{kernel} $_->{engine}"} = $_;
}
for (@{$results->{functions}}) {
	next if $_->{measure} ne 'difference' || $_->{init_on_alloc};
	$functions{$_->{page_size}}{$_->{function}}{"$_->{kernel} $_->{engine}"} = $_->{instructions_per_page};
}

sub heading {
	my ($label, $width) = @_;
	printf "%-${width}s %14s", $label, $title{$base};
	printf " %14s   /%s", $title{$_}, $title{$base} for @columns[1 .. $#columns];
	print "\n";
}

sub line {
	my ($label, $width, $digits, $cells) = @_;
	printf "%-${width}s", $label;
	for (@columns) {
		my $value = $cells->{$_};
		printf ' %14s', defined $value ? sprintf("%.${digits}f", $value) : '-';
		next if $_ eq $base;
		my $ratio = defined $value && $cells->{$base} ? sprintf('%.4f', $value / $cells->{$base}) : '-';
		printf ' %*s', length($title{$base}) + 3, $ratio;
	}
	print "\n";
}

sub cells {
	my ($rows, $field) = @_;
	return { map { $_ => $rows->{$_}{$field} } keys %$rows };
}

# ---- totals

my %size = (4096 => '4 KB pages', 2097152 => '2 MB pages');
print "\nInstructions per 4 KB page of move_pages(2)\n\n";
for my $bytes (sort { $a <=> $b } keys %row) {
	for my $init (sort { $a <=> $b } keys %{$row{$bytes}{each}}) {
		my $rows = $row{$bytes}{each}{$init};
		heading("$size{$bytes}, init_on_alloc=$init", 34);
		line('  total', 34, 1, cells($rows, 'instructions_per_page'));
		line('  the copy', 34, 1, cells($rows, 'copy_instructions_per_page'));
		line('  serial path (total - copy)', 34, 1, cells($rows, 'serial_instructions_per_page'));
		line('    of it zeroing', 34, 1, cells($rows, 'zero_instructions_per_page')) if $init;
		print "\n";
	}
}

print "Instructions of a whole call (the median of several; of small calls the least)\n\n";
for my $bytes (sort { $a <=> $b } keys %row) {
	my @pages = sort { $a <=> $b } grep { $_ ne 'each' } keys %{$row{$bytes}};
	for my $init (sort { $a <=> $b } keys %{$row{$bytes}{$pages[0]}}) {
		heading("$size{$bytes}, init_on_alloc=$init", 34);
		for my $pages (@pages) {
			my $rows = $row{$bytes}{$pages}{$init} or next;
			my $folios = $pages * 4096 / $bytes;
			line("  $folios" . ($folios > 1 ? ' pages' : ' page'), 34, 0, cells($rows, 'instructions'));
			my ($first) = values %$rows;
			line('    median', 34, 0, cells($rows, 'median')) if $first->{instructions} != $first->{median};
		}
		print "\n";
	}
}

# ---- functions: those that cost stock most, then those whose cost changed most

sub breakdown {
	my ($heading, $table, @names) = @_;
	my $width = max(34, map { length } @names);
	heading($heading, $width);
	line($_, $width, 1, $table->{$_}) for @names;
	print "\n";
}

for my $bytes ($top ? sort { $a <=> $b } keys %functions : ()) {
	my $table = $functions{$bytes};
	my @costly = sort { ($table->{$b}{$base} // 0) <=> ($table->{$a}{$base} // 0) || $a cmp $b } keys %$table;
	splice @costly, $top if @costly > $top;
	print "Instructions per 4 KB page by function, $size{$bytes}, init_on_alloc=0: the $top that cost $title{$base} most\n\n";
	breakdown('function', $table, @costly);
	next if @columns < 2;
	my $change = sub {
		my $f = $table->{$_[0]};
		return max(map { abs(($f->{$_} // 0) - ($f->{$base} // 0)) } @columns[1 .. $#columns]);
	};
	my @changed = grep { $change->($_) >= 1 } keys %$table;
	@changed = sort { $change->($b) <=> $change->($a) || $a cmp $b } @changed;
	splice @changed, $top if @changed > $top;
	next unless @changed;
	print "The same: those that differ most, by one instruction or more\n\n";
	breakdown('function', $table, @changed);
}
