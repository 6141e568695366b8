#include "gguf/tensor_data.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "gguf/writer.h"
#include "quant/types.h"

namespace ft {
namespace {

class TensorDataTest : public ::testing::Test {
 protected:
    void TearDown() override { std::filesystem::remove(path_); }

    template <class T>
    static std::span<const std::byte> bytes_of(const std::vector<T>& values) {
        return std::as_bytes(std::span(values));
    }
    // All values of a tensor of the written file.
    std::vector<float> values(const GgufWriter& writer, std::string_view name) const {
        EXPECT_TRUE(writer.write(path_));
        const Expected<Gguf> gguf = Gguf::open(path_);
        EXPECT_TRUE(gguf) << gguf.error().sentence();
        std::vector<float> all;
        const Status read = read_tensor(*gguf, *gguf->find_tensor(name), [&](std::span<const float> some) {
            all.insert(all.end(), some.begin(), some.end());
            return Status();
        });
        EXPECT_TRUE(read) << read.error().sentence();
        return all;
    }

    std::string path_ = fmt::format("{}freetoken_tensor_{}.gguf", ::testing::TempDir(), ::getpid());
};

TEST_F(TensorDataTest, PlainNumbersBecomeFloats) {
    GgufWriter writer;
    const std::array<int64_t, 1> dims{3};
    writer.add_tensor("i8", 24, dims, bytes_of(std::vector<int8_t>{-1, 0, 127}));
    writer.add_tensor("i16", 25, dims, bytes_of(std::vector<int16_t>{-300, 0, 300}));
    writer.add_tensor("i32", 26, dims, bytes_of(std::vector<int32_t>{-70000, 0, 1}));
    writer.add_tensor("i64", 27, dims, bytes_of(std::vector<int64_t>{-1, 0, int64_t{1} << 40}));
    writer.add_tensor("f64", 28, dims, bytes_of(std::vector<double>{-0.5, 0, 1e300}));
    EXPECT_EQ(values(writer, "i8"), (std::vector<float>{-1, 0, 127}));
    EXPECT_EQ(values(writer, "i16"), (std::vector<float>{-300, 0, 300}));
    EXPECT_EQ(values(writer, "i32"), (std::vector<float>{-70000, 0, 1}));
    EXPECT_EQ(values(writer, "i64"), (std::vector<float>{-1, 0, 1099511627776.0F}));
    EXPECT_EQ(values(writer, "f64"), (std::vector<float>{-0.5F, 0, std::numeric_limits<float>::infinity()}));
}

TEST_F(TensorDataTest, EveryQuantisedTypeIsTheOneDequantisation) {
    for (const TypeInfo& type : all_types()) {
        std::vector<std::byte> data(static_cast<size_t>(6 * type.block_bytes));
        for (size_t i = 0; i < data.size(); i++) data[i] = static_cast<std::byte>(i * 73 + 19);
        const std::array<int64_t, 2> dims{2 * type.block_values, 3};
        GgufWriter writer;
        writer.add_tensor("w", static_cast<uint32_t>(type.type), dims, data);
        std::vector<float> wanted(static_cast<size_t>(6 * type.block_values));
        type.dequantise(data.data(), wanted.data(), 6 * type.block_values);
        const std::vector<float> got = values(writer, "w");
        ASSERT_EQ(got.size(), wanted.size());
        EXPECT_EQ(std::memcmp(got.data(), wanted.data(), got.size() * sizeof(float)), 0) << type.name;
    }
}

TEST_F(TensorDataTest, LongTensorsComeInPieces) {
    std::vector<float> wanted(700000);
    for (size_t i = 0; i < wanted.size(); i++) wanted[i] = static_cast<float>(i);
    GgufWriter writer;
    const std::array<int64_t, 2> dims{7, 100000};
    writer.add_tensor("w", 0, dims, bytes_of(wanted));
    EXPECT_EQ(values(writer, "w"), wanted);
}

TEST_F(TensorDataTest, AFullTargetEndsTheReading) {
    GgufWriter writer;
    const std::array<int64_t, 1> dims{4};
    writer.add_tensor("w", 0, dims, bytes_of(std::vector<float>{1, 2, 3, 4}));
    ASSERT_TRUE(writer.write(path_));
    const Expected<Gguf> gguf = Gguf::open(path_);
    const Status read = read_tensor(*gguf, *gguf->find_tensor("w"),
                                    [](std::span<const float>) { return Error{Code::io, "full", ""}; });
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().what, "full");
}

}  // namespace
}  // namespace ft
