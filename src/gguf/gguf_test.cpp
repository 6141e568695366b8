#include "gguf/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>

#include "base/bytes.h"
#include "gguf/tensor_type.h"
#include "gguf/writer.h"
#include "io/memory_file.h"
#include "quant/types.h"

namespace ft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Files = std::map<std::string, std::string>;  // path -> bytes

Expected<Gguf> open_in(const Files& files, const std::string& path, Gguf::Cut cut = Gguf::Cut::refuse) {
    return Gguf::open(path, cut, [&](const std::string& name) -> Expected<std::unique_ptr<File>> {
        const auto found = files.find(name);
        if (found == files.end()) return system_error(name, "open", ENOENT);
        return std::unique_ptr<File>(std::make_unique<MemoryFile>(name, found->second));
    });
}

Expected<Gguf> open_bytes(const std::string& bytes, Gguf::Cut cut = Gguf::Cut::refuse) {
    return open_in({{"f.gguf", bytes}}, "f.gguf", cut);
}

std::vector<std::byte> some_bytes(size_t n) {
    std::vector<std::byte> bytes(n);
    for (size_t i = 0; i < n; i++) bytes[i] = static_cast<std::byte>(i * 37 + 11);
    return bytes;
}

void add_floats(GgufWriter& writer, std::string_view name, int64_t n) {
    const std::array<int64_t, 1> dims{n};
    writer.add_tensor(name, 0, dims, some_bytes(static_cast<size_t>(n) * 4));
}

TEST(Gguf, EveryValueTypeComesBack) {
    GgufWriter writer;
    writer.add("n.u8", uint8_t{200});
    writer.add("n.i8", int8_t{-100});
    writer.add("n.u16", uint16_t{60000});
    writer.add("n.i16", int16_t{-30000});
    writer.add("n.u32", uint32_t{4000000000});
    writer.add("n.i32", int32_t{-2000000000});
    writer.add("n.u64", uint64_t{1} << 62);
    writer.add("n.i64", int64_t{-5});
    writer.add("f.32", 1.5F);
    writer.add("f.64", 0.1);
    writer.add("b.yes", true);
    writer.add("b.no", false);
    writer.add("s", "text with \xff and \n");
    const Expected<Gguf> gguf = open_bytes(writer.bytes());
    ASSERT_TRUE(gguf) << gguf.error().sentence();
    EXPECT_EQ(*gguf->get_int("n.u8"), 200);
    EXPECT_EQ(*gguf->get_int("n.i8"), -100);
    EXPECT_EQ(*gguf->get_int("n.u16"), 60000);
    EXPECT_EQ(*gguf->get_int("n.i16"), -30000);
    EXPECT_EQ(*gguf->get_int("n.u32"), 4000000000);
    EXPECT_EQ(*gguf->get_int("n.i32"), -2000000000);
    EXPECT_EQ(*gguf->get_int("n.u64"), int64_t{1} << 62);
    EXPECT_EQ(*gguf->get_int("n.i64"), -5);
    EXPECT_EQ(*gguf->get_float("f.32"), 1.5);
    EXPECT_EQ(*gguf->get_float("f.64"), 0.1);
    EXPECT_EQ(*gguf->get_float("n.i8"), -100.0);
    EXPECT_TRUE(*gguf->get_bool("b.yes"));
    EXPECT_FALSE(*gguf->get_bool("b.no"));
    EXPECT_EQ(*gguf->get_string("s"), "text with \xff and \n");
    EXPECT_EQ(gguf->metadata().size(), 13u);
}

