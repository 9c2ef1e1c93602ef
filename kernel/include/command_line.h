/* The kernel's command line (docs/interfaces.md, section 5). */
#ifndef COMMAND_LINE_H
#define COMMAND_LINE_H

/* All words but policies; off with status 64 for a word that nobody knows. Needs no memory. */
void command_line_early(void);
/* The policies' words; off with status 64 for a value that is no choice. */
void command_line_policies(void);

#endif
