#include "server/tools/forced_call.h"

#include "engine/request.h"
#include "grammar/grammar.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

// The schema, moved to another place of its document: references from its root point there.
Json moved_schema(const Json& schema, const std::string& to) {
    if (schema.is_array()) {
        Json out = Json::array();
        for (const Json& item : schema) out.push_back(moved_schema(item, to));
        return out;
    }
    if (!schema.is_object()) return schema;
    Json out = Json::object();
    for (const auto& [key, value] : schema.items()) {
        const bool root_reference =
            key == "$ref" && value.is_string() && value.get_ref<const std::string&>().starts_with('#');
        if (root_reference) out[key] = "#" + to + value.get<std::string>().substr(1);
        else out[key] = moved_schema(value, to);
    }
    return out;
}

bool has_reference(const Json& schema) {
    if (schema.is_object() && schema.contains("$ref")) return true;
    if (!schema.is_structured()) return false;
    for (const Json& value : schema)
        if (has_reference(value)) return true;
    return false;
}

// A function without parameters takes none, and members that a schema does not name are none of its
// arguments.
Json arguments_schema(const Json& function) {
    const auto at = function.find("parameters");
    Json schema = at == function.end() ? Json::object() : *at;
    const bool says_more = schema.contains("$ref") || schema.contains("anyOf") || schema.contains("oneOf") ||
                           schema.contains("allOf");
    if (says_more) return schema;
    if (!schema.contains("type")) schema["type"] = "object";
    if (schema["type"] == "object" && !schema.contains("properties")) schema["properties"] = Json::object();
    if (schema["type"] == "object" && !schema.contains("additionalProperties"))
        schema["additionalProperties"] = false;
    return schema;
}

// The offer with any object as the arguments of functions whose schemas no grammar can say: one of many must
// not make the others useless.
ToolOffer with_simple_schemas(const ToolOffer& offer, const Tokenizer& tokenizer) {
    ToolOffer simple = offer;
    for (Json& tool : simple.list)
        if (!compile_json_schema(arguments_schema(tool["function"]), tokenizer))
            tool["function"]["parameters"] = {{"type", "object"}, {"additionalProperties", true}};
    return simple;
}

}  // namespace

Json forced_call_schema(const ToolOffer& offer) {
    Json calls = Json::array(), definitions = Json::object();
    for (const Json& tool : offer.list) {
        const Json& function = tool["function"];
        if (!offer.only.empty() && function["name"] != offer.only) continue;
        Json arguments = arguments_schema(function);
        if (has_reference(arguments)) {
            const std::string name = fmt::format("f{}", definitions.size());
            definitions[name] = moved_schema(arguments, "/$defs/" + name);
            arguments = Json{{"$ref", "#/$defs/" + name}};
        }
        calls.push_back({{"type", "object"},
                         {"properties", {{"name", {{"const", function["name"]}}}, {"arguments", arguments}}},
                         {"required", Json::array({"name", "arguments"})},
                         {"additionalProperties", false}});
    }
    Json schema = Json::object();
    if (!definitions.empty()) schema["$defs"] = std::move(definitions);
    if (calls.size() == 1) schema.update(calls[0]);
    else schema["anyOf"] = std::move(calls);
    return schema;
}

void force_call(const ToolOffer& offer, const char* field, const Tokenizer& tokenizer, JsonFields& fields,
                Request& request) {
    if (!offer.any() || offer.choice != ToolOffer::Choice::required || fields.failed()) return;
    if (request.grammar)
        return fields.fail(
            field,
            fmt::format("{} asks for a call, and another field for another form of the answer.", field));
    Expected<SharedGrammar> grammar = compile_json_schema(forced_call_schema(offer), tokenizer);
    if (!grammar)
        grammar = compile_json_schema(forced_call_schema(with_simple_schemas(offer, tokenizer)), tokenizer);
    if (!grammar) return fields.fail(field, fmt::format("{}: {}", field, grammar.error().sentence()));
    request.grammar = std::move(*grammar);
}

}  // namespace ft
