#include "cli/start_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ft::cli {

namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

StartFacts moe() {
    return {.name = "35b-moe-chat-q4_k_m.gguf",
            .bytes_read = uint64_t{3} << 30,
            .load_seconds = 2,
            .threads = 4,
            .kernels = "avx2",
            .quantisation = "Q4_K_M",
            .ram_budget = uint64_t{8} << 30,
            .ram_planned = uint64_t{7} << 30,
            .experts_in_ram = 10 * 4,
            .experts = 10 * 64,
            .experts_per_layer = 64,
            .kv_type = "int8",
            .n_ctx = 2048,
            .kv_bytes = uint64_t{1} << 29};
}

TEST(StartLines, HaveTheWordsThatScriptsLookFor) {
    const std::vector<StartLine> lines = start_lines(moe());
    ASSERT_EQ(lines.size(), 4u);
    EXPECT_EQ(lines[0].area, "load");
    EXPECT_THAT(lines[0].text, StartsWith("model loaded: 35b-moe-chat-q4_k_m.gguf"));
    EXPECT_THAT(lines[1].text, StartsWith("CUDA context: 0.0GB, VRAM budget: 0.0GB"));
    EXPECT_THAT(lines[1].text, HasSubstr("RAM budget: 8.00GB, planned: 7.00GB"));
    EXPECT_THAT(lines[2].text, StartsWith("active experts: 4/64, shared layers: "));
    EXPECT_THAT(lines[2].text, HasSubstr("600 of 640"));
    EXPECT_EQ(lines[3].text, "KV cache: int8, max context: 2048, current: 0.50GB");
}

TEST(StartLines, AModelInRamAndADenseOne) {
    StartFacts facts = moe();
    facts.experts_in_ram = facts.experts;
    EXPECT_EQ(start_lines(facts)[2].text, "active experts: 64/64, shared layers: as in the file (Q4_K_M)");
    facts.experts = facts.experts_in_ram = facts.experts_per_layer = 0;
    EXPECT_THAT(start_lines(facts)[2].text, StartsWith("active experts: none"));
}

}  // namespace

}  // namespace ft::cli
