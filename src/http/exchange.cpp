#include "http/exchange.h"

#include <boost/asio/dispatch.hpp>

#include "http/connection.h"

namespace ft {

Exchange::Exchange(boost::asio::io_context& io, Connection& connection, Terms terms, size_t most_unsent)
    : io_(io),
      connection_(&connection),
      terms_(terms),
      most_unsent_(most_unsent),
      last_sent_(now_seconds()) {}

void Exchange::post(std::function<void()> fn) {
    boost::asio::dispatch(io_, [self = shared_from_this(), fn = std::move(fn)] { fn(); });
}

void Exchange::send(WebReply reply) {
    post([this, reply = std::move(reply)]() mutable {
        if (begun_ || gone_) return;
        put(std::move(reply), true);
        end();
    });
}

void Exchange::begin(WebReply head) {
    post([this, head = std::move(head)]() mutable {
        if (!begun_ && !gone_) put(std::move(head), false);
    });
}

void Exchange::write(std::string bytes) {
    post([this, bytes = std::move(bytes)] {
        if (!begun_ || finished_ || gone_) return;
        add(bytes);
    });
}

void Exchange::finish() {
    post([this] {
        if (!begun_ || finished_ || gone_) return;
        if (terms_.chunks && terms_.body) unsent_ += k_last_chunk;
        end();
    });
}

void Exchange::on_gone(std::function<void()> fn) {
    post([this, fn = std::move(fn)] {
        if (gone_) fn();
        else if (!finished_) on_gone_ = fn;
    });
}

void Exchange::on_quiet(std::function<void()> fn) {
    post([this, fn = std::move(fn)] {
        if (!finished_ && !gone_) on_quiet_ = fn;
    });
}

void Exchange::run(std::function<void()> fn) { post(std::move(fn)); }

std::string Exchange::take_unsent() {
    last_sent_ = now_seconds();
    return std::exchange(unsent_, {});
}

void Exchange::lose() {
    if (gone_) return;
    gone_ = true;
    unsent_.clear();
    on_quiet_ = nullptr;
    // What is told may hold this exchange, so it is let go of first.
    const auto told = std::exchange(on_gone_, nullptr);
    if (told && !finished_) told();
    if (connection_) connection_->close();
}

void Exchange::detach() {
    connection_ = nullptr;
    room_.reset();
}

void Exchange::look(Seconds now, Seconds quiet_seconds) {
    if (!on_quiet_ || finished_ || now - last_sent_ < quiet_seconds) return;
    last_sent_ = now;
    const auto fn = on_quiet_;  // it may end the answer, and itself with it
    fn();
}

void Exchange::put(WebReply head, bool whole) {
    begun_ = true;
    if (connection_) room_ = std::move(head.room);
    const std::string body = std::move(head.body);
    if (!whole && !terms_.chunks) terms_.keep_alive = false;
    if (connection_ && connection_->last_request()) terms_.keep_alive = false;
    unsent_ += reply_head(head, {.length = whole ? std::optional<uint64_t>(body.size()) : std::nullopt,
                                 .chunked = !whole && terms_.chunks,
                                 .keep_alive = terms_.keep_alive});
    if (!whole) return add(body);
    if (terms_.body) unsent_ += body;
    if (connection_) connection_->notify();
}

void Exchange::add(std::string_view bytes) {
    if (terms_.body) unsent_ += terms_.chunks ? chunk(bytes) : std::string(bytes);
    if (unsent_.size() > most_unsent_) {
        dropped_ = true;
        return lose();
    }
    if (connection_) connection_->notify();
}

void Exchange::end() {
    finished_ = true;
    on_gone_ = nullptr;
    on_quiet_ = nullptr;
    if (connection_) connection_->notify();
}

}  // namespace ft
