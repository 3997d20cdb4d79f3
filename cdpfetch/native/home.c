#include "home.h"

#include "buffer.h"
#include "output.h"
#include "text.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* The shortest limit of the supported platforms; a longer path gets another directory. */
enum { SOCKET_PATH_MAX = 103, CONFIG_MAX = 1 << 16 };

/* Adds the parts of a path to one that has none of "", "." and ".." in it. */
static void add_parts(Buffer *path, const char *text) {
    while (*text) {
        size_t size = strcspn(text, "/");
        if (size == 2 && memcmp(text, "..", 2) == 0) {
            while (path->size && path->data[--path->size] != '/') {
            }
        } else if (size && !(size == 1 && *text == '.')) {
            buffer_char(path, '/');
            buffer_add(path, text, size);
        }
        text += size;
        text += *text == '/';
    }
}

char *absolute_path(const char *path) {
    Buffer made = {0};
    /* A home directory of somebody, and POSIX's two slashes. */
    if (!*path || *path == '~' || strncmp(path, "//", 2) == 0) {
        return NULL;
    }
    if (*path != '/') {
        char here[PATH_MAX];
        if (!getcwd(here, sizeof here) || *here != '/' || strncmp(here, "//", 2) == 0) {
            return NULL;
        }
        add_parts(&made, here);
    }
    add_parts(&made, path);
    if (!made.size) {
        buffer_char(&made, '/');
    }
    char *result = text_is_utf8(buffer_view(&made), false) ? slice_copy(buffer_view(&made)) : NULL;
    buffer_free(&made);
    return result;
}

static char *below(const char *directory, const char *name) {
    Buffer path = {0};
    buffer_text(&path, directory);
    if (path.size && path.data[path.size - 1] != '/') {
        buffer_char(&path, '/');
    }
    buffer_text(&path, name);
    char *made = slice_copy(buffer_view(&path));
    buffer_free(&path);
    return made;
}

bool home_find(Home *home) {
    const char *named = getenv("CDPFETCH_HOME");
    if (named && *named) {
        home->root = absolute_path(named);
    } else {
        const struct passwd *account = getpwuid(getuid());
        if (!account || !account->pw_dir || !*account->pw_dir || !text_is_utf8(slice_of(account->pw_dir), false)) {
            return false;
        }
        home->root = below(account->pw_dir, ".cdpfetch");
    }
    if (!home->root) {
        return false;
    }
    home->run = below(home->root, "run");
    home->socket = below(home->run, "daemon.sock");
    home->pidfile = below(home->run, "daemon.pid");
    home->artifacts = below(home->root, "artifacts");
    return strlen(home->socket) <= SOCKET_PATH_MAX;
}

bool home_is_ours(const Home *home) {
    struct stat info;
    return lstat(home->run, &info) == 0 && info.st_uid == getuid() && (info.st_mode & 0170077) == 0040000;
}

static bool mentions(const Buffer *text, const char *word) {
    size_t size = strlen(word);
    for (size_t at = 0; at + size <= text->size; at++) {
        if (strncasecmp(text->data + at, word, size) == 0) {
            return true;
        }
    }
    return false;
}

bool home_has_services(const Home *home) {
    /* Sections of the settings, and the variables that their keys have. */
    static const char *const sections[] = {"parallel", "jina", "github"};
    for (char **variable = environ; *variable; variable++) {
        if (strncmp(*variable, "PARALLEL_API_KEY", 16) == 0 || strncmp(*variable, "JINA_API_KEY", 12) == 0) {
            return true;
        }
        for (size_t at = 0; at < sizeof sections / sizeof *sections; at++) {
            size_t size = strlen(sections[at]);
            if (strncmp(*variable, "CDPFETCH_", 9) == 0 && strncasecmp(*variable + 9, sections[at], size) == 0) {
                return true;
            }
        }
    }
    char *path = below(home->root, "config.toml");
    Buffer settings = {0};
    int problem = read_file(path, CONFIG_MAX, &settings);
    bool found = problem && problem != ENOENT;
    /* Escapes may spell a name in other ways. */
    found = found || mentions(&settings, "\\u") || mentions(&settings, "\\x");
    for (size_t at = 0; !found && at < sizeof sections / sizeof *sections; at++) {
        found = mentions(&settings, sections[at]);
    }
    buffer_free(&settings);
    free(path);
    return found;
}
