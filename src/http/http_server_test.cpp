#include "http/http_server.h"

#include "http/http_get.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace ft {

namespace {

bool within(double seconds, const std::function<bool()>& holds) {
    const Seconds until = now_seconds() + seconds;
    while (!holds() && now_seconds() < until) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return holds();
}

// A client that sends bytes as they are.
class Client {
 public:
    explicit Client(const HttpServer& server, int receive_buffer = 0) {
        fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
        if (receive_buffer > 0)
            ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
        const std::string address = server.address();
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.find(':') + 1))));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
    }
    ~Client() { close(); }
    void close() {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }
    bool connected() const { return connected_; }
    void send(std::string_view bytes) const { (void)::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }

    // What comes until `end` is part of it, the server closes, or nothing comes for a while.
    std::string receive(std::string_view end = "", double seconds = 5) {
        std::string got;
        while (end.empty() || got.find(end) == std::string::npos) {
            pollfd poll{fd_, POLLIN, 0};
            char bytes[4096];
            if (::poll(&poll, 1, static_cast<int>(seconds * 1000)) <= 0) break;
            const ssize_t n = ::recv(fd_, bytes, sizeof bytes, 0);
            closed_ = n <= 0;
            if (closed_) break;
            got.append(bytes, static_cast<size_t>(n));
        }
        return got;
    }
    bool closed() const { return closed_; }

 private:
    int fd_;
    bool connected_ = false, closed_ = false;
};

