#include "grammar/json_schema.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "grammar/grammar.h"
#include "grammar/json_rules.h"
#include "grammar/object_keys.h"
#include "grammar/pattern.h"
#include "grammar/schema_keywords.h"
#include "grammar/schema_merge.h"

namespace ft::grammar {

namespace {

constexpr int k_deepest_schema = 200;
constexpr int k_most_schemas = 50'000;
constexpr size_t k_most_prefix_items = 256;
constexpr int64_t k_largest_integer = 999'999'999'999'999'999;
constexpr int64_t k_largest_real = 999'999'999'999'999;

struct NamedFormat {
    const char* name;
    const char* pattern;
};
constexpr NamedFormat k_string_formats[] = {
    {"date", R"(^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$)"},
    {"time", R"(^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+\-]([01]\d|2[0-3]):[0-5]\d)$)"},
    {"date-time",
     R"(^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?)"
     R"((Z|[+\-]([01]\d|2[0-3]):[0-5]\d)$)"},
    {"uuid", R"(^[\da-fA-F]{8}(-[\da-fA-F]{4}){3}-[\da-fA-F]{12}$)"},
    {"ipv4", R"(^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$)"},
    {"email", R"(^[\w+\-]{1,30}(\.[\w+\-]{1,30}){0,3}@([a-zA-Z0-9]{1,30}\.){1,4}[a-zA-Z]{2,10}$)"}};

// int32 is a range; the others say nothing more.
constexpr const char* k_number_formats[] = {"int32", "int64", "float", "double"};

class SchemaCompiler {
 public:
    explicit SchemaCompiler(const Json& root) : root_(root), merger_(root), json_(rules_) {}

    Expected<Rules> compile() {
        rules_.add("#");
        rule_of_pointer_.emplace("#", 0);
        Expected<Expr> body = any_of(root_, "#");
        if (!body) return body.error();
        rules_.bodies[0] = std::move(*body);
        return std::move(rules_);
    }

 private:
    // What a schema allows.
    Expected<Expr> any_of(const Json& schema, const std::string& place) {
        if (++n_schemas_ > k_most_schemas || depth_ >= k_deepest_schema)
            return Error{Code::too_large,
                         fmt::format("schema: it is deeper than {} levels or larger than {} parts",
                                     k_deepest_schema, k_most_schemas),
                         "Write it shorter, with $ref for what comes again."};
        depth_++;
        Expected<Expr> made = any_of_kind(schema, place);
        depth_--;
        return made;
    }

    Expected<Expr> any_of_kind(const Json& schema, const std::string& place) {
        if (schema == true) return json_.value();
        if (schema == false) return schema_error(place, "false allows no value");
        if (!schema.is_object())
            return schema_error(place, fmt::format("{} is no schema", printable(json_text_of(schema))),
                                "A schema is an object, such as {\"type\": \"object\"}.");
        if (Status known = check_keywords(schema, place); !known) return known.error();
        if (schema.contains("$ref") && !says_more_than(schema, "$ref")) return referred(schema, place);
        if (schema.contains("$ref") || schema.contains("allOf")) {
            const Expected<Json> flat = merger_.flat(schema, place);
            return flat ? any_of(*flat, place) : flat.error();
        }
        for (const char* keyword : {"anyOf", "oneOf"})
            if (schema.contains(keyword)) return alternatives(schema, keyword, place);
        if (schema.contains("const") || schema.contains("enum")) return listed(schema, place);
        return typed(schema, place);
    }

    // A rule for each place that is referred to, so that schemas may hold themselves.
    Expected<Expr> referred(const Json& schema, const std::string& place) {
        const std::string pointer = schema["$ref"].get<std::string>();
        const Json* target = merger_.target_of(pointer);
        if (!target)
            return schema_error(place, fmt::format("$ref \"{}\" leads nowhere", printable(pointer)),
                                "It takes a place in the same schema, such as #/$defs/name.");
        const auto [found, is_new] = rule_of_pointer_.try_emplace(pointer, 0);
        if (!is_new) return rule_of(found->second);
        const int rule = found->second = rules_.add(pointer);
        Expected<Expr> body = any_of(*target, pointer);
        if (!body) return body;
        rules_.bodies[static_cast<size_t>(rule)] = std::move(*body);
        return rule_of(rule);
    }

