/* What this program does not do itself, the command `cdpfetch` does in its place. */
#ifndef CDPF_HANDOVER_H
#define CDPF_HANDOVER_H

/* Called once, with the arguments of main, before anything else. */
void handover_prepare(char **arguments);

/* Becomes `cdpfetch` with the same arguments: the one beside this program, else the one on PATH.  Only to be called
   while nothing has been printed and nothing was asked for that must not be asked for twice. */
_Noreturn void hand_over(void);

#endif
