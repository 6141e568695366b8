#include "server/request_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ft {

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RequestNote note_of(const RequestRecord& record) {
    return {.id = "abc", .path = "/generate", .finish = "stop", .record = record};
}

TEST(RequestRing, KeepsTheLast) {
    RequestRing ring;
    for (size_t i = 0; i < RequestRing::k_most + 3; i++) ring.add({.id = std::to_string(i)});
    EXPECT_EQ(ring.notes().size(), RequestRing::k_most);
    EXPECT_EQ(ring.notes().front().id, "3");
}

TEST(RequestRing, ALineHoldsEveryFigure) {
    const std::string line = log_text(note_of({.queue_ms = 1.5,
                                               .prefill_ms = 20,
                                               .decode_ms = 100,
                                               .prompt_tokens = 12,
                                               .cached_tokens = 4,
                                               .generated_tokens = 10,
                                               .expert_hits = 75,
                                               .expert_misses = 25,
                                               .expert_bytes = 5000000,
                                               .expert_wait_ms = 30,
                                               .expert_worst_ms = 7}));
    for (const char* part : {"interactive", "queue 1.5 ms", "prompt 12 tokens (4 cached) 20.0 ms",
                             "decode 10 tokens 100.0 ms (90.0 tok/s)", "expert hits 75.0 %",
                             "swap in 25 experts, 5.0 MB, 30.0 ms, worst 7.0 ms", "stop"})
        EXPECT_THAT(line, HasSubstr(part));
    EXPECT_THAT(line, Not(HasSubstr("limit")));
}

TEST(RequestRing, ALineNamesTheLimitWhereItIsClear) {
    const RequestRecord base{.prefill_ms = 100, .decode_ms = 900, .expert_hits = 1, .expert_misses = 9};
    RequestRecord drive = base, cpu = base;
    drive.expert_wait_ms = 700;
    drive.expert_worst_ms = 250;
    cpu.expert_wait_ms = 10;
    EXPECT_THAT(log_text(note_of(drive)), HasSubstr("limit: drive"));
    EXPECT_THAT(log_text(note_of(drive)), HasSubstr("waited 250 ms"));
    EXPECT_THAT(log_text(note_of(cpu)), HasSubstr("limit: cpu"));
    EXPECT_THAT(log_text(note_of({})), HasSubstr("no expert hits counted"));
}

TEST(RequestRing, JsonHasTheTimesAndNoContent) {
    const nlohmann::ordered_json json = to_json(note_of({.queue_ms = 2.0004999}));
    EXPECT_EQ(json["queue_ms"].dump(), "2.0") << "to the thousandth";
    EXPECT_EQ(json["lane"], "interactive");
    EXPECT_FALSE(json.contains("prompt"));
}

}  // namespace

}  // namespace ft
