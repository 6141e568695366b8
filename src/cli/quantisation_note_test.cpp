#include "cli/quantisation_note.h"

#include <gtest/gtest.h>

namespace ft::cli {
namespace {

TEST(QuantisationNote, IsSaidBelowFourBitsAndNamesTheFloor) {
    for (const char* low : {"Q3_K_M", "q2_k", "IQ2_XXS", "IQ1_S", "UD-IQ3_XXS"}) {
        const std::string note = low_quantisation_note(low);
        EXPECT_EQ(note.find(low), 0u) << note;
        EXPECT_NE(note.find("Q4_K_M"), std::string::npos) << note;
    }
    for (const char* enough : {"Q4_K_M", "IQ4_XS", "MXFP4_MOE", "Q8_0", "BF16", "F32", "", "mixed"})
        EXPECT_EQ(low_quantisation_note(enough), "") << enough;
}

}  // namespace
}  // namespace ft::cli
