// Plans of made-up machines: no card, 4, 6, 8, 12, 24 GB; 8, 16, 32, 64 GB of RAM; SATA and NVMe; the
// published models by their shape.
#include "tiers/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "tiers/plan_predict.h"

namespace ft {
namespace {

// A row of the table of published models: bytes of a Q4_K_M file.
struct Published {
    const char* name;
    int n_layer, n_mixture, n_expert, top_k;
    uint64_t expert_low, expert_high;  // an expert with its down matrix in the low or the high type
    double file_gb, active_billions;
    uint64_t kv_bytes_per_token;
    double state_mib;
    int64_t n_ctx;
};

constexpr Published k_published[] = {
    {"qwen3.6-35b-a3b", 40, 40, 256, 8, 1769472, 2039808, 21.2, 2.95, 20480, 62.8, 262144},
    {"qwen3.5-122b-a10b", 48, 48, 256, 8, 5308416, 6119424, 74.2, 9.01, 24576, 149.1, 262144},
    {"qwen3.5-397b-a17b", 60, 60, 512, 10, 7077888, 8159232, 240.6, 16.33, 30720, 186.3, 262144},
    {"qwen3-next-80b-a3b", 48, 48, 512, 10, 1769472, 2039808, 48.5, 3.56, 24576, 75.4, 262144},
    {"qwen3-30b-a3b", 48, 48, 128, 8, 2654208, 3059712, 18.6, 3.04, 98304, 0, 40960},
    {"qwen3-235b-a22b", 94, 94, 128, 8, 10616832, 12238848, 142.1, 21.57, 192512, 0, 40960},
    {"qwen1.5-moe-a2.7b", 24, 24, 60, 4, 5226496, 6307840, 9.5, 2.38, 196608, 0, 8192},
    {"qwen2-57b-a14b", 28, 28, 64, 8, 15482880, 17848320, 34.8, 13.7, 57344, 0, 32768},
    {"mixtral-8x7b", 32, 32, 8, 2, 99090432, 114229248, 28.4, 12.75, 131072, 0, 32768},
    {"mixtral-8x22b", 56, 56, 8, 2, 169869312, 195821568, 85.6, 38.96, 229376, 0, 65536},
    {"gpt-oss-20b", 24, 24, 32, 4, 13219200, 13219200, 12.1, 3.61, 49152, 0, 131072},
    {"gpt-oss-120b", 36, 36, 128, 4, 13219200, 13219200, 63.4, 5.13, 73728, 0, 131072},
    {"glm-4.5-air", 46, 45, 128, 8, 10452992, 12615680, 72.8, 12.8, 188416, 0, 131072},
    {"glm-4.7", 92, 89, 160, 8, 13271040, 15298560, 216.2, 32.86, 376832, 0, 131072},
    {"deepseek-v2-lite", 27, 26, 64, 6, 5226496, 6307840, 10.4, 2.45, 31104, 0, 163840},
    {"deepseek-v3", 61, 58, 256, 8, 24772608, 28557312, 404.6, 36.63, 70272, 0, 163840},
    {"kimi-k2", 61, 60, 384, 8, 24772608, 28557312, 620.6, 31.69, 70272, 0, 131072},
    {"olmoe-1b-7b", 16, 16, 64, 8, 3538944, 4079616, 4.2, 1.18, 131072, 0, 4096},
    {"minimax-m2", 62, 62, 256, 8, 7962624, 9179136, 138.3, 10.42, 253952, 0, 196608},
    {"hunyuan-a13b", 32, 32, 64, 8, 21233664, 24477696, 48.8, 12.75, 131072, 0, 262144},
    {"ernie-4.5-21b-a3b", 28, 27, 64, 6, 6635520, 7649280, 13.2, 3.35, 57344, 0, 131072},
    {"ling-mini-2.0", 20, 19, 256, 8, 1769472, 2039808, 9.9, 1.11, 40960, 0, 32768},
    {"dots.llm1", 62, 61, 128, 6, 10452992, 12615680, 94.5, 13.39, 1015808, 0, 32768},
    {"phi-3.5-moe", 32, 32, 16, 2, 44236800, 50995200, 25.3, 6.51, 131072, 0, 131072},
    {"llama-4-scout", 48, 48, 16, 1, 70778880, 81592320, 65.3, 16.14, 196608, 0, 10485760},
    {"granite-3-3b-a800m", 32, 32, 40, 8, 1327104, 1529856, 2.0, 0.88, 65536, 0, 131072},
    {"nemotron-3-nano-30b", 52, 23, 128, 6, 6859776, 8730624, 24.5, 3.23, 6144, 47.6, 262144},
    {"gemma-4-26b-a4b", 30, 30, 128, 8, 3593216, 4336640, 16.8, 3.82, 225280, 0, 262144},
    {"smallthinker-21b-a3b", 52, 52, 64, 6, 3317760, 3824640, 13.1, 3.33, 106496, 0, 16384},
    {"grok-1", 64, 64, 8, 2, 339738624, 391643136, 191.8, 83.76, 262144, 0, 8192},
    {"dbrx", 40, 40, 16, 4, 111476736, 128507904, 79.7, 35.85, 163840, 0, 32768},
};

// Half of the layers have their experts in the low type, half in the high one, as Q4_K_M files do.
ModelShape shape_of(const Published& model) {
    ModelShape shape;
    shape.name = model.name;
    shape.n_layer = model.n_layer;
    shape.n_ctx_model = model.n_ctx;
    const bool one_class = model.expert_low == model.expert_high;
    for (const uint64_t bytes : {model.expert_low, model.expert_high}) {
        if (one_class && !shape.classes.empty()) break;
        const uint64_t third = bytes / 3;
        shape.classes.push_back({{third, third, bytes - 2 * third}, 0, model.top_k});
    }
    for (int i = 0; i < model.n_mixture; i++) {
        const int c = one_class ? 0 : i % 2;
        shape.mixtures.push_back({c, model.n_expert, model.top_k});
        shape.classes[c].n_experts += model.n_expert;
    }
    const auto file = static_cast<uint64_t>(model.file_gb * 1e9);
    const uint64_t rest =
        file > shape.expert_bytes() + 100'000'000 ? file - shape.expert_bytes() : 100'000'000;
    shape.parts = {{"embedding", rest / 4, rest / 4 / 100000, false},
                   {"attention", rest / 2, rest / 2, true},
                   {"head", rest - rest / 2 - rest / 4, rest - rest / 2 - rest / 4, true}};
    shape.kv_bytes_per_token = model.kv_bytes_per_token;
    shape.kv_page_tokens = 128;
    shape.state_bytes = static_cast<uint64_t>(model.state_mib * k_mib);
    shape.scratch_fixed = 16 * k_mib;
    shape.scratch_per_token = 256 * k_kib;
    shape.program_bytes = 64 * k_mib;
    shape.guess_bytes = 20 * k_mib;
    shape.active_parameters = model.active_billions * 1e9;
    return shape;
}

Machine machine_of(uint64_t ram_gib, uint64_t card_gib) {
    Machine machine{.ram_total = ram_gib * k_gib, .ram_available = ram_gib * k_gib / 10 * 9, .card = {}};
    if (card_gib > 0)
        machine.card = CardShape{.total_bytes = card_gib * k_gib,
                                 .used_by_others = 200 * k_mib,
                                 .context_bytes = 500 * k_mib,
                                 .read_gb_per_second = 200,
                                 .pcie_gb_per_second = 12};
    return machine;
}

MachineProfile profile_of(bool nvme) {
    const double most = nvme ? 3.0 : 0.5;
    MachineProfile profile{.ram_read_gb_per_second = 40,
                           .cpu_read_gb_per_second = 30,
                           .cpu_gflops = 400,
                           .drive = {},
                           .physical_cores = 8,
                           .ram_bytes = 32 * k_gib};
    for (const auto& [bytes, share] : {std::pair{64 * k_kib, 0.4}, {512 * k_kib, 0.7}, {2 * k_mib, 1.0}})
        for (const int depth : {1, 4, 16})
            profile.drive.rates.push_back({bytes, depth,
                                           most * share *
                                               (depth == 1   ? 0.3
                                                : depth == 4 ? 0.7
                                                             : 1.0)});
    profile.drive.latency_us = nvme ? 90 : 250;
    return profile;
}

TierBytes sums_of(const Plan& p) {
    TierBytes sums;
    for (const PlanItem& item : p.items)
        (item.tier == Tier::vram ? sums.vram : item.tier == Tier::ram ? sums.ram : sums.drive) += item.bytes;
    return sums;
}

// What must hold of every plan, whatever was asked.
void expect_sound(const Machine& machine, const ModelShape& shape, const PlanSettings& settings,
                  const Plan& p) {
    const TierBytes sums = sums_of(p);
    EXPECT_EQ(sums.ram, p.total.ram);
    EXPECT_EQ(sums.vram, p.total.vram);
    EXPECT_EQ(sums.drive, p.total.drive);
    EXPECT_GE(p.n_vram_slots() + p.n_ram_slots() + p.n_on_drive, shape.n_experts());
    EXPECT_LE(p.minimum_ram, p.resident_ram);
    EXPECT_LE(p.total.vram, machine.card ? machine.card->total_bytes : 0);
    if (!p.fits) {
        EXPECT_FALSE(p.shortage.empty());
        EXPECT_FALSE(plan_advice(machine, shape, settings, p, nullptr).empty()) << shape.name;
        return;
    }
    EXPECT_TRUE(p.shortage.empty());
    EXPECT_LE(p.total.ram, p.ram_budget);
    EXPECT_GE(p.ram_budget, p.minimum_ram);
    EXPECT_EQ(p.experts_resident, p.n_on_drive == 0) << shape.name;
    EXPECT_EQ(p.experts_resident, p.total.drive == 0) << shape.name;
}

TEST(Plan, IsSoundOnEveryMachineForEveryModel) {
    int fitting = 0, refused = 0;
    for (const Published& model : k_published) {
        const ModelShape shape = shape_of(model);
        for (const uint64_t ram : {8, 16, 32, 64})
            for (const uint64_t card : {0, 4, 6, 8, 12, 24}) {
                const Machine machine = machine_of(ram, card);
                const PlanSettings settings;
                const Plan p = plan(machine, shape, settings);
                expect_sound(machine, shape, settings, p);
                if (card == 0) {
                    EXPECT_LE(p.ram_budget, ram * k_gib / 10 * 7);
                }
                (p.fits ? fitting : refused)++;
            }
    }
    EXPECT_GT(fitting, 100);
    EXPECT_GT(refused, 10);
}

TEST(Plan, TheMinimumIsTheSmallestBudgetThatIsAccepted) {
    for (const Published& model : k_published)
        for (const uint64_t card : {0, 6}) {
            const ModelShape shape = shape_of(model);
            const Machine machine = machine_of(64, card);
            PlanSettings settings{.n_ctx = 2048};
            const uint64_t least = plan(machine, shape, settings).minimum_ram;
            settings.ram_budget = least;
            const Plan enough = plan(machine, shape, settings);
            EXPECT_TRUE(enough.fits) << model.name;
            EXPECT_EQ(enough.minimum_ram, least);
            expect_sound(machine, shape, settings, enough);
            settings.ram_budget = least - 1;
            const Plan less = plan(machine, shape, settings);
            EXPECT_FALSE(less.fits) << model.name;
            EXPECT_EQ(less.minimum_ram, least);
            for (size_t c = 0; c < shape.classes.size(); c++)
                EXPECT_LE(enough.ram_slots[c], shape.classes[c].n_experts);
        }
}

TEST(Plan, ALongStepThatIsAskedForIsCutToWhatTheBudgetAffords) {
    const Machine machine = machine_of(64, 0);
    const ModelShape shape = shape_of(k_published[4]);
    PlanSettings settings{.n_ctx = 4096};
    const uint64_t least = plan(machine, shape, settings).minimum_ram;
    settings.ram_budget = least;
    const int64_t affordable = plan(machine, shape, settings).chunk;
    settings.chunk = 2048;
    const Plan cut = plan(machine, shape, settings);
    EXPECT_TRUE(cut.fits);
    EXPECT_EQ(cut.minimum_ram, least);
    EXPECT_EQ(cut.chunk, affordable);
    expect_sound(machine, shape, settings, cut);
    settings.chunk = affordable - 1;
    EXPECT_EQ(plan(machine, shape, settings).chunk, affordable - 1);
    settings.ram_budget = 40 * k_gib;
    settings.chunk = 2048;
    const Plan long_step = plan(machine, shape, settings);
    EXPECT_EQ(long_step.chunk, 2048);
    expect_sound(machine, shape, settings, long_step);
}

TEST(Plan, CountsTheRoutersForGuessesWhereExpertsAreGuessed) {
    const ModelShape shape = shape_of(k_published[4]);
    const Machine machine = machine_of(64, 0);
    PlanSettings guessing{.n_ctx = 2048}, not_guessing{.n_ctx = 2048, .prefetch = false};
    const auto counted = [](const Plan& p) {
        return std::ranges::count(p.items, "routers for guesses", &PlanItem::name);
    };
    const Plan whole = plan(machine, shape, guessing);
    ASSERT_TRUE(whole.experts_resident);
    EXPECT_EQ(counted(whole), 0);
    EXPECT_EQ(whole.resident_ram, plan(machine, shape, not_guessing).resident_ram);
    EXPECT_EQ(whole.minimum_ram, plan(machine, shape, not_guessing).minimum_ram + shape.guess_bytes);
    guessing.ram_budget = not_guessing.ram_budget = whole.resident_ram - 1;
    const Plan some = plan(machine, shape, guessing), others = plan(machine, shape, not_guessing);
    EXPECT_EQ(counted(some), 1);
    EXPECT_EQ(counted(others), 0);
    EXPECT_LT(some.n_ram_slots(), others.n_ram_slots());
}

TEST(Plan, CountsWhatTheRequestsOfAServerTake) {
    const ModelShape shape = shape_of(k_published[4]);
    const Machine machine = machine_of(64, 0);
    PlanSettings settings{.n_ctx = 2048};
    const Plan without = plan(machine, shape, settings);
    settings.requests.least = 100 * k_mib;
    const Plan with = plan(machine, shape, settings);
    EXPECT_EQ(with.minimum_ram, without.minimum_ram + 100 * k_mib);
    EXPECT_EQ(with.resident_ram, without.resident_ram + 100 * k_mib);
    const auto named = [](const PlanItem& item) { return item.name == "requests"; };
    EXPECT_EQ(std::ranges::count_if(with.items, named), 1);
    EXPECT_EQ(std::ranges::count_if(without.items, named), 0);
}

// Room for requests that grows with the budget is that of the smallest budget, whatever budget is asked
// about.
TEST(Plan, TheSmallestBudgetDoesNotDependOnTheOneThatIsAskedAbout) {
    const Machine machine = machine_of(64, 0);
    for (const Published& model : k_published) {
        const ModelShape shape = shape_of(model);
        PlanSettings settings{.ram_budget = k_gib / 2, .n_ctx = 1024, .n_sequences = 4};
        settings.requests = {.part = 32, .least = 16 * k_mib, .most = 256 * k_mib * 1024};
        const Plan small = plan(machine, shape, settings);
        settings.ram_budget = std::nullopt;
        const Plan whole = plan(machine, shape, settings);
        EXPECT_EQ(small.minimum_ram, whole.minimum_ram) << model.name;
        EXPECT_EQ(small.resident_ram, whole.resident_ram) << model.name;
        for (const uint64_t more : {0, 1, 4, 100, 1 << 20}) {
            settings.ram_budget = small.minimum_ram + more;
            const Plan enough = plan(machine, shape, settings);
            expect_sound(machine, shape, settings, enough);
            EXPECT_TRUE(enough.fits) << model.name;
            EXPECT_LE(enough.total.ram, *settings.ram_budget) << model.name;
            settings.ram_budget = small.resident_ram + more;
            EXPECT_TRUE(plan(machine, shape, settings).experts_resident) << model.name;
        }
        settings.ram_budget = small.minimum_ram - 1;
        EXPECT_FALSE(plan(machine, shape, settings).fits) << model.name;
        settings.ram_budget = small.resident_ram - 1;
        EXPECT_FALSE(plan(machine, shape, settings).experts_resident) << model.name;
    }
}

// The budgets that a refusal names, each with the text before and after it.
TEST(Plan, TheBudgetsThatARefusalNamesAreAccepted) {
    const Machine machine = machine_of(1024, 0);
    for (const Published& model : k_published) {
        const ModelShape shape = shape_of(model);
        PlanSettings settings{.ram_budget = k_gib / 100, .n_ctx = 1024, .n_sequences = 4};
        settings.requests = {.part = 32, .least = 16 * k_mib, .most = 256 * k_mib};
        const Plan refused = plan(machine, shape, settings);
        const auto accepted = [&](const std::string& text, const std::string& before, int64_t n_sequences) {
            const size_t at = text.find(before);
            if (at == std::string::npos) return false;
            PlanSettings again = settings;
            again.n_sequences = n_sequences;
            const double gib = std::stod(text.substr(at + before.size()));
            again.ram_budget = static_cast<uint64_t>(gib * static_cast<double>(k_gib));
            return plan(machine, shape, again).fits;
        };
        EXPECT_TRUE(accepted(refused.shortage, "", 4)) << refused.shortage;
        const std::string remedy = shortage_remedy(machine, shape, settings, refused);
        EXPECT_TRUE(accepted(remedy, "(--ram) to ", 4)) << remedy;
        EXPECT_TRUE(accepted(remedy, "--parallel 1, which needs ", 1)) << remedy;
        std::string advice;
        for (const std::string& line : plan_advice(machine, shape, settings, refused, nullptr))
            advice += line + "\n";
        EXPECT_TRUE(accepted(advice, "Allow ", 4)) << advice;
        EXPECT_TRUE(accepted(advice, "--parallel 1 needs ", 1)) << advice;
    }
}

// They never decide whether a model fits or all experts have room: they come out of what is left.
TEST(Plan, CountsCopiesOfRecurrentStateInWhatIsLeftOver) {
    for (const Published& model : k_published) {
        const ModelShape shape = shape_of(model);
        const Machine machine = machine_of(64, 0);
        PlanSettings settings{.n_ctx = 2048, .n_sequences = 2};
        const Plan without = plan(machine, shape, settings);
        EXPECT_EQ(without.state_copies, 0);
        settings.state_checkpoint_bytes = k_gib;
        const Plan with = plan(machine, shape, settings);
        EXPECT_EQ(with.minimum_ram, without.minimum_ram) << model.name;
        EXPECT_EQ(with.resident_ram, without.resident_ram) << model.name;
        const bool roomy = with.fits && with.ram_budget >= with.resident_ram + 8 * k_gib;
        if (roomy) {
            EXPECT_EQ(with.state_copies, shape.state_bytes > 0 ? 2 * k_kept_states : 0) << model.name;
        }
        settings.ram_budget = without.minimum_ram;
        EXPECT_TRUE(plan(machine, shape, settings).fits) << model.name;
        EXPECT_EQ(plan(machine, shape, settings).state_copies, 0) << model.name;
        settings.ram_budget = without.minimum_ram + 5 * shape.state_bytes;
        const Plan tight = plan(machine, shape, settings);
        expect_sound(machine, shape, settings, tight);
        EXPECT_EQ(tight.state_copies, shape.state_bytes > 0 ? 1 : 0) << model.name;
        settings.state_checkpoint_bytes = shape.state_bytes / 2;
        EXPECT_EQ(plan(machine, shape, settings).state_copies, 0) << model.name;
    }
}

TEST(Plan, MoreMemoryNeverGivesFewerSlots) {
    for (const Published& model : k_published) {
        const ModelShape shape = shape_of(model);
        const Machine machine = machine_of(64, 0);
        PlanSettings settings{.n_ctx = 2048, .state_checkpoint_bytes = k_gib / 4};
        const Plan first = plan(machine, shape, settings);
        std::vector<int64_t> last(shape.classes.size(), 0);
        const uint64_t step = (first.resident_ram - first.minimum_ram) / 97 + 1;
        for (uint64_t budget = first.minimum_ram; budget <= first.resident_ram + step; budget += step) {
            settings.ram_budget = budget;
            const Plan p = plan(machine, shape, settings);
            expect_sound(machine, shape, settings, p);
            for (size_t c = 0; c < last.size(); c++) {
                EXPECT_GE(p.ram_slots[c], last[c]) << model.name;
                EXPECT_GE(p.ram_slots[c], shape.classes[c].top_k);
                last[c] = p.ram_slots[c];
            }
        }
        settings.ram_budget = first.resident_ram;
        EXPECT_TRUE(plan(machine, shape, settings).experts_resident) << model.name;
    }
}

TEST(Plan, TheCacheOfKeysAndValuesIsTheContextTimesItsBytes) {
    const ModelShape shape = shape_of(k_published[4]);
    const Machine machine = machine_of(64, 0);
    for (const int64_t n : {1, 100, 1024, 8192, 40960}) {
        const Plan p = plan(machine, shape, {.n_ctx = n});
        EXPECT_EQ(p.kv_bytes, static_cast<uint64_t>(n) * shape.kv_bytes_per_token);
        EXPECT_EQ(p.n_ctx, n);
    }
    EXPECT_EQ(plan(machine, shape, {}).n_ctx, 8192);
    EXPECT_EQ(plan(machine, shape, {.n_sequences = 4}).kv_bytes, 4u * 8192 * shape.kv_bytes_per_token);
    EXPECT_EQ(plan(machine, shape_of(k_published[17]), {}).n_ctx, 4096);  // the model's own is shorter
}

// What goes on beyond its context sees a context's worth of tokens, however wide a window is asked for.
TEST(Plan, AWindowThatForgetsIsNoWiderThanTheContextLessTheFirstTokens) {
    const ModelShape shape = shape_of(k_published[4]);
    const Machine machine = machine_of(64, 0);
    const auto windowed = [&](int64_t window, bool endless) {
        return plan(machine, shape,
                    {.n_ctx = 2048, .n_sequences = 3, .window = window, .sinks = 4, .endless = endless});
    };
    EXPECT_EQ(windowed(0, true).window, 2044);
    EXPECT_EQ(windowed(100000, true).window, 2044);
    EXPECT_EQ(windowed(512, true).window, 512);
    EXPECT_EQ(windowed(0, false).window, 0);
    EXPECT_EQ(windowed(100000, true).pool_pages, windowed(0, true).pool_pages);
    EXPECT_LT(windowed(512, true).pool_pages, windowed(0, true).pool_pages);
    EXPECT_EQ(windowed(100000, false).pool_pages,
              plan(machine, shape, {.n_ctx = 2048, .n_sequences = 3}).pool_pages);
}

// The pool takes whole pages, so a number of tokens between two of them is planned, and said, as the larger.
TEST(Plan, APoolOfTokensIsRoundedUpToWholePages) {
    const ModelShape shape = shape_of(k_published[4]);  // pages of 128 tokens
    const Machine machine = machine_of(64, 0);
    for (const auto& [tokens, planned] : {std::pair{1, 128}, {300, 384}, {384, 384}, {385, 512}}) {
        const Plan p = plan(machine, shape, {.n_ctx = 256, .pool_tokens = tokens});
        EXPECT_EQ(p.pool_tokens, planned);
        EXPECT_EQ(p.pool_pages, planned / 128);
        EXPECT_EQ(p.kv_bytes, static_cast<uint64_t>(planned) * shape.kv_bytes_per_token);
        const auto item = std::find_if(p.items.begin(), p.items.end(),
                                       [](const PlanItem& each) { return each.name == "KV cache"; });
        ASSERT_NE(item, p.items.end());
        EXPECT_EQ(item->bytes, p.kv_bytes) << tokens;
    }
}

TEST(Plan, AShortageOfAFewBytesCanBeRead) {
    const ModelShape shape = shape_of(k_published[17]);
    const Machine machine = machine_of(64, 0);
    const uint64_t least = plan(machine, shape, {.n_ctx = 512}).minimum_ram;
    for (const uint64_t missing : {uint64_t{100}, uint64_t{1000}, 300 * k_kib, 100 * k_mib}) {
        const Plan p = plan(machine, shape, {.ram_budget = least - missing, .n_ctx = 512});
        ASSERT_FALSE(p.fits);
        std::vector<double> numbers;
        for (size_t at = p.shortage.find_first_of("0123456789"); at != std::string::npos;
             at = p.shortage.find_first_of("0123456789", at)) {
            size_t length = 0;
            numbers.push_back(std::stod(p.shortage.substr(at), &length));
            at += length;
        }
        ASSERT_EQ(numbers.size(), 3u) << p.shortage;
        EXPECT_GT(numbers[0], numbers[1]) << p.shortage;
        EXPECT_GT(numbers[2], 0) << p.shortage;
    }
}

TEST(Plan, SlotsForLessThanOneTokenAsksForAreWarnedOf) {
    const ModelShape shape = shape_of(k_published[0]);
    const Machine machine = machine_of(64, 0);
    PlanSettings settings{.n_ctx = 2048};
    settings.ram_budget = plan(machine, shape, settings).minimum_ram;
    const Plan small = plan(machine, shape, settings);
    ASSERT_LT(small.n_ram_slots(), shape.demand_slots());
    const auto advice = plan_advice(machine, shape, settings, small, nullptr);
    ASSERT_EQ(advice.size(), 1u);
    EXPECT_NE(advice[0].find(fmt::format("{} experts", shape.demand_slots())), std::string::npos);
    EXPECT_NE(advice[0].find("expert_policy"), std::string::npos);
    settings.ram_budget = *settings.ram_budget + 4 * k_gib;
    const Plan enough = plan(machine, shape, settings);
    ASSERT_GE(enough.n_ram_slots(), shape.demand_slots());
    EXPECT_TRUE(plan_advice(machine, shape, settings, enough, nullptr).empty());
}

TEST(Plan, RefusesAContextBeyondTheModels) {
    const ModelShape shape = shape_of(k_published[4]);
    const Machine machine = machine_of(64, 0);
    const PlanSettings settings{.n_ctx = 40961};
    const Plan p = plan(machine, shape, settings);
    EXPECT_FALSE(p.fits);
    EXPECT_NE(p.shortage.find("40961"), std::string::npos);
    EXPECT_NE(p.shortage.find("40960"), std::string::npos);
    EXPECT_FALSE(plan_advice(machine, shape, settings, p, nullptr).empty());
}

TEST(Plan, TheContextThatIsAdvisedFits) {
    const ModelShape shape = shape_of(k_published[4]);
    const Machine machine = machine_of(8, 0);
    PlanSettings settings{.ram_budget = 4 * k_gib, .n_ctx = 40960};
    const Plan p = plan(machine, shape, settings);
    ASSERT_FALSE(p.fits);
    bool named = false;
    for (const std::string& line : plan_advice(machine, shape, settings, p, nullptr)) {
        const size_t at = line.find("--ctx ");
        if (at == std::string::npos) continue;
        settings.n_ctx = std::stoll(line.substr(at + 6));
        EXPECT_TRUE(plan(machine, shape, settings).fits) << line;
        settings.n_ctx += shape.kv_page_tokens;
        EXPECT_FALSE(plan(machine, shape, settings).fits) << line;
        named = true;
    }
    EXPECT_TRUE(named);
}

// What costs least comes first: half the bytes of keys and values, then fewer sequences, a shorter context,
// and last the weights.
TEST(Plan, AdviceOnTooLittleMemoryHasTheOrderOfWhatItCosts) {
    ModelShape shape = shape_of(k_published[4]);
    const Machine machine = machine_of(8, 0);
    const PlanSettings settings{.ram_budget = 4 * k_gib, .n_ctx = 40960, .n_sequences = 4};
    const auto places = [&] {
        const Plan p = plan(machine, shape, settings);
        EXPECT_FALSE(p.fits);
        std::string all;
        for (const std::string& line : plan_advice(machine, shape, settings, p, nullptr)) all += line + "\n";
        std::vector<size_t> found;
        for (const char* words : {"kv_cache.quant=int8", "fewer sequences", "--ctx ", "quantisation last"})
            found.push_back(all.find(words));
        return found;
    };
    EXPECT_EQ(places()[0], std::string::npos) << "they are int8 already";
    shape.kv_int8_bytes_per_token = shape.kv_bytes_per_token / 64 * 34;
    const auto at = places();
    EXPECT_TRUE(std::ranges::is_sorted(at)) << testing::PrintToString(at);
    EXPECT_NE(at.back(), std::string::npos);
}

TEST(Plan, LeavesThirtyPercentOfRamAndTakesNoMoreThanIsAvailable) {
    const ModelShape shape = shape_of(k_published[0]);
    Machine machine = machine_of(32, 0);
    EXPECT_EQ(plan(machine, shape, {}).ram_budget, 32 * k_gib / 10 * 7);
    machine.ram_available = 3 * k_gib;
    EXPECT_EQ(plan(machine, shape, {}).ram_budget, 3 * k_gib);
    EXPECT_EQ(plan(machine, shape, {.ram_budget = 20 * k_gib}).ram_budget, 20 * k_gib);
}

TEST(Plan, ExpertsAreOffloadedOnlyWhereThatIsAllowed) {
    const ModelShape shape = shape_of(k_published[17]);  // 4.2 GB
    const PlanSettings settings{.cpu_offload = false};
    const Plan none = plan(machine_of(32, 0), shape, settings);
    EXPECT_FALSE(none.fits);
    EXPECT_NE(none.shortage.find("cpu_offload"), std::string::npos);
    EXPECT_FALSE(plan(machine_of(32, 4), shape, settings).fits);
    const std::string remedy = shortage_remedy(machine_of(32, 0), shape, settings, none);
    EXPECT_NE(remedy.find("Set memory.cpu_offload to true"), std::string::npos) << remedy;
    EXPECT_EQ(remedy.find("memory.ram_budget"), std::string::npos) << remedy;
    EXPECT_EQ(remedy.find("--ctx"), std::string::npos) << remedy;
    const auto advice = plan_advice(machine_of(32, 0), shape, settings, none, nullptr);
    ASSERT_EQ(advice.size(), 1u);
    EXPECT_EQ(advice[0], remedy);
    const PlanSettings small{.ram_budget = k_gib / 100, .cpu_offload = false};
    const std::string both =
        shortage_remedy(machine_of(32, 0), shape, small, plan(machine_of(32, 0), shape, small));
    EXPECT_NE(both.find("Set memory.cpu_offload to true"), std::string::npos) << both;
    EXPECT_NE(both.find("memory.ram_budget"), std::string::npos) << both;
    EXPECT_TRUE(plan(machine_of(32, 24), shape, settings).fits);
}

TEST(Plan, TheCardTakesTheDensePartFirstAndKeepsItsMargin) {
    const ModelShape shape = shape_of(k_published[0]);
    for (const uint64_t card : {4, 6, 8, 12, 24}) {
        const Machine machine = machine_of(32, card);
        const Plan p = plan(machine, shape, {});
        EXPECT_LE(p.total.vram, card * k_gib * 85 / 100);
        EXPECT_EQ(p.items.front().name, "embedding");
        EXPECT_EQ(p.items.front().tier, Tier::ram);
        EXPECT_EQ(p.items[1].tier, Tier::vram) << card;  // attention
        if (card >= 8) {
            EXPECT_GT(p.n_vram_slots(), 0) << card;
        }
        const Plan two = plan(machine, shape, {.gpu_expert_capacity = 2});
        EXPECT_LE(two.n_vram_slots(), 2 * shape.n_layer);
        EXPECT_LE(two.total.vram, p.total.vram);
    }
    const Plan greedy = plan(machine_of(32, 6), shape, {.vram_budget = 6 * k_gib});
    EXPECT_FALSE(greedy.fits);
    EXPECT_NE(greedy.shortage.find("gpu_vram_budget"), std::string::npos);
}

TEST(Plan, ADenseModelHasNoSlots) {
    ModelShape shape = shape_of(k_published[17]);
    shape.classes.clear();
    shape.mixtures.clear();
    const Plan p = plan(machine_of(16, 0), shape, {});
    EXPECT_TRUE(p.fits);
    EXPECT_TRUE(p.experts_resident);
    EXPECT_EQ(p.n_ram_slots(), 0);
    EXPECT_EQ(p.total.drive, 0u);
    EXPECT_FALSE(plan(machine_of(16, 0), shape, {.ram_budget = p.minimum_ram - 1}).fits);
}

TEST(Plan, ASlotHoldsEverySliceWhereverItBeginsInABlock) {
    for (const uint64_t bytes :
         {uint64_t{1}, uint64_t{4095}, uint64_t{4096}, uint64_t{4097}, uint64_t{589824}})
        for (const uint64_t begin : {0, 32, 512, 1152, 4064, 4095}) {
            const ExpertClass kind{{bytes, bytes, bytes}, 1, 1};
            EXPECT_LE(3 * round_up(begin + bytes, 4096), kind.slot_bytes()) << bytes << " at " << begin;
        }
}

TEST(Prediction, GrowsWithMemoryAndDriveAndNamesTheLimit) {
    for (const Published& model : k_published) {
        const ModelShape shape = shape_of(model);
        const Machine machine = machine_of(64, 0);
        PlanSettings settings{.n_ctx = 2048};
        const Plan first = plan(machine, shape, settings);
        double last = 0;
        for (int i = 0; i <= 10; i++) {
            settings.ram_budget = first.minimum_ram + (first.resident_ram - first.minimum_ram) * i / 10;
            const Plan p = plan(machine, shape, settings);
            const Prediction fast = predict(machine, shape, p, profile_of(true));
            const Prediction slow = predict(machine, shape, p, profile_of(false));
            EXPECT_GE(fast.decode_per_second, last * 0.999) << model.name << " " << i;
            EXPECT_LE(slow.decode_per_second, fast.decode_per_second) << model.name;
            EXPECT_GT(slow.prefill_per_second, 0);
            EXPECT_GT(slow.ttft_ms, 0);
            last = fast.decode_per_second;
        }
        EXPECT_EQ(predict(machine, shape, plan(machine, shape, settings), profile_of(true)).limit,
                  Limit::cpu);
        settings.ram_budget = first.minimum_ram;
        EXPECT_EQ(predict(machine, shape, plan(machine, shape, settings), profile_of(false)).limit,
                  Limit::drive);
    }
}

// Fewer threads compute more slowly, and more than there are cores no faster.
TEST(Prediction, FollowsTheThreadsThatCompute) {
    const ModelShape shape = shape_of(k_published[0]);
    const Machine machine = machine_of(64, 0);
    const Plan p = plan(machine, shape, {.ram_budget = 48 * k_gib});
    ASSERT_TRUE(p.experts_resident);
    const MachineProfile profile = profile_of(true);  // of 8 cores
    Prediction last = predict(machine, shape, p, with_threads(profile, 1));
    EXPECT_EQ(last.limit, Limit::cpu);
    for (const int threads : {2, 4, 8}) {
        const Prediction now = predict(machine, shape, p, with_threads(profile, threads));
        EXPECT_GT(now.decode_per_second, 1.5 * last.decode_per_second) << threads;
        EXPECT_NEAR(now.prefill_per_second, 2 * last.prefill_per_second, 0.01 * now.prefill_per_second);
        last = now;
    }
    for (const int threads : {0, 8, 64}) {
        const Prediction same = predict(machine, shape, p, with_threads(profile, threads));
        EXPECT_EQ(same.decode_per_second, last.decode_per_second) << threads;
        EXPECT_EQ(same.prefill_per_second, last.prefill_per_second) << threads;
    }
    MachineProfile unmeasured = profile;
    unmeasured.cpu_read_gb_per_second = unmeasured.cpu_gflops = 0;
    EXPECT_LT(predict(machine, shape, p, with_threads(unmeasured, 1)).decode_per_second,
              predict(machine, shape, p, unmeasured).decode_per_second / 2);
}

TEST(Prediction, ACardMakesItFaster) {
    const ModelShape shape = shape_of(k_published[0]);
    const Machine without = machine_of(32, 0), with = machine_of(32, 8);
    const MachineProfile profile = profile_of(true);
    EXPECT_GT(predict(with, shape, plan(with, shape, {}), profile).decode_per_second,
              predict(without, shape, plan(without, shape, {}), profile).decode_per_second);
}

TEST(Prediction, HitsRiseWithTheShareOfExpertsHeld) {
    for (const int n_expert : {8, 24, 60, 128, 512}) {
        EXPECT_EQ(expected_hit_rate(0, n_expert), 0);
        EXPECT_DOUBLE_EQ(expected_hit_rate(1, n_expert), 1);
        double last = -1;
        for (int i = 0; i <= 100; i++) {
            const double hits = expected_hit_rate(i / 100.0, n_expert);
            EXPECT_GT(hits, last);
            EXPECT_GE(hits, i / 100.0 - 1e-12);  // never worse than chance
            last = hits;
        }
    }
}

// What replays of the bundled model's 24 experts give (docs/expert-cache.md).
TEST(Prediction, FewExpertsAreUsedMoreEvenly) {
    EXPECT_NEAR(expected_hit_rate(1.0 / 6, 24), 0.277, 0.03);
    EXPECT_NEAR(expected_hit_rate(1.0 / 3, 24), 0.475, 0.03);
    EXPECT_NEAR(expected_hit_rate(2.0 / 3, 24), 0.788, 0.06);
    EXPECT_NEAR(expected_hit_rate(1.0 / 3, 8), 1.0 / 3, 1e-9);
    EXPECT_NEAR(expected_hit_rate(0.32, 128), 0.86, 1e-9);
}

TEST(Prediction, TheUnionOfManyTokensIsEveryExpert) {
    EXPECT_NEAR(expected_union(128, 8, 1), 8.0 / 128, 0.01);
    EXPECT_LT(expected_union(128, 8, 16), 0.7);
    EXPECT_GT(expected_union(128, 8, 2048), 0.999);
    EXPECT_EQ(expected_union(0, 0, 4), 0);
}

TEST(DriveProfile, LiesBetweenThePointsOfTheGrid) {
    const DriveProfile drive = profile_of(true).drive;
    EXPECT_DOUBLE_EQ(drive.gb_per_second(64 * k_kib, 1), 3.0 * 0.4 * 0.3);
    EXPECT_DOUBLE_EQ(drive.gb_per_second(2 * k_mib, 16), 3.0);
    EXPECT_DOUBLE_EQ(drive.gb_per_second(64 * k_mib, 99), 3.0);
    const double middle = drive.gb_per_second(256 * k_kib, 8);
    EXPECT_GT(middle, drive.gb_per_second(64 * k_kib, 4));
    EXPECT_LT(middle, drive.gb_per_second(512 * k_kib, 16));
    EXPECT_EQ(DriveProfile{}.gb_per_second(4096, 1), 0);
}

}  // namespace
}  // namespace ft
