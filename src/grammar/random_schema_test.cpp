// Random walks through what random schemas allow always end, and what they end with is JSON that the schema
// allows, by a validator that knows nothing of grammars.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "grammar/grammar_for_test.h"

namespace ft {
namespace {

using nlohmann::ordered_json;

class RandomSchema {
 public:
    explicit RandomSchema(uint32_t seed) : random_(seed) {}

    ordered_json make() {
        ordered_json schema = any(3);
        if (schema.is_object()) schema["$defs"] = {{"p", any(1)}};
        return schema;
    }

 private:
    uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
    bool coin() { return below(2) == 0; }

    ordered_json any(int depth) {
        switch (below(depth > 0 ? 10 : 6)) {
            case 0:
                return integer();
            case 1:
                return string();
            case 2:
                return {{"type", coin() ? "boolean" : "null"}};
            case 3:
                return number();
            case 4:
                return {{"enum", {1, "a", "ab", "蓝", nullptr, -2.5, ordered_json::array({1, "x"})}}};
            case 5:
                return depth < 3 && coin() ? ordered_json{{"const", "c\n\""}} : string();
            case 6:
                return array(depth);
            case 7:
                return depth == 3 ? object(depth) : ordered_json{{"type", {"integer", "null"}}};
            case 8:
                return {{"anyOf", ordered_json::array({any(depth - 1), any(depth - 1)})}};
            default:
                return object(depth);
        }
    }

    ordered_json integer() {
        ordered_json schema = {{"type", "integer"}};
        const int64_t least = static_cast<int64_t>(below(2000)) - 1000;
        if (coin()) schema["minimum"] = least;
        if (coin()) schema["maximum"] = least + below(300);
        return schema;
    }

    ordered_json number() {
        ordered_json schema = {{"type", "number"}};
        const int least = static_cast<int>(below(40)) - 20;
        if (coin()) schema[coin() ? "minimum" : "exclusiveMinimum"] = least;
        if (coin()) schema[coin() ? "maximum" : "exclusiveMaximum"] = least + 1 + static_cast<int>(below(20));
        return schema;
    }

    ordered_json string() {
        ordered_json schema = {{"type", "string"}};
        const uint32_t least = below(4);
        if (coin()) schema["minLength"] = least;
        if (coin()) schema["maxLength"] = least + below(5);
        return schema;
    }

    ordered_json array(int depth) {
        ordered_json schema = {{"type", "array"}};
        const uint32_t least = below(3);
        schema["items"] = any(depth - 1);
        if (coin()) schema["prefixItems"] = ordered_json::array({any(depth - 1), any(0)});
        if (coin()) schema["minItems"] = least;
        schema["maxItems"] = least + below(4);
        return schema;
    }

    ordered_json object(int depth) {
        ordered_json schema = {{"type", "object"}};
        for (const char* name : {"a", "ab", "蓝", "q\"", "z"}) {
            if (coin()) continue;
            schema["properties"][name] = any(depth - 1);
            if (coin()) schema["required"].push_back(name);
        }
        if (coin()) schema["additionalProperties"] = coin() ? ordered_json(false) : any(0);
        return schema;
    }

    std::mt19937 random_;
};

bool fits_type(const ordered_json& v, const ordered_json& type) {
    if (type.is_array())
        return std::any_of(type.begin(), type.end(),
                           [&](const ordered_json& one) { return fits_type(v, one); });
    if (type == "integer") return v.is_number_integer();
    if (type == "number") return v.is_number();
    return (type == "object" && v.is_object()) || (type == "array" && v.is_array()) ||
           (type == "string" && v.is_string()) || (type == "boolean" && v.is_boolean()) ||
           (type == "null" && v.is_null());
}

size_t characters(const std::string& text) {
    return static_cast<size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

bool fits(const ordered_json& v, const ordered_json& s);

bool fits_object(const ordered_json& v, const ordered_json& s) {
    const ordered_json properties = s.value("properties", ordered_json::object());
    for (const ordered_json& name : s.value("required", ordered_json::array()))
        if (!v.contains(name.get<std::string>())) return false;
    for (const auto& [name, value] : v.items()) {
        if (properties.contains(name)) {
            if (!fits(value, properties[name])) return false;
        } else if (s.contains("additionalProperties") && !fits(value, s["additionalProperties"])) {
            return false;
        }
    }
    return true;
}

bool fits_array(const ordered_json& v, const ordered_json& s) {
    if (v.size() < s.value("minItems", size_t{0}) || v.size() > s.value("maxItems", v.size())) return false;
    const ordered_json prefix = s.value("prefixItems", ordered_json::array());
    for (size_t i = 0; i < v.size(); i++)
        if (!fits(v[i], i < prefix.size() ? prefix[i] : s["items"])) return false;
    return true;
}

bool fits_number(double v, const ordered_json& s) {
    return v >= s.value("minimum", v) && v <= s.value("maximum", v) &&
           v > s.value("exclusiveMinimum", v - 1) && v < s.value("exclusiveMaximum", v + 1);
}

bool fits(const ordered_json& v, const ordered_json& s) {
    if (s.is_boolean()) return s == true;
    if (s.contains("anyOf"))
        return std::any_of(s["anyOf"].begin(), s["anyOf"].end(),
                           [&](const ordered_json& way) { return fits(v, way); });
    if (s.contains("enum")) return std::find(s["enum"].begin(), s["enum"].end(), v) != s["enum"].end();
    if (s.contains("const")) return v == s["const"];
    if (s.contains("type") && !fits_type(v, s["type"])) return false;
    if (v.is_object()) return fits_object(v, s);
    if (v.is_array()) return fits_array(v, s);
    if (v.is_number() && std::abs(v.get<double>()) < 1e12) return fits_number(v.get<double>(), s);
    if (v.is_string()) {
        const size_t n = characters(v.get<std::string>());
        return n >= s.value("minLength", size_t{0}) && n <= s.value("maxLength", n);
    }
    return true;
}

// "": it did not end.
std::string random_text(const SharedGrammar& grammar, std::mt19937& random) {
    GrammarState state(grammar);
    std::string text;
    for (int step = 0; step < 20000; step++) {
        const auto allowed = state.allowed();
        if (!allowed) return "";
        if (state.must_end() || (state.may_end() && random() % 3 == 0)) return text;
        std::vector<int32_t> may_come;
        for (int32_t id = 0; id < 256; id++)
            if (is_allowed(*allowed, id)) may_come.push_back(id);
        if (may_come.empty()) return "";
        const int32_t id = may_come[random() % may_come.size()];
        if (!state.accept(id)) return "";
        text.push_back(static_cast<char>(id));
    }
    return "";
}

TEST(RandomSchemas, WalksEndInJsonThatTheSchemaAllows) {
    std::mt19937 random(7);
    for (uint32_t seed = 0; seed < 150; seed++) {
        const ordered_json schema = RandomSchema(seed).make();
        const auto grammar = compile_json_schema(schema, byte_tokenizer());
        ASSERT_TRUE(grammar) << schema.dump() << grammar.error().sentence();
        for (int walk = 0; walk < 4; walk++) {
            const std::string text = random_text(*grammar, random);
            ASSERT_FALSE(text.empty()) << schema.dump();
            ASSERT_TRUE(ordered_json::accept(text)) << schema.dump() << "\n" << text;
            EXPECT_TRUE(fits(ordered_json::parse(text), schema)) << schema.dump() << "\n" << text;
        }
    }
}

}  // namespace
}  // namespace ft
