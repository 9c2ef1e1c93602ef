/* The kernel's command line (docs/interfaces.md, section 5). */
#ifndef COMMAND_LINE_H
#define COMMAND_LINE_H

/* Reads all words but policies; powers off with status 64 at an unknown word. Allocates nothing. */
void command_line_early(void);
/* Reads the policies' words; powers off with status 64 at a value that is not a choice. */
void command_line_policies(void);

#endif
