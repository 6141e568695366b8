#include "http/connection.h"

#include <poll.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/error.hpp>

#include "base/ascii.h"

namespace ft {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;

constexpr size_t k_read_bytes = 8 << 10;
// While a request is answered, so much of later ones is read ahead to see whether the client is still there.
constexpr size_t k_most_ahead = 64 << 10;
// A client that was refused while it was still sending gets so long to read why.
constexpr Seconds k_linger_seconds = 2;
constexpr size_t k_linger_bytes = 1 << 20;

bool is_parse_error(const error_code& ec) {
    return ec.category() == beast::http::make_error_code(beast::http::error::need_more).category();
}

}  // namespace

Connection::Connection(ConnectionShared& shared, asio::ip::tcp::socket socket, bool over_limit)
    : shared_(shared), socket_(std::move(socket)), changed_(shared.io), over_limit_(over_limit) {
    shared_.connections.insert(this);
    shared_.n_open++;
}

Connection::~Connection() {
    shared_.connections.erase(this);
    shared_.n_open--;
}

asio::awaitable<void> Connection::serve(std::shared_ptr<Connection> self) {
    while (self->keep_ && !self->closed_ && !self->shared_.stopping) {
        const bool got = co_await self->read_request();
        if (!got) break;
        co_await self->answer();
    }
    self->close();
}

void Connection::look(Seconds now) {
    if (now > deadline_) return close();
    if (exchange_) {
        const auto exchange = exchange_;
        if (client_has_closed()) return exchange->lose();
        exchange->look(now, shared_.options.quiet_seconds);
    }
}

// While there is more ahead than is read, nothing but the system tells that the client has gone.
bool Connection::client_has_closed() {
    if (watching_ || closed_ || buffer_.size() < k_most_ahead) return false;
    pollfd state{socket_.native_handle(), POLLRDHUP, 0};
    return ::poll(&state, 1, 0) > 0;
}

void Connection::stop() {
    keep_ = false;
    if (!exchange_) close();
}

void Connection::notify() { changed_.cancel(); }

void Connection::close() {
    if (closed_) return;
    closed_ = true;
    error_code ignored;
    socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    socket_.close(ignored);
    notify();
}

