// What `plan` says in words: on a card, of prompts, and of what a prediction supposes.
#include "cli/plan_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "cli/planned_card.h"

namespace ft::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ModelShape reported_shape() {
    ModelShape shape;
    shape.name = "some.gguf";
    shape.n_layer = 40;
    shape.n_ctx_model = 32768;
    shape.classes = {{{589824, 589824, 589824}, 40 * 256, 8}};
    for (int i = 0; i < shape.n_layer; i++) shape.mixtures.push_back({0, 256, 8});
    shape.parts = {{"embedding", 280 * k_mib, 1152, false}, {"attention", 900 * k_mib, 900 * k_mib, true}};
    shape.kv_bytes_per_token = 20480;
    shape.kv_page_tokens = 128;
    shape.scratch_fixed = 16 * k_mib;
    shape.scratch_per_token = 240 * k_kib;
    shape.program_bytes = 100 * k_mib;
    shape.active_parameters = 2.95e9;
    return shape;
}

MachineProfile reported_rates() {
    MachineProfile profile{.ram_read_gb_per_second = 40,
                           .cpu_read_gb_per_second = 20,
                           .cpu_gflops = 100,
                           .drive = {},
                           .physical_cores = 8,
                           .ram_bytes = 32 * k_gib};
    for (const uint64_t bytes : {64 * k_kib, 2 * k_mib})
        for (const int depth : {1, 16}) profile.drive.rates.push_back({bytes, depth, 1.0 * depth});
    profile.drive.latency_us = 100;
    return profile;
}

PlanReport report_of(uint64_t ram, double card_gib) {
    PlanReport r;
    r.shape = reported_shape();
    r.file_bytes = 20 * k_gib;
    r.machine = {.ram_total = 64 * k_gib, .ram_available = 60 * k_gib, .card = {}};
    if (card_gib > 0) r.machine.card = planned_card(card_gib);
    r.plan = plan(r.machine, r.shape, {.ram_budget = ram});
    EXPECT_TRUE(r.plan.fits) << r.plan.shortage;
    r.predicted = predict(r.machine, r.shape, r.plan, reported_rates());
    if (r.machine.card) r.predicted = no_slower_than_writing(*r.predicted, r.plan);
    return r;
}

// The cells of the row that begins with the name, as they stand there.
std::vector<std::string> cells_of(const std::string& text, const std::string& name) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.compare(0, name.size() + 2, "  " + name) != 0) continue;
        std::istringstream words(line.substr(name.size() + 2));
        std::vector<std::string> cells;
        for (std::string number, unit; words >> number >> unit;) cells.push_back(number + " " + unit);
        return cells;
    }
    ADD_FAILURE() << "no row " << name << " in\n" << text;
    return {};
}

TEST(PlanReport, SaysWhatTheHitRateSupposes) {
    const PlanReport r = report_of(8 * k_gib, 0);
    const std::string text = plan_text(r);
    EXPECT_THAT(text, HasSubstr("are expected in RAM; the rest is"));
    EXPECT_THAT(text, HasSubstr("That supposes a model whose choices are as uneven as"));
    const double by_chance =
        100.0 * static_cast<double>(r.plan.n_ram_slots()) / static_cast<double>(r.shape.n_experts());
    EXPECT_THAT(text, HasSubstr(fmt::format("find {:.0f} %", by_chance)));
    EXPECT_LT(by_chance, 100 * r.predicted->hit_rate - 10);
    EXPECT_THAT(plan_text(report_of(40 * k_gib, 0)), Not(HasSubstr("supposes")));
}

TEST(PlanReport, OnACardTheTotalStaysWithinTheBudgetAndTheContextBesideIt) {
    const PlanReport r = report_of(40 * k_gib, 8);
    const std::string text = plan_text(r);
    EXPECT_LE(r.plan.total.vram - r.machine.card->context_bytes, r.plan.vram_budget);
    EXPECT_GT(r.plan.total.vram, r.plan.vram_budget) << "the case that looked like a plan over its budget";
    const auto total = cells_of(text, "total"), budget = cells_of(text, "budget");
    ASSERT_EQ(total.size(), 2u) << text;
    ASSERT_EQ(budget.size(), 2u) << text;
    EXPECT_LE(std::stod(total[1]), std::stod(budget[1]));
    EXPECT_THAT(cells_of(text, "GPU context, beside the budget"), ::testing::ElementsAre("512 MiB"));
    EXPECT_THAT(text, Not(HasSubstr("\n  GPU context  ")));
}

TEST(PlanReport, ExpertsOnACardAreNotSaidToLieInRam) {
    EXPECT_THAT(plan_text(report_of(40 * k_gib, 8)), HasSubstr("with every expert in RAM or on the card"));
    EXPECT_THAT(plan_text(report_of(40 * k_gib, 0)), HasSubstr("with every expert in RAM.\n"));
    EXPECT_THAT(plan_text(report_of(8 * k_gib, 8)), HasSubstr("are expected in RAM or on the card"));
}

TEST(PlanReport, SaysWhatIsPredictedForOneAnswerOfSeveral) {
    PlanReport r = report_of(40 * k_gib, 0);
    EXPECT_THAT(plan_text(r), HasSubstr("the answer to a prompt of 256 tokens begins after "));
    EXPECT_THAT(plan_text(r), Not(HasSubstr("for one answer alone")));
    r.plan.n_sequences = 4;
    EXPECT_THAT(plan_text(r), HasSubstr(" tok/s for one answer alone; prompts "));
}

TEST(PlanReport, NoRoomIsSaidOfRamAlone) {
    PlanReport r = report_of(40 * k_gib, 0);
    r.contexts = {{plan(r.machine, r.shape, {.ram_budget = 40 * k_gib, .cpu_offload = false}), {}}};
    EXPECT_THAT(plan_text(r), Not(HasSubstr("no room")));
    r.contexts = {{plan(r.machine, r.shape, {.ram_budget = k_mib}), {}}};
    EXPECT_THAT(plan_text(r), HasSubstr("no room"));
}

TEST(PlanReport, PromptsAreNeverSlowerThanWritingOnACard) {
    for (const double card : {0.0, 6.0, 8.0, 24.0}) {
        const PlanReport r = report_of(8 * k_gib, card);
        const Prediction& p = *r.predicted;
        EXPECT_NEAR(p.ttft_ms, 256e3 / p.prefill_per_second, 1e-6 * p.ttft_ms);
        if (card == 0) {
            EXPECT_THAT(plan_text(r), HasSubstr("; prompts "));
            EXPECT_THAT(plan_text(r), Not(HasSubstr("at least")));
        } else {
            EXPECT_GE(p.prefill_per_second, p.decode_per_second) << card;
            EXPECT_THAT(plan_text(r), HasSubstr("; prompts at least "));
            EXPECT_THAT(plan_text(r), HasSubstr("begins within "));
        }
    }
    const PlanReport large = report_of(40 * k_gib, 24);
    EXPECT_EQ(large.predicted->prefill_per_second, large.predicted->decode_per_second)
        << "the processor's own rate for prompts was the lower one";
}

TEST(PlannedCard, HasWhatSuchCardsHave) {
    const CardShape six = planned_card(6), large = planned_card(24), tiny = planned_card(1);
    EXPECT_EQ(six.total_bytes, 6 * k_gib);
    EXPECT_EQ(six.context_bytes, 512 * k_mib);
    EXPECT_LT(tiny.context_bytes, tiny.total_bytes / 9);
    EXPECT_LT(six.read_gb_per_second, large.read_gb_per_second);
}

}  // namespace
}  // namespace ft::cli
