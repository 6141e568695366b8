#include "hub/download.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include "base/bytes.h"
#include "hub/server_for_test.h"
#include "hub/sha256.h"

namespace ft {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uint64_t k_chunk = 10'000;

std::string digest_of(const std::string& text) {
    Sha256 digest;
    digest.add(std::as_bytes(std::span(text)));
    return digest.hex();
}

class DownloadTest : public testing::Test {
 protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "freetoken-download-XXXXXX";
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { fs::remove_all(folder_); }

    RemotePart part(const TestServer& server, const std::string& name = "m.gguf") const {
        return {.url = server.url(),
                .path = folder_ + "/" + name,
                .bytes = text_.size(),
                .sha256 = digest_of(text_)};
    }
    DownloadOptions options() const {
        return {.connections = 3, .patience = {.retries = 3, .first_pause = 0.001}, .chunk_bytes = k_chunk};
    }
    std::string outcome(const RemotePart& part, const DownloadOptions& with) const {
        const auto done = download({&part, 1}, with);
        if (!done) return done.error().sentence();
        return *done == Downloaded::now ? "now" : *done == Downloaded::before ? "before" : "stopped";
    }
    std::string outcome(const RemotePart& part) const { return outcome(part, options()); }
    std::string content(const std::string& name = "m.gguf") const {
        std::ifstream in(folder_ + "/" + name);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    bool is_empty() const { return fs::is_empty(folder_); }

    const std::string text_ = "GGUF" + test_text(123'456);
    std::string folder_;
};

TEST_F(DownloadTest, BringsAFileOverSeveralConnections) {
    TestServer server([&](const TestRequest& request) { return part_reply(text_, request); });
    EXPECT_EQ(outcome(part(server)), "now");
    EXPECT_EQ(content(), text_);
    EXPECT_GT(server.requests(), 3);
    EXPECT_LE(server.sent(), text_.size() + 200u * static_cast<unsigned>(server.requests()));
    EXPECT_FALSE(fs::exists(folder_ + "/m.gguf.part"));
    EXPECT_EQ(outcome(part(server)), "before");
}

TEST_F(DownloadTest, GoesOnInsideAChunkThatBroke) {
    // every answer is cut after 3,000 bytes, less than a chunk; nothing is asked for twice
    TestServer server([&](const TestRequest& request) { return part_reply(text_, request, 3'000); });
    DownloadOptions patient = options();
    patient.patience.retries = 100;
    EXPECT_EQ(outcome(part(server), patient), "now");
    EXPECT_EQ(content(), text_);
    EXPECT_LE(server.sent(), text_.size() + 200u * static_cast<unsigned>(server.requests()));
}

TEST_F(DownloadTest, GivesUpAfterSomeFailuresAndGoesOnLater) {
    std::atomic<bool> well{false};
    std::atomic<int> answered{0};
    TestServer server([&](const TestRequest& request) {
        const bool good = well || answered++ < 4;
        return good ? part_reply(text_, request) : whole_reply("503 Service Unavailable", "");
    });
    EXPECT_THAT(outcome(part(server)), HasSubstr("503"));
    EXPECT_FALSE(fs::exists(folder_ + "/m.gguf"));
    const auto state = read_part_state(folder_ + "/m.gguf");
    ASSERT_TRUE(state);
    EXPECT_GT(state->done, 0u);
    well = true;
    const uint64_t before = server.sent();
    EXPECT_EQ(outcome(part(server)), "now");
    EXPECT_EQ(content(), text_);
    EXPECT_LE(server.sent() - before, text_.size() - state->done + 200u * 20);
}

TEST_F(DownloadTest, IsStoppedFromOutsideAndKeepsWhatCame) {
    std::atomic<bool> stop{false};
    std::atomic<int> answered{0};
    TestServer server([&](const TestRequest& request) {
        if (++answered == 4) stop = true;
        return part_reply(text_, request);
    });
    DownloadOptions stoppable = options();
    stoppable.stop = [&] { return stop.load(); };
    EXPECT_EQ(outcome(part(server), stoppable), "stopped");
    EXPECT_FALSE(fs::exists(folder_ + "/m.gguf"));
    EXPECT_TRUE(read_part_state(folder_ + "/m.gguf"));
    EXPECT_EQ(outcome(part(server)), "now");
    EXPECT_EQ(content(), text_);
}

TEST_F(DownloadTest, AServerWithoutRangesIsReadFromTheStart) {
    std::atomic<int> answered{0};
    TestServer server([&](const TestRequest& request) {
        EXPECT_FALSE(request.has_range);
        std::string reply = whole_reply("200 OK", text_);
        if (answered++ == 0) reply.resize(reply.size() / 2);
        return reply;
    });
    RemotePart whole = part(server);
    whole.ranges = false;
    EXPECT_EQ(outcome(whole), "now");
    EXPECT_EQ(content(), text_);
    EXPECT_EQ(server.requests(), 2);
}

TEST_F(DownloadTest, WrongBytesAreNotKept) {
    std::string wrong = text_;
    wrong[70'000] ^= 1;
    TestServer server([&](const TestRequest& request) { return part_reply(wrong, request); });
    EXPECT_THAT(outcome(part(server)), HasSubstr("SHA-256"));
    EXPECT_TRUE(is_empty());
}

TEST_F(DownloadTest, WhatTheDriveChangedIsFetchedAgainAlone) {
    std::atomic<bool> stop{false};
    std::atomic<int> answered{0};
    TestServer server([&](const TestRequest& request) {
        if (++answered == 3) stop = true;
        return part_reply(text_, request);
    });
    const RemotePart wanted = part(server);
    DownloadOptions stoppable = options();
    stoppable.connections = 1;
    stoppable.stop = [&] { return stop.load(); };
    EXPECT_EQ(outcome(wanted, stoppable), "stopped");
    std::fstream out(part_path(wanted.path), std::ios::in | std::ios::out);
    out.seekp(15'000);  // of the second chunk
    out << "XXXX";
    out.close();
    stop = false;
    const auto kept = read_part_state(wanted.path);
    ASSERT_TRUE(kept && kept->done >= 2 * k_chunk);
    const uint64_t before = server.sent();
    EXPECT_EQ(outcome(wanted), "now");
    EXPECT_EQ(content(), text_);
    EXPECT_LE(server.sent() - before, text_.size() - kept->done + k_chunk + 200u * 20);
}

TEST_F(DownloadTest, WhatIsNoModelIsNotKept) {
    const std::string page = "<!DOCTYPE html>" + test_text(50'000);
    TestServer server([&](const TestRequest& request) { return part_reply(page, request); });
    RemotePart wanted{.url = server.url(), .path = folder_ + "/m.gguf", .bytes = page.size()};
    EXPECT_THAT(outcome(wanted), HasSubstr("HTML"));
    EXPECT_TRUE(is_empty());
}

TEST_F(DownloadTest, ASizeThatChangesEndsIt) {
    TestServer server([&](const TestRequest& request) { return part_reply(text_ + "more", request); });
    EXPECT_THAT(outcome(part(server)), testing::AllOf(HasSubstr("123460"), HasSubstr("123464")));
    EXPECT_FALSE(fs::exists(folder_ + "/m.gguf"));
}

TEST_F(DownloadTest, AFileThatIsReplacedMeanwhileEndsIt) {
    std::atomic<int> answered{0};
    TestServer server([&](const TestRequest& request) {
        return part_reply(text_, request, SIZE_MAX, answered++ < 2 ? "ETag: \"1\"\r\n" : "ETag: \"2\"\r\n");
    });
    RemotePart wanted = part(server);
    wanted.sha256 = "";
    wanted.etag = "\"1\"";
    EXPECT_THAT(outcome(wanted), HasSubstr("not the one that was begun"));
}

TEST_F(DownloadTest, PartsOfOneModelAppearTogether) {
    std::atomic<bool> well{false};
    TestServer server([&](const TestRequest& request) {
        if (request.path == "/2" && !well) return whole_reply("404 Not Found", "");
        return part_reply(text_, request);
    });
    RemotePart parts[] = {part(server, "m-00001-of-00002.gguf"), part(server, "m-00002-of-00002.gguf")};
    parts[1].url = server.origin() + "/2";
    EXPECT_FALSE(download(parts, options()));
    EXPECT_FALSE(fs::exists(parts[0].path));
    well = true;
    const auto done = download(parts, options());
    ASSERT_TRUE(done) << done.error().sentence();
    EXPECT_EQ(content("m-00001-of-00002.gguf"), text_);
    EXPECT_EQ(content("m-00002-of-00002.gguf"), text_);
}

TEST_F(DownloadTest, ReplacesAFileOfOtherContentOnlyAtTheEnd) {
    std::ofstream(folder_ + "/m.gguf") << std::string(text_.size(), 'o');
    std::atomic<bool> was_there{true};
    TestServer server([&](const TestRequest& request) {
        was_there = was_there && content()[0] == 'o';
        return part_reply(text_, request);
    });
    EXPECT_EQ(outcome(part(server)), "now");
    EXPECT_TRUE(was_there);
    EXPECT_EQ(content(), text_);
}

TEST_F(DownloadTest, ProgressOnlyRises) {
    TestServer server([&](const TestRequest& request) { return part_reply(text_, request); });
    DownloadOptions told = options();
    uint64_t last = 0;
    bool checked = false;
    told.progress = [&](const DownloadProgress& progress) {
        if (progress.checking && !checked) last = 0;
        checked = progress.checking;
        EXPECT_GE(progress.done, last);
        EXPECT_EQ(progress.total, text_.size());
        last = progress.done;
    };
    EXPECT_EQ(outcome(part(server), told), "now");
    EXPECT_EQ(last, text_.size());
    EXPECT_TRUE(checked);
}

TEST_F(DownloadTest, RoomIsCountedBefore) {
    RemotePart wanted{.url = "http://x", .path = folder_ + "/a/b/m.gguf", .bytes = 1000};
    const auto little = check_room({&wanted, 1});
    ASSERT_TRUE(little) << little.error().sentence();
    EXPECT_EQ(*little, 1000u);
    wanted.bytes = uint64_t{1} << 44;
    const auto much = check_room({&wanted, 1});
    ASSERT_FALSE(much);
    EXPECT_THAT(much.error().sentence(), testing::AllOf(HasSubstr(folder_), HasSubstr("16384.0 GiB")));
    EXPECT_TRUE(is_empty());
}

TEST(Probe, SizeMarkAndRanges) {
    const std::string text = test_text(500);
    TestServer parts(
        [&](const TestRequest& request) { return part_reply(text, request, SIZE_MAX, "ETag: \"x\"\r\n"); });
    const auto with = probe(parts.url(), {});
    ASSERT_TRUE(with) << with.error().sentence();
    EXPECT_EQ(with->bytes, 500u);
    EXPECT_EQ(with->etag, "\"x\"");
    EXPECT_TRUE(with->ranges);
    TestServer whole([&](const TestRequest&) { return whole_reply("200 OK", text); });
    const auto without = probe(whole.url(), {});
    ASSERT_TRUE(without) << without.error().sentence();
    EXPECT_EQ(without->bytes, 500u);
    EXPECT_FALSE(without->ranges);
    TestServer lengthless(
        [](const TestRequest&) { return std::string("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"); });
    EXPECT_FALSE(probe(lengthless.url(), {}));
}

}  // namespace
}  // namespace ft