asio::awaitable<void> Connection::wait() {
    error_code ignored;
    changed_.expires_at(asio::steady_timer::time_point::max());
    co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

Connection::Awaitable Connection::read_some() {
    error_code ec;
    const size_t n = co_await socket_.async_read_some(buffer_.prepare(k_read_bytes),
                                                      asio::redirect_error(asio::use_awaitable, ec));
    buffer_.commit(n);
    co_return ec;
}

// One round of the parser over what is buffered, or of reading. False: `failure` says why it cannot go on.
asio::awaitable<bool> Connection::parse_until(bool whole, error_code& failure) {
    bool starved = buffer_.size() == 0;
    if (!starved) {
        error_code ec;
        const size_t used = parser_->put(buffer_.data(), ec);
        buffer_.consume(used);
        parsed_ += used;
        starved = ec == beast::http::error::need_more;
        if (ec && !starved) {
            failure = ec;
            co_return false;
        }
        if (whole) failure = check_body();
        if (failure) co_return false;
    }
    const bool done = whole ? parser_->is_done() : parser_->is_header_done();
    if (!done && (starved || buffer_.size() == 0)) failure = co_await read_some();
    co_return !failure;
}

// Before a request empty lines are passed over, as RFC 9112 (2.2) asks of servers.
void Connection::skip_empty_lines() {
    while (buffer_.size() > 0 && !parser_->got_some()) {
        const char next = *static_cast<const char*>(buffer_.cdata().data());
        if (next != '\r' && next != '\n') return;
        buffer_.consume(1);
    }
}

Connection::Awaitable Connection::read_header() {
    error_code failure;
    bool begun = buffer_.size() > 0;
    const Seconds idle = over_limit_ ? k_linger_seconds : shared_.options.idle_seconds;
    deadline_ = now_seconds() + (begun ? shared_.options.header_seconds : idle);
    while (!parser_->is_header_done()) {
        skip_empty_lines();
        const bool going = co_await parse_until(false, failure);
        if (!going) co_return failure;
        if (!begun && buffer_.size() > 0) {
            begun = true;
            deadline_ = now_seconds() + shared_.options.header_seconds;
        }
    }
    co_return failure;
}

Connection::Awaitable Connection::read_body() {
    error_code failure;
    deadline_ = now_seconds() + shared_.options.body_seconds;
    if (!parser_->is_done() && parser_->get()[beast::http::field::expect] == "100-continue") {
        std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
        failure = co_await write(std::move(go_on));
        if (failure) co_return failure;
    }
    parser_->eager(true);
    parsed_ = 0;
    while (!parser_->is_done()) {
        const bool going = co_await parse_until(true, failure);
        if (!going) co_return failure;
    }
    co_return failure;
}

// Whether what came of the body may go on. Extensions and headers of chunks count to its length, for they are
// read as well.
error_code Connection::check_body() {
    const uint64_t ahead = parser_->is_done() ? 0 : buffer_.size();
    if (parsed_ + ahead > shared_.options.max_body_bytes)
        return beast::http::make_error_code(beast::http::error::body_limit);
    if (!request_.room) return {};
    // A body of known length has its place from the start, which is filled as it comes.
    const std::string& body = parser_->get().body();
    const uint64_t held = parser_->chunked() ? body.capacity() : body.size();
    if (request_.room->resize(held + ahead)) return {};
    return beast::http::make_error_code(beast::http::error::bad_alloc);
}

// Method, path and headers; the parser keeps what else it read.
void Connection::take_head() {
    const auto& message = parser_->get();
    request_ = {};
    request_.method = std::string(message.method_string());
    const Target target = split_target({message.target().data(), message.target().size()});
    request_.path = std::string(target.path);
    request_.query = std::string(target.query);
    for (const auto& field : message) {
        const auto name = field.name_string();
        const auto value = field.value();
        request_.headers.push_back(
            {ascii_lower({name.data(), name.size()}), std::string(value.data(), value.size())});
        // Whoever sends a whole address means that one, whatever the header says (RFC 9112, 3.2.2).
        if (!target.authority.empty() && request_.headers.back().name == "host")
            request_.headers.back().value = std::string(target.authority);
    }
}

asio::awaitable<bool> Connection::read_request() {
    if (buffer_.size() == 0) buffer_ = beast::flat_buffer();  // an idle connection holds no memory
    parser_.emplace();
    const std::shared_ptr<ByteRoom>& room = shared_.options.room;
    const uint64_t most = shared_.options.max_body_bytes;
    parser_->header_limit(shared_.options.max_header_bytes);
    parser_->body_limit(room ? std::min(most, room->most()) : most);
    error_code failure = co_await read_header();
    take_head();
    if (failure) {
        co_await refuse_broken(failure);
        co_return false;
    }
    shared_.requests++;
    if (const char* fault = fault_of_head()) {
        co_await refuse(shared_.callbacks.refuse(request_, 400, fault));
        co_return false;
    }
    if (over_limit_) {
        WebReply reply = shared_.callbacks.refuse(request_, 503, "there are too many connections");
        co_await refuse(std::move(reply));
        co_return false;
    }
    std::optional<WebReply> refused = shared_.callbacks.admit(request_);
    if (refused) {
        co_await refuse(std::move(*refused));
        co_return false;
    }
    if (room) request_.room = std::make_shared<ByteShare>(room);
    failure = co_await read_body();
    if (failure) {
        co_await refuse_broken(failure);
        co_return false;
    }
    request_.body = std::move(parser_->get().body());
    deadline_ = k_never;
    co_return true;
}

// What makes a head one that is not answered; nullptr: nothing.
const char* Connection::fault_of_head() const {
    // What follows could be taken for another request.
    if (!body_is_framed()) return "of Transfer-Encoding only chunked is understood";
    const auto& message = parser_->get();
    if (message.version() >= 11 && message.count(beast::http::field::host) != 1)
        return "a request of HTTP/1.1 has one header Host, no less and no more";
    return nullptr;
}

// Whether it is known where the body ends.
bool Connection::body_is_framed() const {
    const auto& message = parser_->get();
    const auto [first, last] = message.equal_range(beast::http::field::transfer_encoding);
    return first == last || (std::next(first) == last && beast::iequals(first->value(), "chunked"));
}

// Only what came from the client and is no request is answered; a connection that broke is not.
asio::awaitable<void> Connection::refuse_broken(error_code failure) {
    if (closed_ || !is_parse_error(failure)) co_return;
    WebReply reply;
    if (failure == beast::http::error::body_limit)
        reply = shared_.callbacks.refuse(request_, 413, "the body is larger than the server takes");
    else if (failure == beast::http::error::bad_alloc)
        reply = shared_.callbacks.refuse(
            request_, 503, "other requests take the memory that there is for all of them: try again");
    else if (failure == beast::http::error::header_limit)
        reply = shared_.callbacks.refuse(request_, 431, "the headers are larger than the server takes");
    else reply = shared_.callbacks.refuse(request_, 400, failure.message());
    co_await refuse(std::move(reply));
}

asio::awaitable<void> Connection::refuse(WebReply reply) {
    const bool with_body = request_.method != "HEAD";
    request_ = {};  // with what it has taken of the memory for requests
    parser_.reset();
    std::string bytes = reply_head(reply, {.length = reply.body.size(), .keep_alive = false});
    if (with_body) bytes += reply.body;
    const error_code failed = co_await write(std::move(bytes));
    if (!failed) co_await linger();
}

// Closing while the client still sends would take the answer away from it.
asio::awaitable<void> Connection::linger() {
    error_code ec;
    socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ec);
    deadline_ = now_seconds() + k_linger_seconds;
    for (size_t n = 0; n < k_linger_bytes && !ec; n += k_read_bytes) {
        buffer_.consume(buffer_.size());
        ec = co_await read_some();
    }
}

