#include "server/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

namespace ft {

namespace {

using ::testing::HasSubstr;

std::string text_after_a_request() {
    Metrics metrics;
    metrics.observe({.finish = "stop",
                     .record = {.queue_ms = 3,
                                .prefill_ms = 20,
                                .decode_ms = 50,
                                .ttft_ms = 23,
                                .prompt_tokens = 12,
                                .cached_tokens = 4,
                                .generated_tokens = 5}});
    metrics.observe_token_gap(0.01);
    metrics.refused(429);
    MetricsNow now{.model = "a \"model\"", .ready = true};
    now.scheduler.running = 2;
    now.scheduler.pages = 20;
    now.scheduler.pages_used = 8;
    now.scheduler.pages_cached = 3;
    now.block_tokens = 128;
    return metrics.text(now);
}

TEST(Metrics, HistogramsCountUpwards) {
    const std::array bounds = {1.0, 2.0};
    Histogram histogram(bounds);
    for (const double value : {0.5, 1.0, 1.5, 9.0}) histogram.observe(value);
    EXPECT_EQ(histogram.below(0), 2u);
    EXPECT_EQ(histogram.below(1), 3u);
    EXPECT_EQ(histogram.count(), 4u);
    EXPECT_EQ(histogram.sum(), 12.0);
}

TEST(Metrics, EveryLineIsOfTheFormatAndEveryFamilyHasAType) {
    const std::regex sample(
        R"re(^([a-zA-Z_:][a-zA-Z0-9_:]*)\{([a-zA-Z_]+="(\\.|[^"\\])*",?)+\} [-+]?[0-9.]+(e[-+]?[0-9]+)?$)re");
    std::istringstream lines(text_after_a_request());
    std::set<std::string> families;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("# TYPE ")) families.insert(line.substr(7, line.find(' ', 7) - 7));
        if (line.starts_with('#')) continue;
        std::smatch match;
        ASSERT_TRUE(std::regex_match(line, match, sample)) << line;
        const std::string family = std::regex_replace(match[1].str(), std::regex("_(bucket|sum|count)$"), "");
        EXPECT_TRUE(families.contains(family) || families.contains(match[1].str())) << line;
    }
}

TEST(Metrics, RoutersFindEveryNameOnce) {
    const std::string text = text_after_a_request();
    const std::string label = R"({model_name="a \"model\""})";
    for (const char* name :
         {"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc",
          "vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:prefix_cache_queries_total",
          "vllm:prefix_cache_hits_total"}) {
        const size_t at = text.find("\n" + (name + label) + " ");
        ASSERT_NE(at, std::string::npos) << name;
        EXPECT_EQ(text.find("\n" + (name + label) + " ", at + 1), std::string::npos) << name;
    }
    EXPECT_THAT(text, HasSubstr("vllm:num_requests_running" + label + " 2\n"));
    EXPECT_THAT(text, HasSubstr("vllm:kv_cache_usage_perc" + label + " 0.25\n"));
    EXPECT_THAT(text, HasSubstr(R"(block_size="128",num_gpu_blocks="20"} 1)"));
    EXPECT_THAT(text, HasSubstr("vllm:time_to_first_token_seconds_count" + label + " 1\n"));
    EXPECT_THAT(text, HasSubstr("vllm:prefix_cache_hits_total" + label + " 4\n"));
}

}  // namespace

}  // namespace ft
