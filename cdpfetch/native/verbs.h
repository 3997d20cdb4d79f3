/* What this program does itself.  Each gets the arguments after its verb and returns the exit status, or hands over. */
#ifndef CDPF_VERBS_H
#define CDPF_VERBS_H

enum { EXIT_OK = 0, EXIT_SOME_FAILED = 1, EXIT_USAGE = 2, EXIT_UNAVAILABLE = 3 };

int run_fetch(char **arguments);
int run_read(char **arguments);
int run_status(char **arguments);
int run_stop(char **arguments);

#endif