    Expected<Expr> alternatives(const Json& schema, const char* keyword, const std::string& place) {
        Json rest = schema;
        rest.erase(keyword);
        const bool alone = !says_more_than(rest, "");
        std::vector<Expr> ways;
        size_t i = 0;
        for (const Json& way : schema[keyword]) {
            const std::string its_place = fmt::format("{}/{}/{}", place, keyword, i++);
            if (alone) {
                Expected<Expr> made = any_of(way, its_place);
                if (!made) return made;
                ways.push_back(std::move(*made));
                continue;
            }
            const Expected<Json> own = merger_.flat(rest, place), flat = merger_.flat(way, its_place);
            if (!own) return own.error();
            if (!flat) return flat.error();
            const Expected<Json> both = merger_.merged(*own, *flat, its_place);
            if (!both) return both.error();
            Expected<Expr> made = any_of(*both, its_place);
            if (!made) return made;
            ways.push_back(std::move(*made));
        }
        return choice_of(std::move(ways));
    }

    // const and enum: the values that are of the type, too, where one is said.
    Expected<Expr> listed(const Json& schema, const std::string& place) {
        for (const auto& [name, value] : schema.items())
            if (name != "const" && name != "enum" && name != "type" && !is_description(name))
                return schema_error(place, fmt::format("\"{}\" beside const or enum is not supported", name),
                                    "List the values that are left.");
        const Json* constant = find(schema, "const");
        const Json values = constant ? Json::array({*constant}) : *find(schema, "enum");
        if (constant && schema.contains("enum"))
            return schema_error(place, "const and enum at once are not supported", "Leave one out.");
        const Expected<std::vector<std::string>> types = types_of(schema, place);
        if (!types) return types.error();
        std::vector<std::string> texts;
        for (const Json& value : values) {
            const bool fits =
                std::ranges::any_of(*types, [&](const auto& type) { return is_of_type(value, type); });
            if (fits || !schema.contains("type")) texts.push_back(json_text_of(value));
        }
        if (texts.empty()) return schema_error(place, "no value of the list is of the type");
        return any_text_of(std::move(texts));
    }

    Expected<Expr> typed(const Json& schema, const std::string& place) {
        const Expected<std::vector<std::string>> types = types_of(schema, place);
        if (!types) return types.error();
        if (types->empty()) return json_.value();
        std::vector<Expr> ways;
        for (const std::string& type : *types) {
            Expected<Expr> way = of_type(type, schema, place);
            if (!way) return way;
            ways.push_back(std::move(*way));
        }
        return ways.size() == 1 ? std::move(ways[0]) : choice_of(std::move(ways));
    }

    Expected<Expr> of_type(const std::string& type, const Json& schema, const std::string& place) {
        if (type == "object") return object(schema, place);
        if (type == "array") return array(schema, place);
        if (type == "string") return string(schema, place);
        if (type == "integer") return integer(schema, place);
        if (type == "number") return number(schema, place);
        return type == "null" ? text_of("null") : any_text_of({"true", "false"});
    }

    Expected<Expr> string(const Json& schema, const std::string& place) {
        const Expected<Counts> length = counts_of(schema, "minLength", "maxLength", place);
        if (!length) return length.error();
        const Json* pattern = find(schema, "pattern");
        const Json* format = find(schema, "format");
        if (!pattern && !format) return json_.string_of(length->least, length->most);
        if ((pattern && format) || length->least > 0 || length->most >= 0)
            return schema_error(place,
                                "pattern and format do not hold together with each other, nor with "
                                "minLength and maxLength",
                                "Write the lengths into the pattern, as in ^[a-z]{1,20}$.");
        return format ? string_of_format(format->get<std::string>(), place)
                      : string_of_pattern(pattern->get<std::string>(), place);
    }

    Expected<Expr> string_of_format(const std::string& name, const std::string& place) {
        for (const NamedFormat& format : k_string_formats)
            if (name == format.name) return string_of_pattern(format.pattern, place);
        return schema_error(
            place, fmt::format("the format \"{}\" is not supported", printable(name)),
            "Formats are date, time, date-time, uuid, ipv4 and email; leave others out, or write "
            "a pattern.");
    }

    Expected<Expr> string_of_pattern(const std::string& pattern, const std::string& place) {
        Expected<Expr> content = pattern_content(pattern, json_);
        if (!content)
            return schema_error(place,
                                fmt::format("pattern \"{}\": {}", printable(pattern), content.error().what),
                                content.error().remedy);
        return in_order(text_of("\""), std::move(*content), text_of("\""));
    }

