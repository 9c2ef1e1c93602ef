/* What differs between the systems that init runs on: our kernel (own.c), and Linux (linux.c). */
#ifndef PAGEWALK_INIT_SYSTEM_H
#define PAGEWALK_INIT_SYSTEM_H

/* The file that maps the control device's part for programs, and the offset of that part in the file. */
extern const char control_path[];
extern const unsigned long control_offset;

/* A variable of the environment that tells programs where the control device is; NULL if they know. */
extern const char *const control_variable;

/* Whether the kernel hands words to init that are not meant for init. */
extern const int has_unknown_words;

/* Does what the kernel leaves to init, before any program runs. */
void prepare(void);

/* Ends the system with this status, or returns what init must return. */
int finish(int status);

/* Maps the page at `offset` of a file for reading and writing; NULL if that is not possible. */
volatile unsigned int *map_page(const char *path, unsigned long offset);

/* Write to the console. */
void say(const char *text);
void say_number(unsigned long value);

#endif
