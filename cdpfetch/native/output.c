#include "output.h"

#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_all(int fd, const Buffer *data) {
    for (size_t at = 0; at < data->size;) {
        ssize_t written = write(fd, data->data + at, data->size - at);
        if (written >= 0) {
            at += (size_t)written;
        } else if (errno == EAGAIN) {
            struct pollfd waiting = {.fd = fd, .events = POLLOUT, .revents = 0};
            poll(&waiting, 1, -1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

void write_out(const Buffer *data) {
    if (!write_all(1, data)) {
        _exit(1);
    }
}

void write_error(const Buffer *data) {
    (void)write_all(2, data);
}

void complain(Slice url, Slice reason, Slice hint) {
    Buffer lines = {0};
    buffer_text(&lines, "cdpfetch: ");
    if (url.size) {
        text_one_line(&lines, url, URL_LIMIT);
        buffer_text(&lines, ": ");
    }
    text_one_line(&lines, reason, LINE_LIMIT);
    if (hint.size) {
        buffer_text(&lines, "\n  hint: ");
        text_one_line(&lines, hint, LINE_LIMIT);
    }
    buffer_char(&lines, '\n');
    write_error(&lines);
    buffer_free(&lines);
}

int read_file(const char *path, size_t limit, Buffer *data) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return errno;
    }
    struct stat info;
    int problem = fstat(fd, &info) ? errno : !S_ISREG(info.st_mode) ? EINVAL : 0;
    char chunk[1 << 16];
    while (!problem) {
        ssize_t size = read(fd, chunk, sizeof chunk);
        if (size == 0) {
            break;
        }
        if (size > 0) {
            buffer_add(data, chunk, (size_t)size);
            problem = data->size > limit ? EFBIG : 0;
        } else if (errno != EINTR) {
            problem = errno;
        }
    }
    close(fd);
    return problem;
}
