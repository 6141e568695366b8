// An HTTP/1.1 server: reads requests within limits, hands each to a handler, and sends what that answers,
// whole or as a stream. One thread serves all connections, so no handler may block it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "http/http_message.h"

namespace ft {

struct HttpOptions {
    std::string host = "127.0.0.1";
    int port = 8080;                               // 0: any that is free
    size_t max_connections = 4096;                 // more are answered with 503 and closed
    uint32_t max_header_bytes = 64 << 10;          // more: 431
    uint64_t max_body_bytes = uint64_t{16} << 20;  // more: 413, before it is read
    size_t max_unsent_bytes = size_t{1} << 20;     // of a stream; a client that reads slower is dropped
    Seconds idle_seconds = 300;                    // between two requests of a connection
    Seconds header_seconds = 15;                   // from a request's first byte to the end of its headers
    Seconds body_seconds = 120;                    // for its body
    Seconds write_seconds = 60;                    // in which a client must take something
    Seconds quiet_seconds = 15;                    // see Responder::on_quiet
    // Of all bodies together, while they are read and until the handler lets go of them; more: 503. nullptr:
    // they are not counted.
    std::shared_ptr<ByteRoom> room = {};
};

// Through which one request is answered: send(), or begin(), any number of write() and finish(). May be
// called from any thread; what comes after the end, or after the client has gone, is passed over.
class Responder {
 public:
    virtual ~Responder() = default;
    virtual void send(WebReply reply) = 0;
    virtual void begin(WebReply head) = 0;  // its body is the first piece
    virtual void write(std::string bytes) = 0;
    virtual void finish() = 0;

    // `fn` is called once, when the client has gone before its answer ended; at once where it has already.
    virtual void on_gone(std::function<void()> fn) = 0;
    // `fn` is called whenever nothing was sent for HttpOptions::quiet_seconds, until the answer ends.
    virtual void on_quiet(std::function<void()> fn) = 0;
    // Runs `fn` on the connections' thread, on which the two above are called as well; in the order of calls.
    virtual void run(std::function<void()> fn) = 0;
};

// All are called on the connections' thread.
struct HttpCallbacks {
    // The head is known, the body not read: a reply refuses the request and ends the connection.
    std::function<std::optional<WebReply>(const WebRequest& head)> admit;
    std::function<void(WebRequest request, std::shared_ptr<Responder> responder)> handle;
    // The reply to what is no request, or one beyond the limits (400, 413, 431, 503). Of `head` only that is
    // there which was read.
    std::function<WebReply(const WebRequest& head, int status, std::string_view what)> refuse;
};

struct HttpCounters {
    size_t connections = 0;   // open
    uint64_t accepted = 0;    // since the start
    uint64_t over_limit = 0;  // refused because there were max_connections
    uint64_t requests = 0;
    uint64_t dropped = 0;  // clients that did not read their streams
};

// Whether only this machine reaches a server that listens on `host`: an address, one in brackets, or a name.
// An error: it is none of them, or a name that nobody knows.
Expected<bool> is_loopback(const std::string& host);

class HttpServer {
 public:
    // Connections are accepted when this returns. An error: an address that cannot be bound. Where
    // the process may not have enough descriptors open, max_connections is lowered, which is logged.
    static Expected<std::unique_ptr<HttpServer>> listen(HttpOptions options, HttpCallbacks callbacks);
    // Whoever holds a Responder must not use it any more.
    ~HttpServer();

    std::string address() const;  // "127.0.0.1:8080", "[::1]:8080"
    size_t max_connections() const;
    HttpCounters counters() const;

    // From here on a connection ends with the answer to its next request.
    void end_keep_alive();

    // Accepts no more, closes idle connections, and waits for the answers under way, at most so long.
    void stop(Seconds most);

 private:
    struct State;
    explicit HttpServer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace ft
