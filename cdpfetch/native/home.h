/* Where everything lives (paths.py), and what makes a call one for `cdpfetch`. */
#ifndef CDPF_HOME_H
#define CDPF_HOME_H

#include <stdbool.h>

typedef struct {
    char *root;
    char *run;
    char *socket;
    char *pidfile;
    char *artifacts;
} Home;

/* The home of this account; false where `cdpfetch` has to find it, or may name it otherwise than we would. */
bool home_find(Home *home);

/* Whether the runtime directory, if there is one, is ours and private. */
bool home_is_ours(const Home *home);

/* Whether a service of others may be set up to fetch: those are called by `cdpfetch` alone. */
bool home_has_services(const Home *home);

/* os.path.abspath; NULL where `cdpfetch` has to tell. */
char *absolute_path(const char *path);

#endif
