#include "server/work_bytes.h"

#include <gtest/gtest.h>

#include <string>

#include "base/bytes.h"
#include "http/http_message.h"
#include "server/openai_request.h"

namespace ft {
namespace {

std::string repeated(const std::string& part, int n) {
    std::string out;
    for (int i = 0; i < n; i++) out += part;
    return out;
}

TEST(WorkBytes, GrowsWithValuesAndTexts) {
    EXPECT_LE(work_bytes("{}"), 20 * k_kib);
    EXPECT_LE(work_bytes(R"({"prompt": "Why is the sky blue?", "max_tokens": 100})"), 20 * k_kib);
    const uint64_t lists = work_bytes("[" + repeated("[],", 100000) + "1]");
    EXPECT_GE(lists, uint64_t{100000} * 100) << "a list of three bytes takes more than a hundred";
    const uint64_t members = work_bytes("[" + repeated(R"({"":0},)", 100000) + "1]");
    EXPECT_GE(members, uint64_t{100000} * 160);
    const uint64_t words = work_bytes("\"" + repeated("ab1 ", 250000) + "\"");
    EXPECT_GE(words, uint64_t{15} * 1000000);
    EXPECT_LE(words, uint64_t{32} * 1000000);
}

TEST(WorkBytes, AStretchWithoutBlanksMayBeOneWord) {
    EXPECT_GE(work_bytes("\"" + repeated("a", 1000000) + "\""), uint64_t{80} * 1000000);
    EXPECT_GE(work_bytes("\"" + repeated(" ", 1000000) + "\""), uint64_t{80} * 1000000);
    EXPECT_GE(work_bytes("\"" + repeated("\\n", 1000000) + "\""), uint64_t{80} * 1000000);
    EXPECT_LE(work_bytes("[" + repeated("\"aaaa\",", 1000) + "1]"), uint64_t{400} * k_kib)
        << "each text is a stretch of its own";
}

TEST(WorkBytes, TextsMayHoldAnythingAndNeedNoEnd) {
    EXPECT_EQ(work_bytes(R"("[{,:\"[{,:")"), work_bytes(R"("aaaaaaaaa")")) << "nothing in a text is a value";
    EXPECT_GT(work_bytes("\"abc\\"), 0u);
    EXPECT_GT(work_bytes("\xff\xfe{{{"), 0u);
}

TEST(WorkBytes, ARoomThatIsTooSmallAndOneThatOthersHave) {
    WebRequest request{.method = "POST", .path = "/tokenize"};
    EXPECT_FALSE(take_room(request, uint64_t{1} << 60)) << "nobody counts";
    const auto room = std::make_shared<ByteRoom>(k_mib);
    request.room = std::make_shared<ByteShare>(room);
    EXPECT_FALSE(take_room(request, k_mib));
    EXPECT_FALSE(take_room(request, 700 * k_kib));
    const auto large = take_room(request, 2 * k_mib);
    ASSERT_TRUE(large);
    EXPECT_EQ(large->status, 413);
    EXPECT_NE(large->message.find("server.requests_mib"), std::string::npos);
    WebRequest other{.method = "POST", .path = "/tokenize"};
    other.room = std::make_shared<ByteShare>(room);
    const auto busy = take_room(other, 500 * k_kib);
    ASSERT_TRUE(busy);
    EXPECT_EQ(busy->status, 503);
}

TEST(WorkBytes, ACallKeepsItsPromptsAndTexts) {
    OpenAiCall call;
    const uint64_t least = kept_bytes(call);
    call.prompt_text = std::string(1000, 'x');
    call.requests.resize(2);
    call.requests[0].prompt.resize(500);
    EXPECT_GE(kept_bytes(call), least + 1000 + 2000);
}

}  // namespace
}  // namespace ft
