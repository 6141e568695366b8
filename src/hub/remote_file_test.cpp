// Against a server of a few lines on this machine, which can be made to misbehave.
#include "hub/remote_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "hub/server_for_test.h"

namespace ft {
namespace {

using testing::HasSubstr;

std::string error_of(const std::string& url) {
    const auto file = open_remote(url);
    return file ? "no error" : file.error().sentence();
}

TEST(RemoteFile, ReadsWhatIsThereAndLittleMore) {
    const std::string text = test_text(20'000'000);
    TestServer server([&](const TestRequest& request) { return part_reply(text, request); });
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
    TestServer server([&](const TestRequest& request) { return part_reply("hello", request); });
    auto file = open_remote(server.url());
    ASSERT_TRUE(file) << file.error().sentence();
    EXPECT_EQ((*file)->size(), 5u);
}

TEST(RemoteFile, FollowsARedirect) {
    const std::string text = test_text(1000);
    TestServer target([&](const TestRequest& request) { return part_reply(text, request); });
    TestServer server([&](const TestRequest&) { return redirect_reply(target.url()); });
    auto file = open_remote(server.url());
    ASSERT_TRUE(file) << file.error().sentence();
    EXPECT_EQ((*file)->size(), 1000u);
}

TEST(RemoteFile, SaysWhatIsWrongAndWhere) {
    TestServer missing([](const TestRequest&) { return whole_reply("404 Not Found", "no such page"); });
    EXPECT_THAT(error_of(missing.url()), testing::AllOf(HasSubstr(missing.url()), HasSubstr("404")));
    TestServer secret([](const TestRequest&) { return whole_reply("401 Unauthorized", ""); });
    EXPECT_THAT(error_of(secret.url()), HasSubstr("permission"));
    TestServer whole([](const TestRequest&) { return whole_reply("200 OK", test_text(3'000'000)); });
    EXPECT_THAT(error_of(whole.url()), HasSubstr("ranges"));
    TestServer lengthless([](const TestRequest&) { return whole_reply("206 Partial Content", "hello"); });
    EXPECT_NE(error_of(lengthless.url()), "no error");
    EXPECT_THAT(error_of("http://127.0.0.1:1/x.gguf"), HasSubstr("127.0.0.1:1"));
    EXPECT_NE(error_of("http://"), "no error");
}

TEST(RemoteFile, GoesOnAfterAConnectionThatBroke) {
    const std::string text = test_text(5'000'000);
    TestServer server([&](const TestRequest& request) { return part_reply(text, request, 400'000); });
    auto file = open_remote(server.url());
    ASSERT_TRUE(file) << file.error().sentence();
    std::string read(3'000'000, ' ');
    const Status status = (*file)->read_at(500'000, std::as_writable_bytes(std::span(read)));
    ASSERT_TRUE(status) << status.error().sentence();
    EXPECT_EQ(read, text.substr(500'000, read.size()));
}

TEST(RemoteFile, GivesUpOnAServerThatSendsCrumbs) {
    TestServer server([](const TestRequest& request) { return part_reply(test_text(2'000), request, 5); });
    auto file = open_remote(server.url());
    ASSERT_TRUE(file) << file.error().sentence();
    std::string read(2'000, ' ');
    EXPECT_FALSE((*file)->read_at(0, std::as_writable_bytes(std::span(read))));
    EXPECT_LT(server.requests(), 100);
}

TEST(RemoteFile, GivesUpOnAServerThatFallsSilentAfterAFewBytes) {
    const std::string text = test_text(2'000'000);
    TestServer server([&](const TestRequest& request) { return part_reply(text, request, 100); },
                      TestServer::AfterReply::silence);
    const auto file = open_remote_with(server.url(), {}, {.stalled_seconds = 1});
    ASSERT_FALSE(file);
    EXPECT_THAT(file.error().what, testing::AllOf(HasSubstr(server.url()), HasSubstr("too slow")));
    EXPECT_EQ(server.requests(), 1);
}

TEST(RemoteFile, GoesOnAfterASilenceThatFollowedMuch) {
    const std::string text = test_text(1'000'000);
    std::atomic<int> asked{0};
    TestServer server(
        [&](const TestRequest& request) {
            return part_reply(text, request, asked++ == 0 ? 400'000 : text.size());
        },
        TestServer::AfterReply::silence);
    auto file = open_remote_with(server.url(), {}, {.stalled_seconds = 1});
    ASSERT_TRUE(file) << file.error().sentence();
    std::string read(text.size(), ' ');
    const Status status = (*file)->read_at(0, std::as_writable_bytes(std::span(read)));
    ASSERT_TRUE(status) << status.error().sentence();
    EXPECT_EQ(read, text);
}

TEST(RemoteFile, AsksABusyServerAgain) {
    const std::string text = test_text(3'000'000);
    std::atomic<int> asked{0};
    TestServer server([&](const TestRequest& request) {
        // the first time, and in the middle
        const bool busy = asked == 0 || asked == 2;
        asked++;
        return busy ? whole_reply("503 Busy", "") : part_reply(text, request);
    });
    EXPECT_FALSE(open_remote(server.url()));
    asked = 0;
    auto file = open_remote_with(server.url(), {}, {.retries = 1, .first_pause = 0.001});
    ASSERT_TRUE(file) << file.error().sentence();
    std::string read(2'000'000, ' ');
    const Status status = (*file)->read_at(500'000, std::as_writable_bytes(std::span(read)));
    ASSERT_TRUE(status) << status.error().sentence();
    EXPECT_EQ(read, text.substr(500'000, read.size()));
}

TEST(RemoteFile, NoticesThatTheFileWasReplaced) {
    const std::string text = test_text(5'000'000);
    std::atomic<int> request{0};
    TestServer server([&](const TestRequest& asked) {
        return part_reply(request++ == 0 ? text : text.substr(0, 4'000'000), asked);
    });
    auto file = open_remote(server.url());
    ASSERT_TRUE(file) << file.error().sentence();
    std::string read(10, ' ');
    const Status status = (*file)->read_at(3'000'000, std::as_writable_bytes(std::span(read)));
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().what, HasSubstr("4000000"));
}

}  // namespace
}  // namespace ft
