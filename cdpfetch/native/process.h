/* The daemon's process and those that end with it (process.py, starting.py).  Only Linux tells what is needed here. */
#ifndef CDPF_PROCESS_H
#define CDPF_PROCESS_H

#include "home.h"

#include <stdbool.h>

/* A process as it was seen; a later one of the same number has another start. */
typedef struct {
    int pid;
    unsigned long long started;
} Process;

typedef struct {
    Process daemon;
    Process *followers; /* the Chrome on its pipe with all its processes, and the workers */
    unsigned count;
} Family;

/* The daemon that the pidfile names, verified, with its followers; false when it names none that lives. */
bool process_family(const Home *home, Family *family);

/* Waits for a daemon to end, at most `milliseconds`. */
bool process_await(const Family *family, long long milliseconds);

/* Sees that the followers of a daemon that has ended are gone too. */
void process_end_followers(const Family *family);

/* Ends the daemon at once, and its followers; whether there was one. */
bool process_end(const Home *home);

#endif