    Status check_number_format(const Json& schema, const std::string& place) {
        const Json* format = find(schema, "format");
        if (!format ||
            std::ranges::any_of(k_number_formats, [&](const char* name) { return *format == name; }))
            return {};
        return schema_error(place,
                            fmt::format("the format \"{}\" is not supported for numbers",
                                        printable(format->get<std::string>())),
                            "Formats of numbers are int32, int64, float and double.");
    }

    Expected<Expr> integer(const Json& schema, const std::string& place) {
        if (Status known = check_number_format(schema, place); !known) return known.error();
        Expected<NumberBounds> bounds = number_bounds_of(schema, place);
        if (!bounds) return bounds.error();
        const Json* format = find(schema, "format");
        if (bounds->none() && !(format && *format == "int32")) return json_.integer();
        int64_t least = -k_largest_integer, most = k_largest_integer;
        if (format && *format == "int32") {
            least = std::numeric_limits<int32_t>::min();
            most = std::numeric_limits<int32_t>::max();
        }
        if (bounds->least) least = std::max(least, first_integer(*bounds->least, bounds->without_least));
        if (bounds->most) most = std::min(most, -first_integer(-*bounds->most, bounds->without_most));
        if (least > most) return schema_error(place, "no integer is between minimum and maximum");
        return integers_between(least, most);
    }

    // The least integer that is at least `bound`, or more.
    static int64_t first_integer(double bound, bool without) {
        if (bound > 9e17) return k_largest_integer;
        if (bound < -9e17) return -k_largest_integer;
        const double up = std::ceil(bound);
        return static_cast<int64_t>(up) + (without && up == bound ? 1 : 0);
    }

    Expected<Expr> number(const Json& schema, const std::string& place) {
        if (Status known = check_number_format(schema, place); !known) return known.error();
        const Expected<NumberBounds> bounds = number_bounds_of(schema, place);
        if (!bounds) return bounds.error();
        if (bounds->none()) return json_.number();
        const auto is_whole = [](const std::optional<double>& x) {
            return !x || (std::nearbyint(*x) == *x && std::abs(*x) <= static_cast<double>(k_largest_real));
        };
        if (!is_whole(bounds->least) || !is_whole(bounds->most))
            return schema_error(place, "minimum and maximum of a \"number\" are whole numbers below 10^15",
                                "Widen them to whole numbers.");
        const RealBounds real = {
            .least = bounds->least ? static_cast<int64_t>(*bounds->least) : -k_largest_real,
            .most = bounds->most ? static_cast<int64_t>(*bounds->most) : k_largest_real,
            .without_least = bounds->without_least,
            .without_most = bounds->without_most};
        if (real.least > real.most || (real.least == real.most && (real.without_least || real.without_most)))
            return schema_error(place, "no number is between minimum and maximum");
        return reals_between(real);
    }

    // The first items have schemas of their own, all others one; each after the first behind a comma.
    Expected<Expr> array(const Json& schema, const std::string& place) {
        const Expected<Counts> counts = counts_of(schema, "minItems", "maxItems", place);
        if (!counts) return counts.error();
        const int64_t most = counts->most < 0 ? std::numeric_limits<int64_t>::max() : counts->most;
        Expected<std::vector<Expr>> first = first_items(schema, most, place);
        if (!first) return first.error();
        const Json* items = find(schema, "items");
        const auto n = static_cast<int64_t>(first->size());
        const bool has_rest = !(items && *items == false) && most > n;
        if (!has_rest && counts->least > n)
            return schema_error(place, "minItems is more than there may be items");
        Expr rest = text_of("");
        if (has_rest) {
            Expected<Expr> item = items ? any_of(*items, place + "/items") : Expected<Expr>(json_.value());
            if (!item) return item;
            *item = rule_of(rules_.add("", std::move(*item)));  // it stands twice, and so would what it holds
            const int64_t further_least = std::max<int64_t>(0, counts->least - std::max<int64_t>(n, 1));
            const int64_t further_most = counts->most < 0 ? k_no_limit : most - std::max<int64_t>(n, 1);
            rest = json_.further(*item, further_least, further_most);
            if (n == 0) rest = in_order(*item, std::move(rest));
        }
        Expr list = items_from(std::move(*first), counts->least, std::move(rest));
        list = in_order(std::move(list), json_.gap());
        const bool may_be_empty = counts->least == 0;
        if (!has_rest && n == 0) return json_.enclosed("[", text_of(""), "]");
        return json_.enclosed("[", may_be_empty ? maybe(std::move(list)) : std::move(list), "]");
    }