TEST(Gguf, ArraysOfEveryTypeComeBack) {
    GgufWriter writer;
    const std::vector<int16_t> shorts{-1, 2, -3};
    const std::vector<uint64_t> longs{1, uint64_t{1} << 40};
    const std::vector<float> floats{0.5F, -2.0F};
    const std::vector<double> doubles{0.25};
    const std::vector<std::string> texts{"", "a", std::string(1000, 'x')};
    writer.add_array<int16_t>("shorts", shorts);
    writer.add_array<uint64_t>("longs", longs);
    writer.add_array<float>("floats", floats);
    writer.add_array<double>("doubles", doubles);
    writer.add_array("texts", texts);
    writer.add_array("none", std::span<const std::string>());
    writer.add_value("bools", {ValueType::array, ValueType::boolean, 3, std::string("\1\0\1", 3)});
    writer.add("one", uint32_t{7});
    const Expected<Gguf> gguf = open_bytes(writer.bytes());
    ASSERT_TRUE(gguf) << gguf.error().sentence();
    EXPECT_THAT(*gguf->get_ints("shorts"), ElementsAre(-1, 2, -3));
    EXPECT_THAT(*gguf->get_ints("longs"), ElementsAre(1, int64_t{1} << 40));
    EXPECT_THAT(*gguf->get_ints("bools"), ElementsAre(1, 0, 1));
    EXPECT_THAT(*gguf->get_ints("one"), ElementsAre(7));
    EXPECT_THAT(*gguf->get_floats("floats"), ElementsAre(0.5F, -2.0F));
    EXPECT_THAT(*gguf->get_floats("doubles"), ElementsAre(0.25F));
    EXPECT_THAT(*gguf->get_floats("shorts"), ElementsAre(-1.0F, 2.0F, -3.0F));
    EXPECT_EQ(*gguf->get_strings("texts"), texts);
    EXPECT_TRUE(gguf->get_strings("none")->empty());
}

TEST(Gguf, MissingAndMistypedKeysAreNamed) {
    GgufWriter writer;
    writer.add("a.text", "four");
    writer.add("a.large", uint64_t{1} << 63);
    writer.add("a.number", uint32_t{4});
    const Expected<Gguf> gguf = open_bytes(writer.bytes());
    ASSERT_TRUE(gguf);
    EXPECT_EQ(*gguf->get_int("a.none", 3), 3);
    EXPECT_EQ(*gguf->get_string("a.none", "else"), "else");
    const Error missing = gguf->get_int("a.none").error();
    EXPECT_EQ(missing.code, Code::not_found);
    EXPECT_THAT(missing.what, AllOf(HasSubstr("f.gguf"), HasSubstr("'a.none'")));
    const Error mistyped = gguf->get_int("a.text", 3).error();
    EXPECT_EQ(mistyped.code, Code::invalid);
    EXPECT_THAT(mistyped.what, AllOf(HasSubstr("'a.text'"), HasSubstr("string")));
    EXPECT_THAT(gguf->get_int("a.large").error().what, HasSubstr("2^63"));
    EXPECT_THAT(gguf->get_strings("a.number").error().what, HasSubstr("uint32"));
    EXPECT_THAT(gguf->get_floats("a.text").error().what, HasSubstr("'a.text'"));
    EXPECT_THAT(gguf->get_bool("a.number").error().what, HasSubstr("'a.number'"));
    EXPECT_EQ(gguf->architecture(), "");
}

TEST(Gguf, TensorsOfEveryTypeAndAlignmentComeBack) {
    std::vector<uint32_t> types{24, 25, 26, 27, 28};
    for (const TypeInfo& type : all_types()) types.push_back(static_cast<uint32_t>(type.type));
    for (const uint32_t alignment : {1U, 8U, 32U, 256U, 4096U}) {
        GgufWriter writer(alignment == 8 ? 2 : 3);
        writer.set_alignment(alignment);
        for (const uint32_t type : types) {
            const TensorType sizes = *find_tensor_type(type);
            const std::array<int64_t, 3> dims{2 * sizes.block_values, 3, 2};
            writer.add_tensor(sizes.name, type, dims,
                              some_bytes(static_cast<size_t>(12 * sizes.block_bytes)));
        }
        const std::string bytes = writer.bytes();
        const Expected<Gguf> gguf = open_bytes(bytes);
        ASSERT_TRUE(gguf) << gguf.error().sentence();
        ASSERT_EQ(gguf->tensors().size(), types.size());
        for (const TensorInfo& tensor : gguf->tensors()) {
            const TensorType sizes = *find_tensor_type(tensor.type);
            EXPECT_EQ(tensor.name, sizes.name);
            EXPECT_EQ(tensor.n_dims, 3);
            EXPECT_THAT(tensor.dims, ElementsAre(2 * sizes.block_values, 3, 2, 1));
            EXPECT_EQ(tensor.bytes, static_cast<uint64_t>(12 * sizes.block_bytes));
            EXPECT_EQ(tensor.offset % alignment, 0u);
            const std::vector<std::byte> wanted = some_bytes(tensor.bytes);
            EXPECT_EQ(std::memcmp(bytes.data() + tensor.offset, wanted.data(), tensor.bytes), 0)
                << tensor.name;
            EXPECT_EQ(gguf->find_tensor(tensor.name), &tensor);
        }
    }
}

