// One test for each rule about damaged and hostile files: every one is refused with a sentence that names the
// file, the key or tensor, and the byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "gguf/gguf.h"
#include "gguf/header.h"
#include "io/memory_file.h"

namespace ft {
namespace {

using ::testing::HasSubstr;

// Bytes of a header, right or wrong, as the file format has them.
class Raw {
 public:
    template <class T>
    Raw& number(T value) {
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
        return *this;
    }
    Raw& text(std::string_view value) { return number<uint64_t>(value.size()).plain(value); }
    Raw& plain(std::string_view value) {
        bytes += value;
        return *this;
    }
    Raw& head(uint64_t n_tensors, uint64_t n_keys, uint32_t version = 3) {
        return plain("GGUF").number(version).number(n_tensors).number(n_keys);
    }
    Raw& key(std::string_view name, uint32_t type) { return text(name).number(type); }
    Raw& tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset) {
        text(name).number(static_cast<uint32_t>(dims.size()));
        for (const uint64_t dim : dims) number(dim);
        return number(type).number(offset);
    }
    Raw& data(size_t n) {
        bytes.resize(round_up(bytes.size(), 32) + n, '\0');
        return *this;
    }

    std::string bytes;
};

Expected<Header> header_of(const Raw& raw) { return read_header(MemoryFile("f.gguf", raw.bytes)); }

// The sentence with which the bytes are refused; every refusal names the file.
std::string refusal(const Raw& raw) {
    const Expected<Header> header = header_of(raw);
    if (header) return "accepted";
    EXPECT_THAT(header.error().what, HasSubstr("f.gguf"));
    EXPECT_FALSE(header.error().remedy.empty()) << header.error().what;
    return header.error().what;
}

constexpr uint64_t k_huge = uint64_t{1} << 61;

TEST(HostileFile, CountsBeyondTheFile) {
    EXPECT_THAT(refusal(Raw().head(k_huge, 0).data(64)), HasSubstr("2305843009213693952 tensors"));
    EXPECT_THAT(refusal(Raw().head(0, k_huge).data(64)), HasSubstr("2305843009213693952 keys"));
    EXPECT_THAT(refusal(Raw().head(3, 0).data(32)), HasSubstr("3 tensors"));
    EXPECT_THAT(refusal(Raw().head(0, 9).data(64)), HasSubstr("9 keys"));
    EXPECT_THAT(refusal(Raw().plain("GGUF").number<uint32_t>(3).plain(std::string(4096, '\xff'))),
                HasSubstr("header"));
}

TEST(HostileFile, NoCountMakesALargeAllocation) {
    // A file of holes may honestly have room for any count.
    class Holes final : public File {
     public:
        explicit Holes(std::string head) : File("f.gguf"), head_(std::move(head)) {}
        uint64_t size() const override { return uint64_t{1} << 50; }
        Status read_at(uint64_t offset, std::span<std::byte> to) const override {
            std::memset(to.data(), 0, to.size());
            if (offset < head_.size())
                std::memcpy(to.data(), head_.data() + offset,
                            std::min<size_t>(to.size(), head_.size() - offset));
            return {};
        }

     private:
        std::string head_;
    };
    const auto refused = [](const Raw& raw) {
        const Expected<Header> header = read_header(Holes(raw.bytes));
        return header ? "accepted" : header.error().what;
    };
    EXPECT_THAT(refused(Raw().head(uint64_t{1} << 40, 0)), HasSubstr("tensors"));
    EXPECT_THAT(refused(Raw().head(0, uint64_t{1} << 40)), HasSubstr("keys"));
    EXPECT_THAT(refused(Raw().head(0, 1).key("x", 8).number(uint64_t{1} << 45)), HasSubstr("MiB"));
    EXPECT_THAT(refused(Raw().head(0, 1).key("x", 9).number<uint32_t>(8).number(uint64_t{1} << 45)),
                HasSubstr("at most 4194304"));
    EXPECT_THAT(refused(Raw().head(0, 1).key("x", 9).number<uint32_t>(10).number(uint64_t{1} << 45)),
                HasSubstr("at most 4194304"));
}

TEST(HostileFile, Keys) {
    EXPECT_THAT(refusal(Raw().head(0, 1).number(k_huge).data(64)), HasSubstr("key 1 of 1 at byte 24"));
    EXPECT_THAT(refusal(Raw().head(0, 1).number(uint64_t{1} << 32).data(64)), HasSubstr("65535"));
    EXPECT_THAT(refusal(Raw().head(0, 1).key("", 0).number<uint8_t>(1).data(64)), HasSubstr("empty"));
    Raw twice;
    twice.head(0, 2).key("a.b", 0).number<uint8_t>(1).key("a.b", 0).number<uint8_t>(2);
    EXPECT_THAT(refusal(twice), AllOf(HasSubstr("'a.b'"), HasSubstr("twice"), HasSubstr("at byte 40")));
}

TEST(HostileFile, LongKeysCountAsMetadata) {
    Raw raw;
    raw.head(0, 2100);
    for (int i = 0; i < 2100; i++) {
        std::string name = fmt::format("{:05}", i);
        name.resize(65535, 'k');
        raw.key(name, 0).number<uint8_t>(1);
    }
    EXPECT_THAT(refusal(raw), HasSubstr("the metadata have over 128 MiB"));
}

TEST(HostileFile, Values) {
    EXPECT_THAT(refusal(Raw().head(0, 1).key("x.odd", 99).data(64)),
                AllOf(HasSubstr("'x.odd'"), HasSubstr("99")));
    EXPECT_THAT(refusal(Raw().head(0, 1).key("x.text", 8).number(k_huge).plain("abc")),
                HasSubstr("'x.text'"));
    EXPECT_THAT(refusal(Raw().head(0, 1).key("x.flag", 7).number<uint8_t>(2)),
                AllOf(HasSubstr("'x.flag'"), HasSubstr("value 2")));
    EXPECT_THAT(refusal(Raw().head(0, 1).key("x.number", 10).number<uint8_t>(1)), HasSubstr("'x.number'"));
}

TEST(HostileFile, Arrays) {
    const auto array = [](uint32_t element, uint64_t count) {
        return Raw().head(0, 1).key("x.many", 9).number(element).number(count);
    };
    EXPECT_THAT(refusal(array(4, k_huge).data(64)),
                AllOf(HasSubstr("'x.many'"), HasSubstr("2305843009213693952")));
    EXPECT_THAT(refusal(array(8, k_huge).data(64)), AllOf(HasSubstr("'x.many'"), HasSubstr("at most")));
    EXPECT_THAT(refusal(array(8, 1000).data(64)), AllOf(HasSubstr("'x.many'"), HasSubstr("1000 strings")));
    EXPECT_THAT(refusal(array(4, 1000).data(64)), AllOf(HasSubstr("'x.many'"), HasSubstr("1000 uint32")));
    EXPECT_THAT(refusal(array(0, uint64_t{1} << 32).data(64)), HasSubstr("'x.many'"));
    EXPECT_THAT(refusal(array(77, 1).data(64)), AllOf(HasSubstr("'x.many'"), HasSubstr("77")));
    EXPECT_THAT(refusal(array(9, 1).data(64)), AllOf(HasSubstr("'x.many'"), HasSubstr("array of arrays")));
    EXPECT_THAT(refusal(array(7, 2).number<uint8_t>(1).number<uint8_t>(3)), HasSubstr("value 3"));
    EXPECT_THAT(refusal(array(8, 2).text("good").number(k_huge)),
                AllOf(HasSubstr("'x.many'"), HasSubstr("string 1 of 2")));
}

TEST(HostileFile, Alignment) {
    for (const uint32_t alignment : {0U, 3U, 48U})
        EXPECT_THAT(refusal(Raw().head(0, 1).key("general.alignment", 4).number(alignment)),
                    AllOf(HasSubstr("general.alignment"), HasSubstr("power of two")));
    EXPECT_THAT(refusal(Raw().head(0, 1).key("general.alignment", 10).number<uint64_t>(32)),
                HasSubstr("uint32"));
}

TEST(HostileFile, Tensors) {
    const auto one = [](const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset) {
        return refusal(Raw().head(1, 0).tensor("w", dims, type, offset).data(256));
    };
    EXPECT_EQ(one({8, 8}, 0, 0), "accepted");
    EXPECT_THAT(one({8}, 99, 0), AllOf(HasSubstr("'w' at byte 24"), HasSubstr("99")));
    for (const uint32_t gone : {4U, 5U, 9U, 15U, 31U, 33U, 36U, 38U, 43U})
        EXPECT_THAT(one({256}, gone, 0), HasSubstr(fmt::format("type has the number {}", gone)));
    EXPECT_THAT(one({8}, 0, 1), AllOf(HasSubstr("'w'"), HasSubstr("alignment 32")));
    EXPECT_THAT(one({8}, 0, ~uint64_t{31}), AllOf(HasSubstr("'w'"), HasSubstr("overflows")));
    EXPECT_THAT(one({uint64_t{1} << 40, uint64_t{1} << 40}, 0, 0), HasSubstr("overflows 63 bits"));
    EXPECT_THAT(one({uint64_t{1} << 32, uint64_t{1} << 32, 1}, 0, 0), HasSubstr("overflows 63 bits"));
    EXPECT_THAT(one({0, uint64_t{1} << 40, uint64_t{1} << 40}, 0, 0), HasSubstr("overflows 63 bits"));
    EXPECT_THAT(one({uint64_t{1} << 62}, 28, 0), HasSubstr("overflows"));
    EXPECT_THAT(one({~uint64_t{0}}, 0, 0), HasSubstr("too large"));
    EXPECT_THAT(one({1, 1, 1, 1, 1, 1, 1, 1, 1}, 0, 0), AllOf(HasSubstr("'w'"), HasSubstr("9 dims")));
    EXPECT_THAT(one({33}, 8, 0), AllOf(HasSubstr("rows of 33"), HasSubstr("Q8_0")));
    EXPECT_THAT(refusal(Raw().head(1, 0).tensor("", {8}, 0, 0).data(64)), HasSubstr("empty"));
    EXPECT_THAT(refusal(Raw().head(1, 0).text("t").number(uint32_t{1} << 31).plain(std::string(256, '\1'))),
                HasSubstr("2147483648 dims"));
    EXPECT_THAT(refusal(Raw().head(1, 0).tensor(std::string(300, 'n'), {8}, 0, 0).data(64)),
                HasSubstr("at most 255"));
}

TEST(HostileFile, TensorsThatOverlap) {
    const auto two = [](uint64_t second) {
        return refusal(Raw().head(2, 0).tensor("a", {16}, 0, 0).tensor("b", {16}, 0, second).data(256));
    };
    EXPECT_EQ(two(64), "accepted");
    EXPECT_EQ(two(128), "accepted");  // a hole between them
    EXPECT_THAT(two(32), AllOf(HasSubstr("'a' and 'b' overlap")));
}

TEST(HostileFile, DuplicateTensorNames) {
    const Raw raw = Raw().head(2, 0).tensor("a", {8}, 0, 0).tensor("a", {8}, 0, 32).data(64);
    const Expected<Gguf> gguf = Gguf::open("f.gguf", Gguf::Cut::refuse, [&](const std::string& path) {
        return Expected<std::unique_ptr<File>>(std::make_unique<MemoryFile>(path, raw.bytes));
    });
    ASSERT_FALSE(gguf);
    EXPECT_THAT(gguf.error().what, AllOf(HasSubstr("'a'"), HasSubstr("twice")));
}

TEST(HostileFile, EveryCutOfAHeaderIsRefused) {
    Raw whole;
    whole.head(1, 3).key("a", 4).number<uint32_t>(1).key("b", 8).text("text");
    whole.key("c", 9).number<uint32_t>(8).number<uint64_t>(2).text("one").text("two");
    whole.tensor("w", {8}, 0, 0);
    const size_t header_bytes = whole.bytes.size();
    ASSERT_TRUE(header_of(whole.data(32)));
    for (size_t n = 0; n < header_bytes; n++) {
        Raw cut;
        cut.plain(whole.bytes.substr(0, n));
        EXPECT_FALSE(header_of(cut)) << "cut at byte " << n;
    }
}

TEST(HostileFile, Versions) {
    const auto version = [](uint32_t number) { return refusal(Raw().head(0, 0, number)); };
    EXPECT_EQ(version(2), "accepted");
    EXPECT_EQ(version(3), "accepted");
    for (const uint32_t number : {0U, 1U, 4U, 77U})
        EXPECT_THAT(version(number), HasSubstr(fmt::format("version {}", number)));
    EXPECT_THAT(version(0x03000000), HasSubstr("big-endian"));
}

TEST(ForeignFile, IsNamedWithItsRemedy) {
    struct Case {
        std::string_view bytes, is, remedy;
    };
    const Case cases[] = {
        {"", "empty", "Download"},
        {"GGU", "3 bytes", "Download"},
        {"GGML....", "GGML", "before GGUF"},
        {"tjgg\3\0\0\0", "GGJT", "before GGUF"},
        {"PK\3\4....", "zip", "Convert"},
        {std::string_view("\x10\0\0\0\0\0\0\0{\"a\":", 13), "safetensors", "Convert"},
        {"version https://git-lfs.github.com/spec/v1", "git-lfs", "git lfs pull"},
        {"<!DOCTYPE html>", "HTML", "web page"},
        {"\x1f\x8b\x08....", "gzip", "Unpack"},
        {"# not a model\n", "text", ".gguf"},
        {std::string_view("\0\0\0\0\0\0", 6), "magic", ".gguf"},
    };
    for (const Case& c : cases) {
        const Expected<Header> header = read_header(MemoryFile("f.gguf", std::string(c.bytes)));
        ASSERT_FALSE(header);
        EXPECT_THAT(header.error().what, AllOf(HasSubstr("not a GGUF file"), HasSubstr(std::string(c.is))));
        EXPECT_THAT(header.error().remedy, HasSubstr(std::string(c.remedy)));
    }
    const Expected<Header> piece = read_header(MemoryFile("f.gguf.part2of3", std::string("\1\2\3\4", 4)));
    ASSERT_FALSE(piece);
    EXPECT_THAT(piece.error().remedy, HasSubstr("cat"));
}

}  // namespace
}  // namespace ft
