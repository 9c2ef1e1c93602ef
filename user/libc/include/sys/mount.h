#ifndef PAGEWALK_SYS_MOUNT_H
#define PAGEWALK_SYS_MOUNT_H

int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data);

#endif
