#include "hub/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/bytes.h"
#include "hub/server_for_test.h"
#include "hub/sha256.h"
#include "hub/url.h"

namespace ft {
namespace {

using testing::AllOf;
using testing::HasSubstr;

HttpClient::Text text_at(const std::string& url, uint64_t most = 1000) {
    const auto text = HttpClient().get_text({.url = url, .most = most});
    return text ? *text : HttpClient::Text{text.error().sentence(), ""};
}

std::string token_of(const TestRequest& request) {
    const size_t at = request.text.find("Authorization: Bearer ");
    return at == std::string::npos ? "none"
                                   : request.text.substr(at + 22, request.text.find('\r', at) - at - 22);
}

TEST(HttpClient, GivesABodyAndTheNextPage) {
    TestServer server([](const TestRequest&) {
        return whole_reply("200 OK", "hello", "Link: </more?cursor=2>; rel=\"next\"\r\n");
    });
    const auto text = text_at(server.url());
    EXPECT_EQ(text.body, "hello");
    EXPECT_EQ(text.next, "/more?cursor=2");
}

TEST(HttpClient, TakesNoMoreThanItAskedFor) {
    TestServer lengthless([](const TestRequest&) {
        return "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + test_text(3'000'000);
    });
    EXPECT_THAT(text_at(lengthless.url()).body, HasSubstr("more than 1000 bytes"));
    TestServer longer([](const TestRequest&) {
        return "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-9/100\r\nConnection: close\r\n\r\n" +
               test_text(50);
    });
    size_t taken = 0;
    const HttpReply reply = HttpClient().get({.url = longer.url(), .range = ByteRange{0, 10}},
                                             [&](std::span<const std::byte> bytes) {
                                                 taken += bytes.size();
                                                 return true;
                                             });
    EXPECT_EQ(reply.end, HttpEnd::wrong);
    EXPECT_LE(taken, 10u);
}

TEST(HttpClient, AnotherPartThanTheOneAskedForIsWrong) {
    TestServer server([](const TestRequest&) {
        return "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 5-9/100\r\nConnection: "
               "close\r\n\r\nhello";
    });
    const HttpReply reply = HttpClient().get({.url = server.url(), .range = ByteRange{0, 5}},
                                             [](std::span<const std::byte>) { return true; });
    EXPECT_EQ(reply.end, HttpEnd::wrong);
    EXPECT_FALSE(may_pass(reply));
}

TEST(HttpClient, RedirectsInACircleAndHeadersWithoutEndAreGivenUp) {
    TestServer* self = nullptr;
    TestServer circle([&](const TestRequest&) { return redirect_reply(self->url()); });
    self = &circle;
    EXPECT_THAT(text_at(circle.url()).body, HasSubstr("redirects more than 10 times"));
    EXPECT_LE(circle.requests(), 12);
    TestServer headers([](const TestRequest&) {
        std::string many;
        for (int i = 0; i < 20'000; i++)
            many += fmt::format("X-Header-{}: {}\r\n", i, "some words to fill a line");
        return whole_reply("200 OK", "hello", many);
    });
    EXPECT_NE(text_at(headers.url()).body, "hello");
}

TEST(HttpClient, WhatIsNoHttpAndWhatLeadsElsewhereAreToldApart) {
    TestServer garbage([](const TestRequest&) { return "SSH-2.0-x\r\n"; });
    EXPECT_THAT(text_at(garbage.url()).body, HasSubstr("does not speak HTTP"));
    TestServer to_garbage([&](const TestRequest&) { return redirect_reply(garbage.url()); });
    EXPECT_THAT(text_at(to_garbage.url()).body, HasSubstr("does not speak HTTP"));
    TestServer to_ftp([](const TestRequest&) { return redirect_reply("ftp://127.0.0.1/x"); });
    EXPECT_THAT(text_at(to_ftp.url()).body, HasSubstr("neither https nor http"));
}

TEST(HttpClient, ATokenGoesToItsOwnServerAlone) {
    std::string at_target, at_server;
    TestServer target([&](const TestRequest& request) {
        at_target = token_of(request);
        return whole_reply("200 OK", "hello");
    });
    TestServer server([&](const TestRequest& request) {
        at_server = token_of(request);
        return redirect_reply(target.url());
    });
    const HttpToken token{"hf_secret", parse_url(server.url())->origin};
    HttpClient client(token);
    ASSERT_TRUE(client.get_text({.url = server.url(), .most = 100}));
    EXPECT_EQ(at_server, "hf_secret");
    EXPECT_EQ(at_target, "none");
    ASSERT_TRUE(client.get_text({.url = target.url(), .most = 100}));
    EXPECT_EQ(at_target, "none");
    ASSERT_TRUE(client.get_text({.url = server.url(), .most = 100}));
    EXPECT_EQ(at_server, "hf_secret");
}

TEST(HttpClient, EveryRefusalHasItsRemedy) {
    const std::pair<const char*, const char*> cases[] = {
        {"401 Unauthorized", "HF_TOKEN"},    {"403 Forbidden", "HF_TOKEN"},
        {"404 Not Found", "Check the name"}, {"429 Too Many", "wait 7 s"},
        {"503 Unavailable", "again later"},  {"418 Teapot", "Check the address"}};
    for (const auto& [status, remedy] : cases) {
        TestServer server([&](const TestRequest&) { return whole_reply(status, "", "Retry-After: 7\r\n"); });
        EXPECT_THAT(
            text_at(server.url()).body,
            AllOf(HasSubstr(server.url()), HasSubstr(std::string(status).substr(0, 3)), HasSubstr(remedy)));
    }
}

TEST(HttpClient, AsksAgainForWhatMayGoWellLater) {
    std::atomic<int> asked{0};
    TestServer server([&](const TestRequest&) {
        switch (asked++) {
            case 0:
                return whole_reply("503 Busy", "");
            case 1:
                return std::string();  // closed without a word
            case 2:
                return std::string("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
            default:
                return whole_reply("200 OK", "hello");
        }
    });
    std::vector<std::string> told;
    const auto text = HttpClient().get_text(
        {.url = server.url(), .most = 100},
        {.retries = 3, .first_pause = 0.001, .on_pause = [&](const std::string& why, Seconds) {
             told.push_back(why);
         }});
    ASSERT_TRUE(text) << text.error().sentence();
    EXPECT_EQ(text->body, "hello");
    ASSERT_EQ(told.size(), 3u);
    EXPECT_THAT(told[0], HasSubstr("the server answers 503"));
}

TEST(HttpClient, DoesNotAskAgainInVain) {
    const auto requests = [](const std::string& status, const std::string& headers) {
        TestServer server([&](const TestRequest&) { return whole_reply(status, "", headers); });
        EXPECT_FALSE(
            HttpClient().get_text({.url = server.url(), .most = 100}, {.retries = 2, .first_pause = 0.001}));
        return server.requests();
    };
    EXPECT_EQ(requests("503 Busy", ""), 3);
    EXPECT_EQ(requests("404 Not Found", ""), 1);
    EXPECT_EQ(requests("503 Busy", "Retry-After: 600\r\n"), 1);
    // where nobody listens; a pause would be an hour
    EXPECT_FALSE(HttpClient().get_text({.url = "http://127.0.0.1:1/x", .most = 100},
                                       {.retries = 1, .first_pause = 3600}));
}

TEST(HttpClient, IsStoppedFromOutside) {
    TestServer server([](const TestRequest&) { return whole_reply("200 OK", test_text(5000)); });
    HttpClient client({}, [] { return true; });
    const HttpReply reply =
        client.get({.url = server.url(), .most = 5000}, [](std::span<const std::byte>) { return true; });
    EXPECT_EQ(reply.end, HttpEnd::stopped);
}

TEST(Url, Parts) {
    const auto url = parse_url("https://Example.org/a%20b/m.gguf?download=true");
    ASSERT_TRUE(url) << url.error().sentence();
    EXPECT_EQ(url->origin, "https://example.org:443");
    EXPECT_EQ(url->path, "/a b/m.gguf");
    EXPECT_TRUE(url->encrypted);
    EXPECT_TRUE(is_loopback(*parse_url("http://127.0.0.1:8080/x")));
    EXPECT_FALSE(is_loopback(*parse_url("http://example.org")));
    EXPECT_EQ(url_path("a b/ü%.gguf"), "a%20b/%C3%BC%25.gguf");
    EXPECT_EQ(shown_url("https://u:p@example.org/x?sig=1"), "https://example.org/x");
    EXPECT_EQ(shown_url("https://example.org/a@b?x"), "https://example.org/a@b");
}

TEST(Url, RefusesWhatIsNone) {
    for (const char* text : {"http://", "ftp://x/y", "x.gguf", "https://user:secret@example.org/x",
                             "http://a b/", "http://x/%0a"}) {
        const auto url = parse_url(text);
        ASSERT_FALSE(url) << text;
        EXPECT_EQ(url.error().sentence().find("secret"), std::string::npos);
    }
}

TEST(Url, KnowsAUrlFromAPath) {
    EXPECT_TRUE(is_url("https://example.org/x.gguf"));
    EXPECT_TRUE(is_url("http://example.org/x.gguf"));
    EXPECT_FALSE(is_url("model.gguf"));
    EXPECT_FALSE(is_url("ftp://example.org/x.gguf"));
}

TEST(Sha256, OfTheStandardsExample) {
    Sha256 digest;
    digest.add(std::as_bytes(std::span("ab", 2)));
    digest.add(std::as_bytes(std::span("c", 1)));
    EXPECT_EQ(digest.hex(),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-2, B.1
    EXPECT_TRUE(is_sha256("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    EXPECT_FALSE(is_sha256("ba7816"));
}

}  // namespace
}  // namespace ft
