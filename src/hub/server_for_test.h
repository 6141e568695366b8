// For tests: a server of a few lines on this machine, which can be made to misbehave. One connection at a
// time, one request each.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>

namespace ft {

struct TestRequest {
    std::string path;  // "/model.gguf"
    bool has_range = false;
    uint64_t begin = 0, end = 0;  // of the Range header, both included
    std::string text;             // all of its head
};

// Answers each request by `answer(request)`, which gives the whole reply.
class TestServer {
 public:
    using Answer = std::function<std::string(const TestRequest&)>;

    enum class AfterReply { close, silence };  // silence: until the other side closes

    explicit TestServer(Answer answer, AfterReply after = AfterReply::close)
        : answer_(std::move(answer)),
          after_(after),
          listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(listen(listener_, 16), 0);
        EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length), 0);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { serve(); });
    }
    ~TestServer() {
        shutdown(listener_, SHUT_RDWR);
        thread_.join();
        close(listener_);
    }
    TestServer(const TestServer&) = delete;
    TestServer& operator=(const TestServer&) = delete;

    std::string origin() const { return fmt::format("http://127.0.0.1:{}", port_); }
    std::string url() const { return origin() + "/model.gguf"; }
    uint64_t sent() const { return sent_; }
    int requests() const { return requests_; }

 private:
    static TestRequest parse(const std::string& head) {
        TestRequest request;
        request.text = head;
        const size_t path = head.find(' ') + 1;
        request.path = head.substr(path, head.find(' ', path) - path);
        unsigned long long begin = 0, end = 0;
        const size_t range = head.find("Range: bytes=");
        request.has_range = range != std::string::npos &&
                            std::sscanf(head.c_str() + range, "Range: bytes=%llu-%llu", &begin, &end) == 2;
        request.begin = begin;
        request.end = end;
        return request;
    }

    void serve() {
        for (int peer; (peer = accept(listener_, nullptr, nullptr)) >= 0; close(peer)) {
            std::string head;
            char part[4096];
            while (head.find("\r\n\r\n") == std::string::npos) {
                const ssize_t n = recv(peer, part, sizeof part, 0);
                if (n <= 0) break;
                head.append(part, static_cast<size_t>(n));
            }
            requests_++;
            const std::string reply = answer_(parse(head));
            for (size_t at = 0; at < reply.size();) {
                const ssize_t n = send(peer, reply.data() + at, reply.size() - at, MSG_NOSIGNAL);
                if (n <= 0) break;
                at += static_cast<size_t>(n);
            }
            sent_ += reply.size();
            while (after_ == AfterReply::silence && recv(peer, part, sizeof part, 0) > 0) {
            }
        }
    }

    Answer answer_;
    AfterReply after_;
    int listener_;
    int port_ = 0;
    std::atomic<uint64_t> sent_{0};
    std::atomic<int> requests_{0};
    std::thread thread_;
};

inline std::string test_text(size_t n) {
    std::string text;
    for (size_t i = 0; i < n; i++) text += static_cast<char>('a' + (i * 7919 + i / 977) % 26);
    return text;
}

// The part of `text` that was asked for. `sent` bytes of it at most: what is missing was cut off.
inline std::string part_reply(const std::string& text, const TestRequest& request, size_t sent = SIZE_MAX,
                              const std::string& headers = "") {
    const uint64_t end = std::min<uint64_t>(request.end, text.size() - 1);
    return fmt::format(
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {}-{}/{}\r\nContent-Length: {}\r\n{}"
        "Connection: close\r\n\r\n{}",
        request.begin, end, text.size(), end - request.begin + 1, headers,
        text.substr(request.begin, std::min<size_t>(sent, end - request.begin + 1)));
}

inline std::string whole_reply(const std::string& status, const std::string& body,
                               const std::string& headers = "") {
    return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n{}Connection: close\r\n\r\n{}", status,
                       body.size(), headers, body);
}

inline std::string redirect_reply(const std::string& to) {
    return fmt::format("HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                       to);
}

}  // namespace ft
