// The scheduler on every architecture, with all experts in RAM and with most of them on the drive: whatever
// runs beside a request, it gets the tokens that it gets alone on a model in RAM.
#include <gtest/gtest.h>

#include "engine/golden_models.h"
#include "engine/scheduler_for_test.h"

namespace ft::scheduled {
namespace {

class SchedulerOnArchitecture : public testing::TestWithParam<const char*> {
 protected:
    void SetUp() override {
        model_ = std::make_unique<Loaded>(path(), options_for(GetParam()));
        ASSERT_NE(model_->engine, nullptr);
        ASSERT_TRUE(model_->engine->experts_resident());
        jobs_ = std::make_unique<Jobs>(*model_->engine, 6, 24, 5, 150);
    }
    static std::string path() { return std::string("tests/goldens/small/") + GetParam() + "/model.gguf"; }
    void run_schedules(const Loaded& model) const {
        for (uint32_t seed = 0; seed < schedules(2, 12) && !HasFailure(); seed++)
            random_schedule(model, *jobs_, seed);
    }

    std::unique_ptr<Loaded> model_;
    std::unique_ptr<Jobs> jobs_;
};

class SchedulerOnMixture : public SchedulerOnArchitecture {};

TEST_P(SchedulerOnArchitecture, GivesInAnyScheduleWhatEachRequestGivesAlone) { run_schedules(*model_); }

TEST_P(SchedulerOnMixture, GivesTheSameWithItsExpertsOnTheDrive) {
    const Loaded streaming(path(), streaming_options(GetParam(), 0.2));
    ASSERT_NE(streaming.engine, nullptr);
    ASSERT_FALSE(streaming.engine->experts_resident());
    run_schedules(streaming);
    EXPECT_GT(streaming.engine->expert_stats().misses, 0u);
}

std::string model_name(const testing::TestParamInfo<const char*>& info) {
    std::string name = info.param;
    std::ranges::replace(name, '-', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Scheduler, SchedulerOnArchitecture,
                         testing::Values("llama-kquants", "mixtral-q5k-q40", "qwen2moe-q3k-iq4", "qwen3-f16",
                                         "qwen3moe-iq", "qwen35moe-gateup-q8", "qwen35moe-mtp-f16"),
                         model_name);
INSTANTIATE_TEST_SUITE_P(Scheduler, SchedulerOnMixture,
                         testing::Values("mixtral-q5k-q40", "qwen2moe-q3k-iq4", "qwen3moe-q4km",
                                         "qwen35moe-gateup-q8"),
                         model_name);

}  // namespace
}  // namespace ft::scheduled
