#include "http/http_server.h"

#include <sys/resource.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <thread>

#include "base/log.h"
#include "base/system_error.h"
#include "base/thread_name.h"
#include "http/connection.h"

namespace ft {

namespace {

namespace net = boost::asio;
using Failure = boost::system::error_code;

// For files of the model, pipes and what else a process has open.
constexpr size_t k_other_descriptors = 128;
// So many beyond the limit are still told why they are not served.
constexpr size_t k_told_over_limit = 32;
constexpr Seconds k_look_seconds = 0.25;
constexpr Seconds k_pause_seconds = 0.1;

std::chrono::steady_clock::duration as_duration(Seconds seconds) {
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(seconds));
}

// How many files and sockets the process may have open; the program raises it to what the system allows.
size_t descriptor_limit() {
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<size_t>(limit.rlim_cur) : 1024;
}

Error cannot_listen(const HttpOptions& options, const Failure& failure) {
    const bool taken = failure == net::error::address_in_use;
    return Error{Code::invalid,
                 fmt::format("cannot listen on {}:{}: {}", printable(options.host), options.port,
                             system_reason(failure.value())),
                 taken ? "Another program has this port. Stop it, or choose another by --port (server.port)."
                       : "Choose another address by --host and --port (server.host, server.port)."};
}

Error no_address(const std::string& host) {
    return Error{Code::invalid,
                 fmt::format("server.host: \"{}\" is no address of this machine", printable(host)),
                 "127.0.0.1 serves this machine alone, 0.0.0.0 all networks."};
}

// Nobody is asked for what cannot be a name: that takes time, and may find something else.
bool may_be_name(std::string_view host) {
    constexpr std::string_view k_digits = "0123456789.";
    constexpr std::string_view k_letters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    return host.find_first_not_of(k_digits) != std::string_view::npos &&
           host.find_first_not_of(k_letters) == std::string_view::npos;
}

Expected<net::ip::tcp::endpoint> endpoint_of(net::io_context& io, const std::string& host, int port) {
    const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
    const std::string bare = brackets ? host.substr(1, host.size() - 2) : host;
    Failure ec;
    const net::ip::address literal = net::ip::make_address(bare, ec);
    if (!ec && (literal.is_v6() || !brackets))
        return net::ip::tcp::endpoint(literal, static_cast<uint16_t>(port));
    if (brackets || !may_be_name(host)) return no_address(host);
    net::ip::tcp::resolver resolver(io);
    const auto found = resolver.resolve(host, fmt::format("{}", port), net::ip::resolver_base::passive, ec);
    if (ec || found.empty()) return no_address(host);
    return found.begin()->endpoint();
}

}  // namespace

struct HttpServer::State {
    ConnectionShared shared;
    net::ip::tcp::acceptor acceptor{shared.io};
    net::steady_timer clock{shared.io};
    net::steady_timer pause{shared.io};
    std::string address;
    std::thread thread;

    Status bind();
    net::awaitable<void> accept();
    net::awaitable<void> look();
};

Status HttpServer::State::bind() {
    const HttpOptions& options = shared.options;
    Failure ec;
    const auto found = endpoint_of(shared.io, options.host, options.port);
    if (!found) return found.error();
    const net::ip::tcp::endpoint& endpoint = *found;
    acceptor.open(endpoint.protocol(), ec);
    if (!ec) acceptor.set_option(net::socket_base::reuse_address(true), ec);
    if (!ec) acceptor.bind(endpoint, ec);
    if (!ec) acceptor.listen(1024, ec);
    if (ec) return cannot_listen(options, ec);
    const net::ip::tcp::endpoint bound = acceptor.local_endpoint(ec);
    const std::string host = bound.address().to_string();
    address = fmt::format("{}:{}", bound.address().is_v6() ? "[" + host + "]" : host, bound.port());
    return {};
}

net::awaitable<void> HttpServer::State::accept() {
    Seconds last_said = 0;
    while (!shared.stopping) {
        net::ip::tcp::socket socket(shared.io);
        Failure ec;
        co_await acceptor.async_accept(socket, net::redirect_error(net::use_awaitable, ec));
        if (shared.stopping) co_return;
        if (ec) {  // no descriptors or memory: those that are open go on, and may end
            if (now_seconds() - last_said > 10)
                log("serve", "no connection can be accepted: {}", ec.message());
            last_said = now_seconds();
            pause.expires_after(as_duration(k_pause_seconds));
            co_await pause.async_wait(net::redirect_error(net::use_awaitable, ec));
            continue;
        }
        socket.set_option(net::ip::tcp::no_delay(true), ec);
        const bool over = shared.connections.size() >= shared.options.max_connections;
        shared.accepted++;
        if (over) shared.over_limit++;
        if (shared.connections.size() >= shared.options.max_connections + k_told_over_limit) continue;
        net::co_spawn(shared.io,
                      Connection::serve(std::make_shared<Connection>(shared, std::move(socket), over)),
                      net::detached);
    }
}

net::awaitable<void> HttpServer::State::look() {
    for (;;) {
        Failure ec;
        clock.expires_after(as_duration(k_look_seconds));
        co_await clock.async_wait(net::redirect_error(net::use_awaitable, ec));
        // What is told may close a connection, but none is removed from the set before its coroutine goes on.
        const Seconds now = now_seconds();
        for (Connection* connection : shared.connections) connection->look(now);
    }
}

Expected<bool> is_loopback(const std::string& host) {
    net::io_context io;
    const auto endpoint = endpoint_of(io, host, 0);
    if (!endpoint) return endpoint.error();
    return endpoint->address().is_loopback();
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

Expected<std::unique_ptr<HttpServer>> HttpServer::listen(HttpOptions options, HttpCallbacks callbacks) {
    const size_t limit = descriptor_limit();
    const size_t kept = k_told_over_limit + k_other_descriptors;
    const size_t possible = limit > kept ? limit - kept : 1;
    if (possible < options.max_connections) {
        log("serve", "at most {} connections, not {}: this process may have {} descriptors open (ulimit -n)",
            possible, options.max_connections, limit);
        options.max_connections = possible;
    }
    auto state = std::make_unique<State>();
    state->shared.options = std::move(options);
    state->shared.callbacks = std::move(callbacks);
    if (Status bound = state->bind(); !bound) return bound.error();
    State& s = *state;
    net::co_spawn(s.shared.io, s.accept(), net::detached);
    net::co_spawn(s.shared.io, s.look(), net::detached);
    s.thread = std::thread([&s] {
        name_this_thread("ft-http");
        s.shared.io.run();
    });
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

HttpServer::~HttpServer() {
    state_->shared.io.stop();
    if (state_->thread.joinable()) state_->thread.join();
}

std::string HttpServer::address() const { return state_->address; }

size_t HttpServer::max_connections() const { return state_->shared.options.max_connections; }

HttpCounters HttpServer::counters() const {
    const ConnectionShared& s = state_->shared;
    return {s.n_open, s.accepted, s.over_limit, s.requests, s.dropped};
}

void HttpServer::end_keep_alive() {
    net::post(state_->shared.io, [s = state_.get()] { s->shared.last_requests = true; });
}

void HttpServer::stop(Seconds most) {
    net::post(state_->shared.io, [s = state_.get()] {
        Failure ignored;
        s->shared.stopping = true;
        s->acceptor.close(ignored);
        for (Connection* connection : s->shared.connections) connection->stop();
    });
    const Seconds until = now_seconds() + most;
    while (state_->shared.n_open > 0 && now_seconds() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

}  // namespace ft
