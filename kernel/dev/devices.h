/* The operations of the device files. */
#ifndef DEVICES_H
#define DEVICES_H
#include <file.h>

extern const struct file_ops null_ops, zero_ops, full_ops, random_ops, pagewalk_ops, ramdisk_ops;

#define RAMDISKS 16u

#endif
