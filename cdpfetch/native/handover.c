#include "handover.h"

#include "buffer.h"

#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

static char **given;
static void (*broken_pipe)(int);

static void on_interrupt(int number) {
    (void)number;
    /* The daemon cancels what a connection asked for when it is closed. */
    _exit(130);
}

void handover_prepare(char **arguments) {
    given = arguments;
    broken_pipe = signal(SIGPIPE, SIG_IGN);
    /* As a shell wants it: what runs in the background ignores the keyboard. */
    if (signal(SIGINT, SIG_IGN) != SIG_IGN) {
        signal(SIGINT, on_interrupt);
    }
}

/* The path of this program's file, cut to its directory; empty when it is not known. */
static Buffer own_directory(void) {
    Buffer path = {0};
    char name[PATH_MAX];
#ifdef __APPLE__
    uint32_t room = sizeof name;
    char *real = _NSGetExecutablePath(name, &room) == 0 ? realpath(name, NULL) : NULL;
    if (real) {
        buffer_text(&path, real);
        free(real);
    }
#else
    ssize_t size = readlink("/proc/self/exe", name, sizeof name);
    if (size > 0 && size < (ssize_t)sizeof name) {
        buffer_add(&path, name, (size_t)size);
    }
#endif
    while (path.size && path.data[path.size - 1] != '/') {
        path.size--;
    }
    return path;
}

_Noreturn void hand_over(void) {
    signal(SIGPIPE, broken_pipe);
    Buffer path = own_directory();
    given[0] = (char[]){"cdpfetch"};
    if (path.size) {
        buffer_text(&path, "cdpfetch");
        buffer_char(&path, '\0');
        execv(path.data, given);
    }
    execvp("cdpfetch", given);
    static const char lost[] = "cdpfetch: the command cdpfetch is neither beside cdpf nor on PATH\n"
                               "  hint: install the package cdpfetch again\n";
    ssize_t written = write(2, lost, sizeof lost - 1);
    (void)written;
    _exit(3);
}
