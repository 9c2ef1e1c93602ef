/* What uname(2) tells. */
#ifndef UNAME_H
#define UNAME_H

#define UTS_FIELD 65u
enum { UTS_SYSNAME, UTS_NODENAME, UTS_RELEASE, UTS_VERSION, UTS_MACHINE, UTS_DOMAINNAME, UTS_FIELDS };
struct utsname { char field[UTS_FIELDS][UTS_FIELD]; };

extern struct utsname uts;

#endif