std::string get(std::string_view path) { return fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", path); }
std::string post(std::string_view path, std::string_view body) {
    return fmt::format("POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", path, body.size(),
                       body);
}

// Answers with what it was asked; paths below /hold are kept for the test to answer.
class HttpServerTest : public ::testing::Test {
 protected:
    void start(HttpOptions options = {}) {
        options.port = 0;
        HttpCallbacks callbacks;
        callbacks.admit = [](const WebRequest& head) -> std::optional<WebReply> {
            if (head.path != "/forbidden") return std::nullopt;
            return WebReply{.status = 401, .body = "no"};
        };
        callbacks.refuse = [](const WebRequest& head, int status, std::string_view what) {
            return WebReply{.status = status, .body = fmt::format("{}: {}", head.path, what)};
        };
        callbacks.handle = [this](WebRequest request, std::shared_ptr<Responder> responder) {
            if (request.path.starts_with("/hold")) {
                responder->on_gone([this] { gone_++; });
                const std::lock_guard lock(mutex_);
                held_room_ = std::move(request.room);
                held_.push_back(std::move(responder));
                return;
            }
            if (request.path == "/host") request.query = request.header("host");
            responder->send({.content_type = "text/plain",
                             .body = fmt::format("{} {} {} [{}]", request.method, request.path, request.query,
                                                 request.body)});
        };
        auto server = HttpServer::listen(options, std::move(callbacks));
        ASSERT_TRUE(server) << server.error().sentence();
        server_ = std::move(*server);
    }
    std::shared_ptr<Responder> held() {
        EXPECT_TRUE(within(5, [&] {
            const std::lock_guard lock(mutex_);
            return !held_.empty();
        }));
        const std::lock_guard lock(mutex_);
        return held_.empty() ? nullptr : held_.back();
    }
    void TearDown() override {
        held_.clear();
        server_.reset();
    }

    std::mutex mutex_;
    std::vector<std::shared_ptr<Responder>> held_;
    std::shared_ptr<ByteShare> held_room_;
    std::atomic<int> gone_{0};
    std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, KeepsAConnectionAndAnswersPipelinedRequestsInOrder) {
    start();
    Client client(*server_);
    client.send(get("/a?b=c") + post("/d", "body") + get("/e"));
    const std::string got = client.receive("GET /e  []");
    const size_t first = got.find("GET /a b=c []"), second = got.find("POST /d  [body]");
    EXPECT_LT(first, second);
    EXPECT_LT(second, got.find("GET /e  []"));
    client.send(get("/later"));
    EXPECT_NE(client.receive("GET /later").find("200 OK"), std::string::npos);
}

TEST_F(HttpServerTest, ClosesWhereTheClientWantsIt) {
    start();
    for (const char* request :
         {"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"}) {
        Client client(*server_);
        client.send(request);
        EXPECT_NE(client.receive().find("Connection: close"), std::string::npos);
        EXPECT_TRUE(client.closed());
    }
}

TEST_F(HttpServerTest, TakesBodiesInChunksAndThoseThatWaitForAGoAhead) {
    start();
    Client client(*server_);
    client.send(
        "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    EXPECT_NE(client.receive("[abcde]").find("[abcde]"), std::string::npos);
    client.send("POST /c HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    EXPECT_NE(client.receive("100 Continue").find("100 Continue"), std::string::npos);
    client.send("hi");
    EXPECT_NE(client.receive("[hi]").find("[hi]"), std::string::npos);
}

TEST_F(HttpServerTest, TakesWholeAddressesAndPassesOverEmptyLines) {
    start();
    Client client(*server_);
    client.send("\r\n\r\nGET http://other.example:81/a?b HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_NE(client.receive("GET /a b []").find("200 OK"), std::string::npos);
    client.send("\r\n" + get("/host"));
    EXPECT_NE(client.receive("GET /host x []").find("200 OK"), std::string::npos);
    client.send("GET http://other.example:81/host HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_NE(client.receive("other.example:81").find("other.example:81"), std::string::npos);
}

TEST_F(HttpServerTest, BodiesShareABoundedRoom) {
    const auto room = std::make_shared<ByteRoom>(1000);
    start({.max_body_bytes = 5000, .room = room});
    const auto begin = [](size_t announced, size_t sent) {
        return fmt::format("POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", announced,
                           std::string(sent, 'b'));
    };
    {
        Client large(*server_);  // more than there is for all
        large.send(begin(1001, 0));
        EXPECT_TRUE(large.receive("close").starts_with("HTTP/1.1 413"));
    }
    Client slow(*server_), other(*server_);
    slow.send(begin(900, 600));
    EXPECT_TRUE(within(5, [&] { return room->held() == 600; })) << "what came counts, not what was announced";
    other.send(begin(500, 500));
    EXPECT_TRUE(other.receive("close").starts_with("HTTP/1.1 503"));
    Client chunks(*server_);
    chunks.send("POST /hold HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1f4\r\n" +
                std::string(500, 'b'));
    EXPECT_TRUE(chunks.receive("close").starts_with("HTTP/1.1 503"));
    slow.send(std::string(300, 'b'));
    const auto responder = held();
    EXPECT_EQ(room->held(), 900u) << "as long as the request is held";
    const std::lock_guard lock(mutex_);
    held_room_.reset();
    EXPECT_EQ(room->held(), 0u);
}

TEST_F(HttpServerTest, AnAnswerKeepsItsRoomUntilItIsSent) {
    const auto room = std::make_shared<ByteRoom>(1000);
    start();
    Client client(*server_);
    client.send(get("/hold"));
    const auto responder = held();
    WebReply reply{.body = "answer", .room = std::make_shared<ByteShare>(room)};
    EXPECT_TRUE(reply.room->resize(700));
    responder->send(std::move(reply));
    EXPECT_NE(client.receive("answer").find("answer"), std::string::npos);
    EXPECT_TRUE(within(5, [&] { return room->held() == 0; }));
}

TEST_F(HttpServerTest, RefusesBeforeTheBodyIsRead) {
    start({.max_header_bytes = 1000, .max_body_bytes = 100});
    const std::string big = "POST /big HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\n";
    const std::string forbidden = "POST /forbidden HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n";
    const std::string flood = "GET / HTTP/1.1\r\nX: " + std::string(2000, 'a');
    std::string extended;  // two bytes of a body in a hundred of chunks
    for (int i = 0; i < 2; i++) extended += "1;name=" + std::string(50, 'e') + "\r\nx\r\n";
    const std::vector<std::pair<std::string, std::string>> cases = {
        {big, "413"},
        {forbidden, "401"},
        {flood, "431"},
        {"GET /\r\n\r\n", "400"},
        {"\x16\x03\x01 garbage\r\n\r\n", "400"},
        {"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\nGET /stats HTTP/1.1\r\n\r\n", "400"},
        {"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "400"},
        {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         "400"},
        {"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n", "400"},
        {"GET / HTTP/1.1\r\n\r\n", "400"},
        {"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "400"},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(200, 'e'), "413"},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + extended + "0\r\n\r\n", "413"}};
    for (const auto& [request, status] : cases) {
        Client client(*server_);
        client.send(request);
        EXPECT_TRUE(client.receive("close").starts_with("HTTP/1.1 " + status)) << request;
    }
    Client client(*server_);
    client.send(get("/after"));
    EXPECT_NE(client.receive("/after").find("200 OK"), std::string::npos);
}

TEST_F(HttpServerTest, StreamsInChunks) {
    start();
    Client client(*server_);
    client.send(get("/hold"));
    const auto responder = held();
    responder->begin({.content_type = "text/event-stream", .body = "data: 1\n\n"});
    EXPECT_NE(client.receive("data: 1").find("Transfer-Encoding: chunked"), std::string::npos);
    responder->write("data: 2\n\n");
    responder->finish();
    responder->write("never");
    EXPECT_EQ(client.receive("0\r\n\r\n"), "9\r\ndata: 2\n\n\r\n0\r\n\r\n");
    client.send(get("/next"));
    EXPECT_NE(client.receive("/next").find("200 OK"), std::string::npos);
    EXPECT_EQ(gone_, 0);
}

TEST_F(HttpServerTest, AnOldClientGetsItsStreamUntilTheConnectionEnds) {
    start();
    Client client(*server_);
    client.send("GET /hold HTTP/1.0\r\n\r\n");
    const auto responder = held();
    responder->begin({.body = "one"});
    responder->write("two");
    responder->finish();
    EXPECT_TRUE(client.receive().ends_with("\r\n\r\nonetwo"));
    EXPECT_TRUE(client.closed());
}

TEST_F(HttpServerTest, TellsThatTheClientHasGone) {
    start();
    Client client(*server_);
    client.send(get("/hold"));
    const auto responder = held();
    client.close();
    EXPECT_TRUE(within(5, [&] { return gone_ == 1; }));
    responder->send({.body = "too late"});
    EXPECT_TRUE(within(5, [&] { return server_->counters().connections == 0; }));
    std::atomic<bool> told{false};
    responder->on_gone([&] { told = true; });
    EXPECT_TRUE(within(5, [&] { return told.load(); }));
}

TEST_F(HttpServerTest, TellsThatAClientHasGoneWhoSentMoreThanIsReadAhead) {
    start();
    Client client(*server_);
    client.send(get("/hold") + std::string(90 << 10, 'x'));
    const auto responder = held();
    EXPECT_EQ(gone_, 0);
    client.close();
    EXPECT_TRUE(within(5, [&] { return gone_ == 1; }));
}

TEST_F(HttpServerTest, DropsAClientThatDoesNotReadItsStream) {
    start({.max_unsent_bytes = 100 << 10});
    Client client(*server_, 4096);
    client.send(get("/hold"));
    const auto responder = held();
    responder->begin({});
    const std::string piece(16 << 10, 'x');
    EXPECT_TRUE(within(10, [&] {
        responder->write(piece);
        return gone_ == 1;
    }));
    EXPECT_TRUE(within(5, [&] { return server_->counters().dropped == 1; }));
}

TEST_F(HttpServerTest, EndsConnectionsThatAreSlowOrIdle) {
    start({.idle_seconds = 0.6, .header_seconds = 0.3, .body_seconds = 0.3});
    Client slow(*server_), half(*server_), idle(*server_);
    slow.send("POST / HTTP/1.1\r\nX-Slow: a");
    half.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab");
    EXPECT_EQ(slow.receive(), "");
    EXPECT_EQ(half.receive(), "");
    EXPECT_EQ(idle.receive(), "");
    EXPECT_TRUE(slow.closed() && half.closed() && idle.closed());
}

TEST_F(HttpServerTest, SaysSoWhereThereAreTooManyConnections) {
    start({.max_connections = 2});
    Client one(*server_), two(*server_);
    one.send(get("/1"));
    two.send(get("/2"));
    EXPECT_NE(one.receive("/1").find("200 OK"), std::string::npos);
    EXPECT_NE(two.receive("/2").find("200 OK"), std::string::npos);
    Client three(*server_);
    three.send(get("/3"));
    EXPECT_TRUE(three.receive("close").starts_with("HTTP/1.1 503"));
    one.close();
    three.close();
    EXPECT_TRUE(within(5, [&] { return server_->counters().connections < 2; }));
    Client four(*server_);
    four.send(get("/4"));
    EXPECT_NE(four.receive("/4").find("200 OK"), std::string::npos);
    EXPECT_EQ(server_->counters().over_limit, 1u);
}

TEST_F(HttpServerTest, CallsBackWhileAStreamIsQuiet) {
    start({.quiet_seconds = 0.1});
    Client client(*server_);
    client.send(get("/hold"));
    const auto responder = held();
    responder->begin({});
    responder->on_quiet([responder = responder.get()] { responder->write(": ping\n\n"); });
    EXPECT_NE(client.receive(": ping").find(": ping"), std::string::npos);
    responder->finish();
}

TEST_F(HttpServerTest, StopsWhenTheAnswersUnderWayAreOver) {
    start();
    Client idle(*server_), busy(*server_);
    idle.send(get("/"));
    idle.receive("[]");
    busy.send(get("/hold"));
    const auto responder = held();
    std::thread later([&] {
        EXPECT_EQ(idle.receive(), "");
        responder->send({.body = "done"});
    });
    server_->stop(5);
    later.join();
    EXPECT_NE(busy.receive().find("done"), std::string::npos);
    EXPECT_EQ(server_->counters().connections, 0u);
    EXPECT_FALSE(Client(*server_).connected());
}

// A listener whose peers get `text`, and then the end of the connection where `closes`, else nothing.
std::string said_of_a_peer(const std::string& text, bool closes) {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(::listen(listener, 1), 0);
    EXPECT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
    std::string said;
    std::thread asks([&] {
        const WebAddress web{"127.0.0.1", std::to_string(ntohs(address.sin_port))};
        const auto reply = http_get(web, "/health", {}, closes ? 20 : 0.5);
        said = reply ? reply->body : reply.error().what;
    });
    const int peer = ::accept(listener, nullptr, nullptr);
    char question[4096];
    EXPECT_GT(::recv(peer, question, sizeof question, 0), 0);
    EXPECT_EQ(::send(peer, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    if (closes) ::shutdown(peer, SHUT_WR);
    asks.join();
    ::close(peer);
    ::close(listener);
    return said.substr(std::min(said.size(), said.find(' ') + 1));
}

TEST(HttpGet, TellsSilenceFromAnotherLanguage) {
    EXPECT_EQ(said_of_a_peer("", false), "does not answer within 0.5 s");
    EXPECT_EQ(said_of_a_peer("HTTP/1.1 200 OK\r\n", false), "does not end its answer within 0.5 s");
    EXPECT_EQ(said_of_a_peer("", true), "closes the connection without an answer");
    EXPECT_EQ(said_of_a_peer("SSH-2.0-x\r\n", true), "answers, but not in HTTP");
}

TEST_F(HttpServerTest, AnswersOurOwnQuestion) {
    start();
    const auto address = web_address("http://" + server_->address() + "/");
    ASSERT_TRUE(address);
    const auto reply = http_get(*address, "/health", {{"X-A", "b"}}, 5);
    ASSERT_TRUE(reply) << reply.error().sentence();
    EXPECT_EQ(reply->status, 200);
    EXPECT_EQ(reply->body, "GET /health  []");
    server_.reset();
    EXPECT_FALSE(http_get(*address, "/health", {}, 5));
    for (const char* wrong : {"", "https://x", "http://:80", "x:port", "x:"})
        EXPECT_FALSE(web_address(wrong)) << wrong;
    EXPECT_EQ(web_address("[::1]:80")->host, "::1");
}

TEST(HttpServer, RefusesAPortThatIsTaken) {
    const auto nothing = [](const WebRequest&) -> std::optional<WebReply> { return std::nullopt; };
    HttpCallbacks callbacks{nothing, nullptr, nullptr};
    auto first = HttpServer::listen({.port = 0}, callbacks);
    ASSERT_TRUE(first);
    const std::string address = (*first)->address();
    const int port = std::stoi(address.substr(address.find(':') + 1));
    const auto second = HttpServer::listen({.port = port}, callbacks);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().what.find(std::to_string(port)), std::string::npos);
    EXPECT_NE(second.error().remedy.find("--port"), std::string::npos);
}

TEST(HttpServer, KnowsWhatIsAnAddressAndWhichAreThisMachinesOwn) {
    for (const char* own : {"127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"}) {
        const auto loopback = is_loopback(own);
        ASSERT_TRUE(loopback) << own << ": " << loopback.error().sentence();
        EXPECT_TRUE(*loopback) << own;
    }
    for (const char* open : {"0.0.0.0", "::", "[::]", "192.0.2.7"}) {
        const auto loopback = is_loopback(open);
        ASSERT_TRUE(loopback) << open;
        EXPECT_FALSE(*loopback) << open;
    }
    for (const char* wrong :
         {"", " ", "256.1.1.1", "1.2.3", "[a,b]", "[127.0.0.1]", "[]", "[::1", "no such host"}) {
        const auto loopback = is_loopback(wrong);
        ASSERT_FALSE(loopback) << wrong;
        EXPECT_NE(loopback.error().what.find(fmt::format("server.host: \"{}\" is no address", wrong)),
                  std::string::npos);
        EXPECT_FALSE(HttpServer::listen({.host = wrong}, HttpCallbacks{})) << wrong;
    }
}

}  // namespace

}  // namespace ft
