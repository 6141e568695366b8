#include "cli/batch_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/batch_line.h"

namespace ft::cli {
namespace {

using testing::HasSubstr;

class BatchOutputs : public testing::Test {
 protected:
    ~BatchOutputs() override { std::remove(path_.c_str()); }

    void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
    std::string content() const {
        std::stringstream text;
        text << std::ifstream(path_, std::ios::binary).rdbuf();
        return text.str();
    }
    BatchOutput inspected() const {
        Expected<BatchOutput> output = BatchOutput::inspect(path_);
        check(static_cast<bool>(output), "the output of the test");
        return std::move(*output);
    }
    static nlohmann::ordered_json line(int64_t number, const std::string& custom_id) {
        return answered_line({.number = number, .custom_id = custom_id}, {{"text", "x"}});
    }
    static std::string text(int64_t number, const std::string& custom_id) {
        return line(number, custom_id).dump() + "\n";
    }
    static bool has(const BatchOutput& output, int64_t number, const std::string& custom_id) {
        const Expected<bool> got = output.has(number, custom_id);
        EXPECT_TRUE(got);
        return got && *got;
    }

    std::string path_ = testing::TempDir() + "freetoken-batch-output-test.jsonl";
};

TEST_F(BatchOutputs, NothingIsWrittenBeforeTheBeginning) {
    BatchOutput output = inspected();
    EXPECT_FALSE(std::ifstream(path_).is_open());
    ASSERT_TRUE(output.begin());
    EXPECT_EQ(content(), "");
    ASSERT_TRUE(output.append(line(2, "b")));
    ASSERT_TRUE(output.append(line(1, "a")));
    EXPECT_EQ(content(), text(2, "b") + text(1, "a"));
    EXPECT_TRUE(has(output, 1, "a"));
    EXPECT_FALSE(has(output, 3, "c"));
    EXPECT_EQ(output.n_done(), 2);
}

TEST_F(BatchOutputs, AnUnfinishedLineIsCutOffAndTheOthersCount) {
    const std::string whole = text(1, "a") + text(3, "c"), next = text(2, "b");
    for (const size_t cut : {size_t{1}, next.size() / 2, next.size() - 1}) {
        write(whole + next.substr(0, cut));
        BatchOutput output = inspected();
        EXPECT_EQ(content(), whole + next.substr(0, cut));  // inspecting changes nothing
        EXPECT_TRUE(has(output, 3, "c"));
        EXPECT_FALSE(has(output, 2, "b"));
        ASSERT_TRUE(output.begin());
        ASSERT_TRUE(output.append(line(2, "b")));
        EXPECT_EQ(content(), whole + next);
    }
}

TEST_F(BatchOutputs, AnotherFileIsLeftAsItIs) {
    for (const char* other :
         {"notes of mine\n", "{\"id\": 5}\n", "{\"id\": \"batch_req_x\"}\n", "[]\n", "\n"}) {
        write(other);
        const Expected<BatchOutput> output = BatchOutput::inspect(path_);
        ASSERT_FALSE(output) << other;
        EXPECT_THAT(output.error().what, HasSubstr("line 1"));
        EXPECT_THAT(output.error().what, HasSubstr(path_));
        EXPECT_EQ(content(), other);
    }
    EXPECT_FALSE(BatchOutput::inspect(testing::TempDir()));
    const Expected<BatchOutput> nowhere = BatchOutput::inspect("/no/such/folder/x.jsonl");
    ASSERT_FALSE(nowhere);
    EXPECT_THAT(nowhere.error().what, HasSubstr("/no/such/folder/x.jsonl"));
}

TEST_F(BatchOutputs, TheOutputOfAnotherInputIsRefused) {
    write(text(1, "a"));
    const BatchOutput output = inspected();
    const Expected<bool> got = output.has(1, "other");
    ASSERT_FALSE(got);
    EXPECT_THAT(got.error().what, HasSubstr("line 1"));
}

TEST_F(BatchOutputs, FailedLinesAreCounted) {
    write(failed_line({.number = 1, .custom_id = "a"}, {.message = "no"}).dump() + "\n" + text(2, "b"));
    BatchOutput output = inspected();
    EXPECT_EQ(output.n_failed(), 1);
    ASSERT_TRUE(output.begin());
    ASSERT_TRUE(output.append(failed_line({.number = 3, .custom_id = "c"}, {.message = "no"})));
    EXPECT_EQ(output.n_failed(), 2);
    EXPECT_EQ(output.n_done(), 3);
}

TEST_F(BatchOutputs, WhatAnotherRunWroteWhileTheModelWasLoadedStays) {
    BatchOutput slow = inspected();
    write(text(1, "a") + text(2, "b"));
    ASSERT_TRUE(slow.begin());
    EXPECT_EQ(content(), text(1, "a") + text(2, "b"));
    EXPECT_TRUE(has(slow, 2, "b"));
    EXPECT_EQ(slow.n_done(), 2);
}

TEST_F(BatchOutputs, TwoProgramsDoNotWriteToOne) {
    BatchOutput first = inspected(), second = inspected();
    ASSERT_TRUE(first.begin());
    const Status refused = second.begin();
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().what, HasSubstr("another program"));
}

}  // namespace
}  // namespace ft::cli
