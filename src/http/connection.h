// One client: reads its requests one after the other, hands each on, and writes what comes back. Lives on the
// connections' thread; kept alive by its own coroutines.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <limits>
#include <unordered_set>

#include "http/exchange.h"

namespace ft {

class Connection;

// What all connections share.
struct ConnectionShared {
    HttpOptions options;
    HttpCallbacks callbacks;
    std::unordered_set<Connection*> connections;
    bool stopping = false;
    bool last_requests = false;  // no connection is kept for another
    // of HttpCounters, which any thread may read
    std::atomic<size_t> n_open{0};
    std::atomic<uint64_t> accepted{0}, over_limit{0}, requests{0}, dropped{0};
    // Last, so that it goes first: with it go the coroutines, which hold the connections.
    boost::asio::io_context io{1};
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
    // over_limit: it is told so, and closed.
    Connection(ConnectionShared& shared, boost::asio::ip::tcp::socket socket, bool over_limit);
    ~Connection();

    // Until the client or the server has had enough.
    static boost::asio::awaitable<void> serve(std::shared_ptr<Connection> self);

    void look(Seconds now);  // a few times a second: deadlines, quiet streams
    void stop();             // closes it once no answer is under way
    void close();            // whatever is under way on the socket ends
    void notify();           // something changed that serve() may be waiting for
    bool last_request() const { return shared_.stopping || shared_.last_requests; }

 private:
    using Awaitable = boost::asio::awaitable<boost::system::error_code>;
    using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
    static constexpr Seconds k_never = std::numeric_limits<Seconds>::infinity();

    boost::asio::awaitable<bool> read_request();  // false: there is none, or it was refused
    Awaitable read_header();
    Awaitable read_body();
    Awaitable read_some();
    boost::asio::awaitable<bool> parse_until(bool whole, boost::system::error_code& failure);
    void skip_empty_lines();
    boost::system::error_code check_body();
    Awaitable write(std::string bytes);
    boost::asio::awaitable<void> answer();
    boost::asio::awaitable<void> refuse(WebReply reply);
    bool body_is_framed() const;
    const char* fault_of_head() const;
    bool client_has_closed();
    boost::asio::awaitable<void> refuse_broken(boost::system::error_code failure);
    boost::asio::awaitable<void> linger();
    boost::asio::awaitable<void> wait();
    boost::asio::awaitable<void> stop_watching();
    static boost::asio::awaitable<void> watch(std::shared_ptr<Connection> self);
    void take_head();

    ConnectionShared& shared_;
    boost::asio::ip::tcp::socket socket_;
    boost::asio::steady_timer changed_;
    boost::beast::flat_buffer buffer_;
    std::optional<Parser> parser_;
    WebRequest request_;
    uint64_t parsed_ = 0;                 // bytes of the body, chunk headers and all
    std::shared_ptr<Exchange> exchange_;  // while a request is answered
    Seconds deadline_ = k_never;
    bool over_limit_;
    bool keep_ = true;
    bool watching_ = false;
    bool closed_ = false;
};

}  // namespace ft
