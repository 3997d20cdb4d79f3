/* cdpf: the verbs of cdpfetch that are called often, without the start of an interpreter.
 *
 * It prints what `cdpfetch` prints and ends as it ends.  Whatever it does not do itself, or is not sure of, it hands
 * over to `cdpfetch` before it has printed or asked for anything. */
#include "handover.h"
#include "text.h"
#include "verbs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    int (*run)(char **arguments);
} VERBS[] = {
    {"fetch", run_fetch},
    {"read", run_read},
    {"status", run_status},
    {"stop", run_stop},
};

/* Whether Python would take arguments for UTF-8 and write errors in it. */
static bool speaks_utf8(void) {
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *locale = NULL;
    for (size_t at = 0; at < sizeof variables / sizeof *variables && (!locale || !*locale); at++) {
        locale = getenv(variables[at]);
    }
    if (getenv("PYTHONIOENCODING") || getenv("PYTHONUTF8")) {
        return false;
    }
    if (!locale || !*locale || strcmp(locale, "C") == 0 || strcmp(locale, "POSIX") == 0) {
        return true;
    }
    const char *charset = strchr(locale, '.');
    return charset && (strncasecmp(charset, ".utf-8", 6) == 0 || strncasecmp(charset, ".utf8", 5) == 0);
}

/* Whether all of an ordinary call is there: its standard streams, and arguments that are text. */
static bool is_ordinary(char **arguments) {
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            return false;
        }
    }
    for (; *arguments; arguments++) {
        if (!**arguments || !text_is_utf8(slice_of(*arguments), false)) {
            return false;
        }
    }
    return speaks_utf8();
}

int main(int count, char **arguments) {
    if (count < 1) {
        return EXIT_USAGE;
    }
    handover_prepare(arguments);
    if (count > 1 && is_ordinary(arguments)) {
        for (size_t at = 0; at < sizeof VERBS / sizeof *VERBS; at++) {
            if (strcmp(arguments[1], VERBS[at].name) == 0) {
                return VERBS[at].run(arguments + 2);
            }
        }
    }
    hand_over();
}
