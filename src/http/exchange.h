// One request's answer on its way to the connection. All but the posting happens on the connections' thread.
#pragma once

#include <boost/asio/io_context.hpp>

#include "http/http_server.h"

namespace ft {

class Connection;

class Exchange : public Responder, public std::enable_shared_from_this<Exchange> {
 public:
    // How the client can be answered.
    struct Terms {
        bool chunks = true;  // HTTP/1.1
        bool body = true;    // false: HEAD
        bool keep_alive = true;
    };
    Exchange(boost::asio::io_context& io, Connection& connection, Terms terms, size_t most_unsent);

    void send(WebReply reply) override;
    void begin(WebReply head) override;
    void write(std::string bytes) override;
    void finish() override;
    void on_gone(std::function<void()> fn) override;
    void on_quiet(std::function<void()> fn) override;
    void run(std::function<void()> fn) override;

    // The connection's side.
    bool over() const { return gone_ || (finished_ && unsent_.empty()); }
    bool finished() const { return finished_; }
    bool gone() const { return gone_; }
    bool dropped() const { return dropped_; }  // gone, because it did not read
    bool keep_alive() const { return terms_.keep_alive && !gone_; }
    bool has_unsent() const { return !unsent_.empty(); }
    std::string take_unsent();
    void lose();    // the client has gone
    void detach();  // the connection goes on without this exchange
    void look(Seconds now, Seconds quiet_seconds);

 private:
    void post(std::function<void()> fn);
    void put(WebReply head, bool whole);
    void add(std::string_view bytes);
    void end();

    boost::asio::io_context& io_;
    Connection* connection_;  // nullptr once detached
    Terms terms_;
    const size_t most_unsent_;
    std::string unsent_;
    std::shared_ptr<ByteShare> room_;  // of the answer
    std::function<void()> on_gone_, on_quiet_;
    Seconds last_sent_;
    bool begun_ = false, finished_ = false, gone_ = false, dropped_ = false;
};

}  // namespace ft
