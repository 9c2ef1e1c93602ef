/* What uname(2) tells. */
#ifndef UNAME_H
#define UNAME_H

struct utsname {
	char sysname[65], nodename[65], release[65], version[65], machine[65], domainname[65];
};

extern struct utsname kernel_name;

#endif
