# What runs beside a build on a machine in use: daemons that sleep, and one that looks at the system ten times a second, as
# a load meter does. The kernel's own tick comes a hundred times a second. Sourced by gcc-job.sh.
mkdir -p /tmp/crontabs
syslogd -O /tmp/messages
klogd
crond -c /tmp/crontabs
httpd -h /tmp
(
	while sleep 0.1; do
		read -r load </proc/loadavg
		while read -r line; do :; done </proc/meminfo
		logger "load $load"
	done
) &