Connection::Awaitable Connection::write(std::string bytes) {
    error_code ec;
    for (size_t at = 0; at < bytes.size() && !ec;) {
        deadline_ = now_seconds() + shared_.options.write_seconds;
        at += co_await socket_.async_write_some(asio::buffer(bytes.data() + at, bytes.size() - at),
                                                asio::redirect_error(asio::use_awaitable, ec));
    }
    deadline_ = k_never;
    co_return ec;
}

asio::awaitable<void> Connection::answer() {
    const auto& message = parser_->get();
    exchange_ =
        std::make_shared<Exchange>(shared_.io, *this,
                                   Exchange::Terms{.chunks = message.version() >= 11,
                                                   .body = message.method() != beast::http::verb::head,
                                                   .keep_alive = message.keep_alive() && keep_},
                                   shared_.options.max_unsent_bytes);
    parser_.reset();
    const std::shared_ptr<Exchange> exchange = exchange_;
    shared_.callbacks.handle(std::move(request_), exchange);
    if (!exchange->finished()) {
        watching_ = true;
        asio::co_spawn(shared_.io, watch(shared_from_this()), asio::detached);
    }
    while (!exchange->over() && !closed_) {
        if (!exchange->has_unsent()) {
            co_await wait();
            continue;
        }
        const error_code failed = co_await write(exchange->take_unsent());
        if (failed) exchange->lose();
    }
    if (closed_) exchange->lose();
    if (exchange->dropped()) shared_.dropped++;
    keep_ = keep_ && exchange->keep_alive();
    exchange->detach();
    exchange_.reset();
    co_await stop_watching();
}

asio::awaitable<void> Connection::stop_watching() {
    if (!watching_) co_return;
    error_code ignored;
    socket_.cancel(ignored);
    while (watching_) co_await wait();
}

// Reads while an answer is made: what comes is a later request, and the end of the stream is a client that
// has gone.
asio::awaitable<void> Connection::watch(std::shared_ptr<Connection> self) {
    while (self->exchange_ && self->buffer_.size() < k_most_ahead) {
        const error_code ec = co_await self->read_some();
        if (!ec) continue;
        if (self->exchange_) self->exchange_->lose();
        break;
    }
    self->watching_ = false;
    self->notify();
}

}  // namespace ft
