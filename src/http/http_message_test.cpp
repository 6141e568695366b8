#include "http/http_message.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ft {

namespace {

TEST(HttpMessage, HeadersAreFoundByName) {
    const WebRequest request{.method = "GET",
                             .path = "/",
                             .query = "",
                             .headers = {{"host", "x"}, {"accept", "a"}, {"accept", "b"}},
                             .body = ""};
    EXPECT_EQ(request.header("accept"), "a");
    EXPECT_EQ(request.header("cookie"), "");
}

TEST(HttpMessage, AHeadSaysHowTheBodyEnds) {
    const WebReply reply{.status = 429, .headers = {{"Retry-After", "1"}}};
    const std::string whole = reply_head(reply, {.length = 5});
    EXPECT_TRUE(whole.starts_with("HTTP/1.1 429 Too Many Requests\r\n"));
    EXPECT_NE(whole.find("\r\nRetry-After: 1\r\n"), std::string::npos);
    EXPECT_NE(whole.find("\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n"), std::string::npos);
    const std::string stream = reply_head(reply, {.length = {}, .chunked = true, .keep_alive = false});
    EXPECT_NE(stream.find("\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"), std::string::npos);
}

TEST(HttpMessage, AValueCannotBeginAnotherHeader) {
    const std::string head = reply_head({.headers = {{"X-Request-Id", "a\r\nSet-Cookie: b"}}}, {.length = 0});
    EXPECT_NE(head.find("\r\nX-Request-Id: aSet-Cookie: b\r\n"), std::string::npos);
}

TEST(HttpMessage, Chunks) {
    EXPECT_EQ(chunk("0123456789abcdef!"), "11\r\n0123456789abcdef!\r\n");
    EXPECT_EQ(chunk(""), "");
}

TEST(HttpMessage, ATargetMayBeAWholeAddress) {
    const auto parts = [](std::string_view target) {
        const Target t = split_target(target);
        return fmt::format("{}|{}|{}", t.authority, t.path, t.query);
    };
    EXPECT_EQ(parts("/a/b?c=d?e"), "|/a/b|c=d?e");
    EXPECT_EQ(parts("http://host:81/a?b"), "host:81|/a|b");
    EXPECT_EQ(parts("HTTPS://[::1]"), "[::1]|/|");
    EXPECT_EQ(parts("http://host?b"), "host|/|b");
    EXPECT_EQ(parts("*"), "|*|");
    EXPECT_EQ(parts("/http://x"), "|/http://x|");
    EXPECT_EQ(parts(""), "||");
}

TEST(HttpMessage, PercentDecoding) {
    EXPECT_EQ(percent_decoded("a%2Fb%2fc"), "a/b/c");
    EXPECT_EQ(percent_decoded("%zz%2"), "%zz%2");
    EXPECT_EQ(percent_decoded("%41"), "A");
}

}  // namespace

}  // namespace ft
