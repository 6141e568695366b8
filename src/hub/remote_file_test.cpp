// Against a server of a few lines on this machine, which can be made to misbehave.
#include "hub/remote_file.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

namespace ft {
namespace {

using testing::HasSubstr;

std::string text_of(size_t n) {
    std::string text;
    for (size_t i = 0; i < n; i++) text += static_cast<char>('a' + i * 7919 % 26);
    return text;
}

// Answers each request by `answer(begin, end)`, both from the Range header, with the whole reply.
class Server {
 public:
    using Answer = std::function<std::string(uint64_t begin, uint64_t end)>;

    explicit Server(Answer answer) : answer_(std::move(answer)), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(listen(listener_, 8), 0);
        EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length), 0);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { serve(); });
    }
    ~Server() {
        shutdown(listener_, SHUT_RDWR);
        thread_.join();
        close(listener_);
    }
    std::string url() const { return fmt::format("http://127.0.0.1:{}/model.gguf", port_); }
    uint64_t sent() const { return sent_; }

 private:
    void serve() {
        for (int peer; (peer = accept(listener_, nullptr, nullptr)) >= 0; close(peer)) {
            std::string request;
            char part[4096];
            while (request.find("\r\n\r\n") == std::string::npos) {
                const ssize_t n = recv(peer, part, sizeof part, 0);
                if (n <= 0) break;
                request.append(part, static_cast<size_t>(n));
            }
            unsigned long long begin = 0, end = 0;
            const size_t range = request.find("Range: bytes=");
            if (range != std::string::npos)
                std::sscanf(request.c_str() + range, "Range: bytes=%llu-%llu", &begin, &end);
            const std::string reply = answer_(begin, end);
            for (size_t at = 0; at < reply.size();) {
                const ssize_t n = send(peer, reply.data() + at, reply.size() - at, MSG_NOSIGNAL);
                if (n <= 0) break;
                at += static_cast<size_t>(n);
            }
            sent_ += reply.size();
        }
    }
    Answer answer_;
    int listener_;
    int port_ = 0;
    std::atomic<uint64_t> sent_{0};
    std::thread thread_;
};

std::string part_of(const std::string& text, uint64_t begin, uint64_t end) {
    end = std::min<uint64_t>(end, text.size() - 1);
    return fmt::format(
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {}-{}/{}\r\nContent-Length: {}\r\n"
        "Connection: close\r\n\r\n{}",
        begin, end, text.size(), end - begin + 1, text.substr(begin, end - begin + 1));
}

std::string whole_reply(const char* status, const std::string& body) {
    return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", status,
                       body.size(), body);
}

std::string error_of(const std::string& url) {
    const auto file = open_remote(url);
    return file ? "no error" : file.error().sentence();
}

TEST(RemoteFile, ReadsWhatIsThereAndLittleMore) {
    const std::string text = text_of(20'000'000);
    Server server([&](uint64_t begin, uint64_t end) { return part_of(text, begin, end); });
    auto file = open_remote(server.url());
    ASSERT_TRUE(file) << file.error().sentence();
    EXPECT_EQ((*file)->size(), text.size());
    EXPECT_EQ((*file)->path(), server.url());
    std::string read(3'000'000, ' ');
    for (size_t at = 0; at < read.size(); at += 250'000)
        ASSERT_TRUE((*file)->read_at(at, std::as_writable_bytes(std::span(read.data() + at, 250'000))));
    EXPECT_EQ(read, text.substr(0, read.size()));
    EXPECT_LE(server.sent(), 2 * read.size() + (2 << 20));
    std::string last(100, ' ');
    ASSERT_TRUE((*file)->read_at(text.size() - 100, std::as_writable_bytes(std::span(last))));
    EXPECT_EQ(last, text.substr(text.size() - 100));
    EXPECT_FALSE((*file)->read_at(text.size() - 99, std::as_writable_bytes(std::span(last))));
}

TEST(RemoteFile, AShortFileComesWhole) {
    Server server([&](uint64_t begin, uint64_t end) { return part_of("hello", begin, end); });
    auto file = open_remote(server.url());
    ASSERT_TRUE(file) << file.error().sentence();
    EXPECT_EQ((*file)->size(), 5u);
}

TEST(RemoteFile, FollowsARedirect) {
    const std::string text = text_of(1000);
    Server target([&](uint64_t begin, uint64_t end) { return part_of(text, begin, end); });
    Server server([&](uint64_t, uint64_t) {
        return fmt::format(
            "HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            target.url());
    });
    auto file = open_remote(server.url());
    ASSERT_TRUE(file) << file.error().sentence();
    EXPECT_EQ((*file)->size(), 1000u);
}

TEST(RemoteFile, SaysWhatIsWrongAndWhere) {
    Server missing([](uint64_t, uint64_t) { return whole_reply("404 Not Found", "no such page"); });
    EXPECT_THAT(error_of(missing.url()), testing::AllOf(HasSubstr(missing.url()), HasSubstr("404")));
    Server secret([](uint64_t, uint64_t) { return whole_reply("401 Unauthorized", ""); });
    EXPECT_THAT(error_of(secret.url()), HasSubstr("permission"));
    Server whole([](uint64_t, uint64_t) { return whole_reply("200 OK", text_of(3'000'000)); });
    EXPECT_THAT(error_of(whole.url()), HasSubstr("ranges"));
    Server lengthless([](uint64_t, uint64_t) { return whole_reply("206 Partial Content", "hello"); });
    EXPECT_NE(error_of(lengthless.url()), "no error");
    Server cut([&](uint64_t, uint64_t) {
        return std::string(
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-99/100\r\nContent-Length: 100\r\n"
            "Connection: close\r\n\r\nshort");
    });
    EXPECT_NE(error_of(cut.url()), "no error");
    EXPECT_THAT(error_of("http://127.0.0.1:1/x.gguf"), HasSubstr("127.0.0.1:1"));
    EXPECT_NE(error_of("http://"), "no error");
}

TEST(RemoteFile, NoticesThatTheFileWasReplaced) {
    const std::string text = text_of(5'000'000);
    std::atomic<int> request{0};
    Server server([&](uint64_t begin, uint64_t end) {
        return part_of(request++ == 0 ? text : text.substr(0, 4'000'000), begin, end);
    });
    auto file = open_remote(server.url());
    ASSERT_TRUE(file) << file.error().sentence();
    std::string read(10, ' ');
    const Status status = (*file)->read_at(3'000'000, std::as_writable_bytes(std::span(read)));
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().what, HasSubstr("4000000"));
}

TEST(RemoteFile, KnowsAUrlFromAPath) {
    EXPECT_TRUE(is_url("https://example.org/x.gguf"));
    EXPECT_TRUE(is_url("http://example.org/x.gguf"));
    EXPECT_FALSE(is_url("model.gguf"));
    EXPECT_FALSE(is_url("ftp://example.org/x.gguf"));
}

}  // namespace
}  // namespace ft
