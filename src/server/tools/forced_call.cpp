#include "server/tools/forced_call.h"

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

}  // namespace

Json forced_call_schema(const ToolOffer& offer) {
    Json calls = Json::array(), definitions = Json::object();
    for (const Json& tool : offer.list) {
        const Json& function = tool["function"];
        if (!offer.only.empty() && function["name"] != offer.only) continue;
        const auto at = function.find("parameters");
        Json arguments = at == function.end() || at->empty() ? Json{{"type", "object"}} : *at;
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

}  // namespace ft
