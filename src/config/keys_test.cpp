#include "config/keys.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace ft {
namespace {

// The value of a text for a key, or its refusal.
std::string parsed(const Key& key, std::string_view text) {
    const Expected<std::optional<SettingValue>> value = parse_value(key, "NAME", text);
    if (!value) return value.error().what;
    return *value ? yaml_text(**value, key.kind) : "none";
}

TEST(Keys, EveryRowIsCompleteAndItsDefaultAndExampleAreAllowed) {
    std::set<std::string> names, flags;
    for (const Key& key : keys()) {
        const std::string name = dotted(key);
        EXPECT_TRUE(names.insert(name).second) << name << " stands twice";
        EXPECT_EQ(find_key(name), &key);
        EXPECT_GT(std::string_view(key.help).size(), 20u) << name;
        EXPECT_NE(std::string_view(key.help).back(), '.')
            << name << ": sentences are ended by whoever prints them";
        EXPECT_TRUE(parse_value(key, name, key.example)) << name << ": example";
        EXPECT_NE(std::string_view(key.example), "") << name;
        if (*key.fallback) {
            EXPECT_TRUE(parse_value(key, name, key.fallback)) << name << ": default";
        }
        if (*key.flag) {
            EXPECT_TRUE(flags.insert(key.flag).second) << key.flag << " stands twice";
            EXPECT_TRUE(std::string_view(key.flag).starts_with("--"));
            EXPECT_EQ(std::string_view(key.value_name).empty(), key.kind == Kind::boolean) << name;
        }
        if (key.kind == Kind::choice) {
            EXPECT_GT(choices(key).size(), 1u) << name;
        }
    }
}

TEST(Keys, ARefusalNamesTheUnit) {
    const auto refusal = [](const char* name, const char* text) {
        const auto value = parse_value(*find_key(name), "NAME", text);
        return value ? "" : value.error().sentence();
    };
    for (const char* typed : {"8GB", "8G", "8GiB", "8 GB"})
        EXPECT_EQ(refusal("memory.ram_budget", typed),
                  fmt::format("NAME takes a number from 0.001 to 1048576 or auto, not \"{}\". "
                              "Give a bare number in GiB, such as 8.",
                              typed));
    EXPECT_EQ(refusal("memory.ram_budget", "0"),
              "NAME takes a number from 0.001 to 1048576 or auto, not \"0\".");
    EXPECT_EQ(refusal("inference.top_k", "many").find("bare number"), std::string::npos);
    const std::set<std::string> units = {"GiB", "MiB", "KiB", "seconds", "milliseconds", "tokens"};
    for (const Key& key : keys()) {
        const std::string help = key.help;
        if (help.find("iB ") != std::string::npos || help.find("seconds ") != std::string::npos) {
            EXPECT_TRUE(*key.unit) << dotted(key);
        }
        if (!*key.unit) continue;
        EXPECT_TRUE(units.contains(key.unit)) << dotted(key);
        EXPECT_NE(refusal(dotted(key).c_str(), "8 x")
                      .find(fmt::format("in {}, such as {}.", key.unit, key.example)),
                  std::string::npos)
            << dotted(key);
    }
}

TEST(Keys, NamesOfTheEnvironment) {
    EXPECT_EQ(environment_name(*find_key("inference.top_k")), "FREETOKEN_INFERENCE_TOP_K");
    EXPECT_EQ(find_key("inference.top_kk"), nullptr);
    EXPECT_EQ(find_key("inference"), nullptr);
    EXPECT_TRUE(is_section("model"));
    EXPECT_FALSE(is_section("mode"));
}

TEST(ParseValue, Numbers) {
    const Key key = {.section = "s", .name = "k", .kind = Kind::number, .least = 0, .most = 1.5};
    EXPECT_EQ(parsed(key, "0.25"), "0.25");
    EXPECT_EQ(parsed(key, "1e-3"), "0.001");
    EXPECT_EQ(parsed(key, "1.5"), "1.5");
    EXPECT_EQ(parsed(key, "0"), "0");
    EXPECT_EQ(parsed(key, "null"), "none");
    for (const char* text : {"hot", "-0.1", "1.6", "nan", "inf", "", " 1", "1 ", "0x1", "1,5", "auto"})
        EXPECT_EQ(parsed(key, text), fmt::format("NAME takes a number from 0 to 1.5, not \"{}\"", text));
}

TEST(ParseValue, Integers) {
    const Key key = {.section = "s", .name = "k", .kind = Kind::integer, .least = 1, .fallback = "auto"};
    EXPECT_EQ(parsed(key, "9223372036854775807"), "9223372036854775807");
    EXPECT_EQ(parsed(key, "auto"), "none");
    for (const char* text : {"0", "1.0", "1e3", "9223372036854775808", "many", "-5"})
        EXPECT_EQ(parsed(key, text),
                  fmt::format("NAME takes an integer of at least 1 or auto, not \"{}\"", text));
}

// What is too large is told the upper end, also where documents leave it out.
TEST(ParseValue, AnUpperEndThatIsPassedIsNamed) {
    const Key wide = {.section = "s",
                      .name = "k",
                      .kind = Kind::integer,
                      .least = 1,
                      .most = static_cast<double>(int64_t{1} << 40),
                      .fallback = "auto"};
    const Key narrow = {.section = "s", .name = "k", .kind = Kind::integer, .least = 1, .most = 8};
    for (const char* text : {"1099511627777", "9223372036854775807", "99999999999999999999"})
        EXPECT_EQ(
            parsed(wide, text),
            fmt::format("NAME takes an integer of at least 1 or auto, and at most 1099511627776, not \"{}\"",
                        text));
    EXPECT_EQ(parsed(wide, "1099511627776"), "1099511627776");
    EXPECT_EQ(parsed(wide, "0"), "NAME takes an integer of at least 1 or auto, not \"0\"");
    EXPECT_EQ(parsed(narrow, "9"), "NAME takes an integer from 1 to 8, not \"9\"");
}

TEST(ParseValue, BooleansAndChoices) {
    const Key yes_no = {.section = "s", .name = "k", .kind = Kind::boolean};
    EXPECT_EQ(parsed(yes_no, "true"), "true");
    EXPECT_EQ(parsed(yes_no, "false"), "false");
    for (const char* word : {"perhaps", "yes", "no", "on", "off", "1", "0", "True"})
        EXPECT_EQ(parsed(yes_no, word), fmt::format("NAME takes true or false, not \"{}\"", word));
    const Key choice = {.section = "s", .name = "k", .kind = Kind::choice, .choices = "lru|lfu"};
    EXPECT_EQ(parsed(choice, "lfu"), "lfu");
    EXPECT_EQ(parsed(choice, "clock"), "NAME takes one of lru, lfu, not \"clock\"");
    EXPECT_EQ(parsed(choice, "lru|lfu"), "NAME takes one of lru, lfu, not \"lru|lfu\"");
}

TEST(ParseValue, TextsAndPaths) {
    const Key text = {.section = "s", .name = "k", .kind = Kind::text};
    EXPECT_EQ(parsed(text, ""), "\"\"");
    EXPECT_EQ(parsed(text, "say \"hi\"\\\n\t\x01 用"), "\"say \\\"hi\\\"\\\\\\n\\t\\x01 用\"");
    const Key path = {.section = "s", .name = "k", .kind = Kind::path};
    EXPECT_EQ(parsed(path, "a b/模型.gguf"), "\"a b/模型.gguf\"");
    EXPECT_EQ(parsed(path, "~/m.gguf"),
              fmt::format("\"{}/m.gguf\"", std::getenv("HOME") ? std::getenv("HOME") : "~"));
    EXPECT_EQ(parsed(path, "a~/m.gguf"), "\"a~/m.gguf\"");
    EXPECT_EQ(parsed(path, ""), "NAME takes the path of a file, not \"\"");
    for (const char* name : {"memory.swap_dir", "kv_cache.park_dir", "model.store"})
        EXPECT_EQ(allowed_values(*find_key(name)).find("the path of a folder"), 0u) << name;
}

TEST(ParseValue, Lists) {
    const Key list = {.section = "s", .name = "k", .kind = Kind::list};
    EXPECT_EQ(parsed(list, "User:"), "[\"User:\"]");
    EXPECT_EQ(parsed(list, R"(["\n", "a \"b\"", "停"])"), R"(["\n","a \"b\"","停"])");
    EXPECT_EQ(parsed(list, "[]"), "[]");
    EXPECT_EQ(parsed(list, "null"), "none");
    for (const char* text : {"", "[1]", "[\"\"]", "[\"a\"", "[null]", "[[]]"})
        EXPECT_EQ(parsed(list, text),
                  fmt::format("NAME takes a list of texts, none of them empty, not \"{}\"", text));
}

}  // namespace
}  // namespace ft
