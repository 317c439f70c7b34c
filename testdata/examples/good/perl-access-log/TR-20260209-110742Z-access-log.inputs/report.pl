use strict;
use warnings;

my (%client, %failed, $requests, $broken);
while (my $line = <>) {
    if ($line =~ m{^(\S+) \S+ \S+ \[[^\]]+\] "([^"]*)" (\d{3}) (?:\d+|-)$}) {
        my ($ip, $request, $status) = ($1, $2, $3);
        $requests++;
        $client{$ip}++;
        if ($status >= 400) {
            my $page = (split ' ', $request)[1] // 'not HTTP';
            $failed{"$status $page"}++;
        }
    } else {
        $broken++;
    }
}

open my $out, '>', '/out/report.txt' or die "report.txt: $!\n";
for my $part (['requests by client', \%client], ['errors by page', \%failed]) {
    my ($title, $count) = @$part;
    print $out "$title\n";
    for my $key (sort { $count->{$b} <=> $count->{$a} || $a cmp $b } keys %$count) {
        printf $out "%6d  %s\n", $count->{$key}, $key;
    }
    print $out "\n";
}
close $out or die "report.txt: $!\n";
printf "%d requests, %d %s not understood\n", $requests, $broken // 0, ($broken // 0) == 1 ? 'line' : 'lines';