    Expected<std::vector<Expr>> first_items(const Json& schema, int64_t most, const std::string& place) {
        std::vector<Expr> first;
        const Json* prefix = find(schema, "prefixItems");
        if (!prefix) return first;
        if (prefix->size() > k_most_prefix_items)
            return schema_error(place,
                                fmt::format("prefixItems has more than {} schemas", k_most_prefix_items));
        for (size_t i = 0; i < prefix->size() && static_cast<int64_t>(i) < most; i++) {
            Expected<Expr> item = any_of((*prefix)[i], fmt::format("{}/prefixItems/{}", place, i));
            if (!item) return item.error();
            first.push_back(std::move(*item));
        }
        return first;
    }

    // From the last to the first: what may be left out takes all behind it along.
    Expr items_from(std::vector<Expr> first, int64_t least, Expr rest) {
        Expr tail = std::move(rest);
        for (size_t i = first.size(); i > 0; i--) {
            if (i == 1) return in_order(std::move(first[0]), std::move(tail));
            Expr item = in_order(text_of(","), json_.gap(), std::move(first[i - 1]), std::move(tail));
            tail = static_cast<int64_t>(i) <= least ? std::move(item) : maybe(std::move(item));
        }
        return tail;
    }

    Expected<Expr> object(const Json& schema, const std::string& place) {
        Json properties = find(schema, "properties") ? schema["properties"] : Json::object();
        const Json* more = find(schema, "additionalProperties");
        const bool is_open = more ? *more != false : properties.empty();
        const Json further = more && is_open ? *more : Json(true);
        std::vector<std::string> required;
        if (const Json* names = find(schema, "required"))
            for (const Json& name : *names) {
                required.push_back(name.get<std::string>());
                if (properties.contains(required.back())) continue;
                if (more && !is_open)
                    return schema_error(place, fmt::format("\"{}\" is required, but no property",
                                                           printable(required.back())));
                properties[required.back()] = further;
            }
        std::vector<Member> members;
        for (const auto& [name, value] : properties.items()) {
            Expected<Expr> made = any_of(value, fmt::format("{}/properties/{}", place, name));
            if (!made) return made;
            members.push_back({JsonRules::member(text_of(json_text_of(name)), std::move(*made)),
                               std::ranges::find(required, name) != required.end()});
        }
        std::optional<Expr> extra;
        if (is_open) {
            Expected<Expr> value = any_of(further, place + "/additionalProperties");
            if (!value) return value;
            std::vector<std::string> names;
            for (const auto& [name, schema_of] : properties.items()) names.push_back(name);
            extra = JsonRules::member(key_other_than(names), std::move(*value));
        }
        return object_of(std::move(members), std::move(extra));
    }

    struct Member {
        Expr expr;
        bool required;
    };

    // some: the members from number i on, at least one. rest: the same behind a member, with the end. Both
    // are rules whose ends call the next, so that no number of members needs a stack.
    Expr object_of(std::vector<Member> members, std::optional<Expr> extra) {
        Expr rest = json_.gap();
        Expr some = choice_of({});  // nothing
        if (extra) {
            const int rule = rules_.add("");
            rest = either(in_order(text_of(","), json_.gap(), *extra, rule_of(rule)), json_.gap());
            rules_.bodies[static_cast<size_t>(rule)] = rest;
            rest = rule_of(rule);
            some = in_order(std::move(*extra), rest);
        }
        bool some_is_needed = false;
        for (size_t i = members.size(); i > 0; i--) {
            Member& member = members[i - 1];
            Expr with = in_order(std::move(member.expr), rest);
            some = member.required ? std::move(with) : either(std::move(with), std::move(some));
            some = rule_of(rules_.add("", std::move(some)));
            some_is_needed = some_is_needed || member.required;
            Expr more = in_order(text_of(","), json_.gap(), some);
            rest = rule_of(
                rules_.add("", some_is_needed ? std::move(more) : either(std::move(more), json_.gap())));
        }
        return json_.enclosed("{", some_is_needed ? std::move(some) : maybe(std::move(some)), "}");
    }

    const Json& root_;
    SchemaMerger merger_;
    Rules rules_;
    JsonRules json_;
    std::unordered_map<std::string, int> rule_of_pointer_;
    int n_schemas_ = 0, depth_ = 0;
};

}  // namespace

Expected<Rules> rules_of_schema(const nlohmann::ordered_json& schema) {
    if (json_text_of(schema).size() > k_largest_grammar_bytes)
        return Error{Code::too_large, "schema: it is larger than 1 MiB", "Write it shorter."};
    return SchemaCompiler(schema).compile();
}

}  // namespace ft::grammar
