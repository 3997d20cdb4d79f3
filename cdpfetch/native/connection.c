#include "connection.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_LINE = 1 << 20,
    CHUNK = 1 << 16,
    /* Silence is counted in ticks, so that a pause of the whole machine counts as one and not as a wedged daemon. */
    TICKS = 4,
    /* Milliseconds for the hello: who is slower than this is a matter for `cdpfetch`. */
    HELLO_MILLISECONDS = 3000,
};

long long clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool connect_to(Connection *connection, const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        return false;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    connection->socket = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connection->socket < 0) {
        return false;
    }
    /* Nonblocking: a full backlog is refused at once. */
    fcntl(connection->socket, F_SETFD, FD_CLOEXEC);
    fcntl(connection->socket, F_SETFL, O_NONBLOCK);
    return connect(connection->socket, (const struct sockaddr *)&address, sizeof address) == 0;
}

bool connection_open(Connection *connection, const Home *home) {
    *connection = (Connection){.socket = -1};
    if (!home_is_ours(home) || !connect_to(connection, home->socket)) {
        connection_close(connection);
        return false;
    }
    Buffer hello = {0};
    buffer_text(&hello, "{\"hello\":\"cdpfetch\",\"protocol\":" CDPF_PROTOCOL ",\"version\":\"" CDPF_VERSION "\"}\n");
    bool sent = connection_send(connection, &hello);
    buffer_free(&hello);
    Json *message = NULL;
    bool good = sent && connection_receive(connection, clock_now() + HELLO_MILLISECONDS, &message) == RECEIVED;
    const Json *word = json_get(message, "hello");
    const Json *protocol = json_get(message, "protocol");
    const Json *version = json_get(message, "version");
    good = good && json_is(word, JSON_STRING) && slice_is(word->text, "cdpfetch") && json_is(protocol, JSON_NUMBER) &&
           slice_is(protocol->text, CDPF_PROTOCOL) && json_is(version, JSON_STRING) &&
           slice_is(version->text, CDPF_VERSION);
    if (!good) {
        connection_close(connection);
    }
    return good;
}

bool connection_send(Connection *connection, const Buffer *data) {
    for (size_t at = 0; at < data->size;) {
        ssize_t sent = send(connection->socket, data->data + at, data->size - at, 0);
        if (sent >= 0) {
            at += (size_t)sent;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            struct pollfd waiting = {.fd = connection->socket, .events = POLLOUT, .revents = 0};
            if (poll(&waiting, 1, CDPF_SILENCE) == 0) {
                return false;
            }
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* Waits for bytes and takes them. */
static Reception fill(Connection *connection, long long deadline) {
    static char chunk[CHUNK];
    for (int quiet = 0;;) {
        long long wait = CDPF_SILENCE / TICKS;
        if (deadline) {
            long long left = deadline - clock_now();
            left = left > 0 ? left : 0;
            wait = left < wait ? left : wait;
        }
        struct pollfd waiting = {.fd = connection->socket, .events = POLLIN, .revents = 0};
        if (poll(&waiting, 1, (int)wait) == 0) {
            if (!wait) {
                return LATE;
            }
            if (++quiet == TICKS) {
                return SILENT;
            }
            continue;
        }
        ssize_t size = recv(connection->socket, chunk, sizeof chunk, 0);
        if (size > 0) {
            buffer_add(&connection->received, chunk, (size_t)size);
            return RECEIVED;
        }
        if (size == 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) {
            return GONE;
        }
    }
}

/* The next whole line, without its end; false when it has not come yet. */
static bool next_line(Connection *connection, Slice *line) {
    Buffer *received = &connection->received;
    size_t unseen = received->size - connection->scanned;
    const char *end = unseen ? memchr(received->data + connection->scanned, '\n', unseen) : NULL;
    if (!end) {
        connection->scanned = received->size;
        return false;
    }
    *line = (Slice){received->data + connection->start, (size_t)(end - received->data) - connection->start};
    connection->start = connection->scanned = (size_t)(end - received->data) + 1;
    return true;
}

/* Drops what has been returned. */
static void compact(Connection *connection) {
    Buffer *received = &connection->received;
    if (connection->start) {
        received->size -= connection->start;
        memmove(received->data, received->data + connection->start, received->size);
        connection->scanned -= connection->start;
        connection->start = 0;
    }
}

Reception connection_receive(Connection *connection, long long deadline, Json **message) {
    for (;;) {
        Slice line;
        while (next_line(connection, &line)) {
            arena_free(&connection->arena);
            connection->line = line;
            *message = json_parse(&connection->arena, line);
            if (!json_is(*message, JSON_OBJECT)) {
                return NONSENSE;
            }
            const Json *event = json_get(*message, "event");
            if (!json_is(event, JSON_STRING) || !slice_is(event->text, "heartbeat")) {
                return RECEIVED;
            }
        }
        compact(connection);
        if (connection->received.size > MAX_LINE) {
            return GONE;
        }
        Reception filled = fill(connection, deadline);
        if (filled != RECEIVED) {
            return filled;
        }
    }
}

void connection_close(Connection *connection) {
    if (connection->socket >= 0) {
        close(connection->socket);
        connection->socket = -1;
    }
    buffer_free(&connection->received);
    arena_free(&connection->arena);
}