TEST(Gguf, EmptyTensorsAndScalarsAreLegal) {
    GgufWriter writer;
    const std::array<int64_t, 2> empty{0, 5};
    writer.add_tensor("empty", 0, empty, {});
    writer.add_tensor("scalar", 0, std::span<const int64_t>(), some_bytes(4));
    const Expected<Gguf> gguf = open_bytes(writer.bytes());
    ASSERT_TRUE(gguf) << gguf.error().sentence();
    EXPECT_EQ(gguf->find_tensor("empty")->bytes, 0u);
    EXPECT_EQ(gguf->find_tensor("empty")->n_values(), 0);
    EXPECT_EQ(gguf->find_tensor("scalar")->n_values(), 1);
    EXPECT_EQ(gguf->find_tensor("no such"), nullptr);
}

TEST(Gguf, CutDataSaysHowManyBytesAreMissing) {
    GgufWriter writer;
    add_floats(writer, "first", 8);
    add_floats(writer, "last", 4);  // 16 bytes and 16 of padding
    const std::string whole = writer.bytes();
    ASSERT_TRUE(open_bytes(whole.substr(0, whole.size() - 16))) << "the end padding may be missing";
    const std::string cut = whole.substr(0, whole.size() - 16 - 7);
    const Expected<Gguf> refused = open_bytes(cut);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::truncated);
    EXPECT_THAT(refused.error().what, AllOf(HasSubstr("'last'"), HasSubstr("7 bytes are missing")));
    const Expected<Gguf> allowed = open_bytes(cut, Gguf::Cut::allow);
    ASSERT_TRUE(allowed);
    EXPECT_EQ(allowed->missing_bytes(), 7u);
    EXPECT_EQ(allowed->tensors().size(), 2u);
}

// A model in `count` parts with one tensor each.
Files split_model(uint16_t count) {
    Files files;
    for (uint16_t no = 0; no < count; no++) {
        GgufWriter writer;
        if (no == 0) writer.add("general.architecture", "test");
        writer.add("split.no", no);
        writer.add("split.count", count);
        writer.add("split.tensors.count", int32_t{count});
        add_floats(writer, fmt::format("t{}", no), 8 + no);
        files[fmt::format("dir/m-{:05}-of-{:05}.gguf", no + 1, count)] = writer.bytes();
    }
    return files;
}

TEST(SplitGguf, AnyPartOpensTheWhole) {
    const Files files = split_model(3);
    for (const auto& [path, bytes] : files) {
        const Expected<Gguf> gguf = open_in(files, path);
        ASSERT_TRUE(gguf) << gguf.error().sentence();
        EXPECT_EQ(gguf->architecture(), "test");
        ASSERT_EQ(gguf->parts().size(), 3u);
        EXPECT_EQ(gguf->path(), "dir/m-00001-of-00003.gguf");
        ASSERT_EQ(gguf->tensors().size(), 3u);
        EXPECT_EQ(gguf->find_tensor("t2")->part, 2);
        EXPECT_EQ(gguf->find_tensor("t2")->offset, gguf->parts()[2].data_start);
    }
}

TEST(SplitGguf, MissingPartsAreListed) {
    Files files = split_model(3);
    files.erase("dir/m-00002-of-00003.gguf");
    files.erase("dir/m-00003-of-00003.gguf");
    const Error error = open_in(files, "dir/m-00001-of-00003.gguf").error();
    EXPECT_THAT(error.what, AllOf(HasSubstr("m-00002-of-00003.gguf"), HasSubstr("m-00003-of-00003.gguf")));
}

