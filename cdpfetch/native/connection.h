/* One connection to the daemon: requests out, messages in, by the public protocol (wire.py). */
#ifndef CDPF_CONNECTION_H
#define CDPF_CONNECTION_H

#include "buffer.h"
#include "home.h"
#include "json.h"

/* What this program speaks, and how long the daemon may be silent (milliseconds): it sends heartbeats. */
#define CDPF_PROTOCOL "1"
#ifndef CDPF_SILENCE
#define CDPF_SILENCE 20000
#endif

typedef struct {
    int socket;
    Buffer received; /* from `start` on: not yet returned */
    size_t start;
    size_t scanned; /* no line ends before it */
    Arena arena;    /* holds the message that was returned last */
    Slice line;     /* that message as it came */
} Connection;

typedef enum { RECEIVED, GONE, NONSENSE, SILENT, LATE } Reception;

/* Connects, and exchanges hellos with a daemon of exactly this version; false leaves it to `cdpfetch`. */
bool connection_open(Connection *connection, const Home *home);

/* False when not all could be sent: the connection is of no more use, but requests may have arrived. */
bool connection_send(Connection *connection, const Buffer *data);

/* The next message that is no heartbeat; it lives until the next call.  `deadline` is a time of clock_now, 0 for none. */
Reception connection_receive(Connection *connection, long long deadline, Json **message);

void connection_close(Connection *connection);

/* Milliseconds of a clock that nobody sets. */
long long clock_now(void);

#endif
