// Which table is used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/kernels.h"

namespace ft {
namespace {

using testing::HasSubstr;

class Choice : public testing::Test {
 protected:
    void TearDown() override { unsetenv("FREETOKEN_ISA"); }
};

TEST_F(Choice, ScalarIsAlwaysThereAndFirst) {
    ASSERT_FALSE(compiled_kernels().empty());
    EXPECT_STREQ(compiled_kernels()[0]->name, "scalar");
}

TEST_F(Choice, TheBestIsTakenUnlessTheVariableSaysOtherwise) {
    unsetenv("FREETOKEN_ISA");
    auto best = choose_kernels();
    ASSERT_TRUE(best);
    EXPECT_EQ(*best, compiled_kernels().back());
    setenv("FREETOKEN_ISA", "scalar", 1);
    auto scalar = choose_kernels();
    ASSERT_TRUE(scalar);
    EXPECT_STREQ((*scalar)->name, "scalar");
}

TEST_F(Choice, AnUnknownNameIsAnErrorThatSaysWhatThereIs) {
    setenv("FREETOKEN_ISA", "sse9", 1);
    const auto none = choose_kernels();
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().sentence(), HasSubstr("FREETOKEN_ISA"));
    EXPECT_THAT(none.error().sentence(), HasSubstr("sse9"));
    EXPECT_THAT(none.error().sentence(), HasSubstr("scalar"));
}

TEST_F(Choice, Avx2IsFoundOrRefusedByName) {
    const auto avx2 = find_kernels("avx2");
    if (avx2) EXPECT_STREQ((*avx2)->name, "avx2");
    else EXPECT_THAT(avx2.error().sentence(), HasSubstr("avx2"));
}

TEST_F(Choice, ReferenceTakesF32ActivationsForEveryType) {
    EXPECT_STREQ(reference_kernels().name, "reference");
    for (const TypeInfo& info : all_types()) EXPECT_EQ(reference_kernels().act_kind(info.type), ActKind::f32);
    EXPECT_EQ(reference_kernels().act_bytes(ActKind::f32, 3), 64u);
}

TEST_F(Choice, NoTableLacksAFunction) {
    for (const Kernels* table : compiled_kernels()) {
        EXPECT_TRUE(table->act_kind && table->act_bytes && table->quantise && table->matmul &&
                    table->rms_norm);
        EXPECT_TRUE(table->l2_norm && table->silu_mul && table->sigmoid_mul && table->silu && table->softmax);
        EXPECT_TRUE(table->add && table->scale_add && table->attend && table->attend_merge);
        EXPECT_TRUE(table->delta_step && table->conv_silu);
    }
}

}  // namespace
}  // namespace ft