TEST(SplitGguf, PartsThatDoNotBelongTogetherAreRefused) {
    const std::string first = "dir/m-00001-of-00002.gguf";
    const std::string second = "dir/m-00002-of-00002.gguf";
    Files files = split_model(2);
    files[second] = files[first];
    EXPECT_THAT(open_in(files, first).error().what, HasSubstr(second));
    files = split_model(2);
    files[second].resize(files[second].size() - 40);
    EXPECT_THAT(open_in(files, first).error().what, HasSubstr(second));
    EXPECT_EQ(open_in(files, first, Gguf::Cut::allow)->missing_bytes(), 12u);  // 28 of the 40 were padding
    files = split_model(2);
    files["renamed.gguf"] = files[first];
    EXPECT_THAT(open_in(files, "renamed.gguf").error().what, HasSubstr("-00001-of-00002.gguf"));
}

TEST(SplitGguf, TensorsAreCounted) {
    Files files;
    for (uint16_t no = 0; no < 2; no++) {
        GgufWriter writer;
        writer.add("split.no", no);
        writer.add("split.count", uint16_t{2});
        writer.add("split.tensors.count", int32_t{5});
        add_floats(writer, fmt::format("t{}", no), 8);
        files[fmt::format("m-{:05}-of-00002.gguf", no + 1)] = writer.bytes();
    }
    EXPECT_THAT(open_in(files, "m-00001-of-00002.gguf").error().what, HasSubstr("promises 5"));
}

TEST(Gguf, AVocabularyOfAQuarterMillionTokensOpensQuickly) {
    std::vector<std::string> tokens;
    for (int i = 0; i < 250000; i++) tokens.push_back(fmt::format("token{}", i));
    GgufWriter writer;
    writer.add_array("tokenizer.ggml.tokens", tokens);
    const std::string bytes = writer.bytes();
    const auto start = std::chrono::steady_clock::now();
    const Expected<Gguf> gguf = open_bytes(bytes);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    ASSERT_TRUE(gguf);
    EXPECT_EQ(gguf->get_strings("tokenizer.ggml.tokens")->back(), "token249999");
    EXPECT_LT(took.count(), 2.0);  // some 10 ms; the bound is for sanitizers and busy machines
}

TEST(Gguf, GoldenModelsOpen) {
    int n_models = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(FREETOKEN_SOURCE_DIR "/tests/goldens/small")) {
        if (entry.path().extension() != ".gguf") continue;
        const Expected<Gguf> gguf = Gguf::open(entry.path().string());
        ASSERT_TRUE(gguf) << gguf.error().sentence();
        EXPECT_NE(gguf->architecture(), "");
        EXPECT_NE(gguf->find_tensor("token_embd.weight"), nullptr);
        n_models++;
    }
    EXPECT_GT(n_models, 10);
}

// A file that says it is another one at each opening, and one that cannot tell.
class ReplacedFile final : public File {
 public:
    ReplacedFile(const std::string& path, const std::string& bytes, uint64_t inode)
        : File(path), content_(path, bytes), inode_(inode) {}
    uint64_t size() const override { return content_.size(); }
    Status read_at(uint64_t offset, std::span<std::byte> to) const override {
        return content_.read_at(offset, to);
    }
    FileIdentity identity() const override { return {.inode = inode_}; }

 private:
    MemoryFile content_;
    uint64_t inode_;
};

TEST(Gguf, AFileThatWasReplacedSinceItsHeaderWasReadIsRefused) {
    GgufWriter writer;
    add_floats(writer, "w", 8);
    const std::string bytes = writer.bytes();
    const auto gguf = Gguf::open("f.gguf", Gguf::Cut::refuse, [&](const std::string& name) {
        return Expected<std::unique_ptr<File>>(std::make_unique<ReplacedFile>(name, bytes, 7));
    });
    ASSERT_TRUE(gguf);
    EXPECT_TRUE(gguf->check_part(0, ReplacedFile("f.gguf", bytes, 7)));
    EXPECT_TRUE(gguf->check_part(0, ReplacedFile("f.gguf", bytes, 0)));
    const Status other = gguf->check_part(0, ReplacedFile("f.gguf", bytes, 8));
    ASSERT_FALSE(other);
    EXPECT_THAT(other.error().what, AllOf(HasSubstr("f.gguf"), HasSubstr("replaced")));
}

}  // namespace
}  // namespace ft
