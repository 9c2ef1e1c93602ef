#!/bin/sh
# Says how many processors Linux has, and how many of them have been interrupted by their timers.
processors=$(busybox grep -c '^processor' /proc/cpuinfo)
line=$(busybox grep -E '^ *LOC:' /proc/interrupts) || line=$(busybox grep -E '^ *0:' /proc/interrupts)
set -- $line
shift
timers=0
while [ "$processors" -ge $((timers + 1)) ] && [ "${1:-0}" -gt 0 ] 2>/dev/null; do
	timers=$((timers + 1))
	shift
done
echo "processors: $processors, with a timer: $timers"
