#include "server/tools/tool_fields.h"

#include "server/request_defaults.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

// {"type": "function", "function": {…}}
void read_tool(const Json& tool, const std::string& place, JsonFields& fields, ToolOffer& offer) {
    if (!tool.is_object()) return fields.expected(place, "an object with type and function", tool);
    const auto type = tool.find("type");
    if (type != tool.end() && *type != "function")
        return fields.fail(place + ".type",
                           fmt::format("{}.type is {}, but tools are functions here.", place, shown(*type)));
    const auto function = tool.find("function");
    if (function == tool.end()) return fields.fail(place, fmt::format("{}.function is missing.", place));
    add_tool(*function, "parameters", place + ".function", fields, offer);
}

// The name in {"type": "function", "function": {"name"}}, or in {"name"}.
std::optional<std::string> chosen_name(const Json& choice) {
    const auto function = choice.find("function");
    const Json& holder = function != choice.end() && function->is_object() ? *function : choice;
    const auto name = holder.find("name");
    if (name == holder.end() || !name->is_string()) return std::nullopt;
    return name->get<std::string>();
}

void take_choice(const Json& choice, const char* name, JsonFields& fields, ToolOffer& offer) {
    using Choice = ToolOffer::Choice;
    if (choice == "auto") offer.choice = Choice::automatic;
    else if (choice == "none") offer.choice = Choice::none;
    else if (choice == "required" || choice == "any") offer.choice = Choice::required;
    else if (const auto only = choice.is_object() ? chosen_name(choice) : std::nullopt) {
        offer.choice = Choice::required;
        offer.only = *only;
    } else {
        fields.expected(name, "auto, none, required or a function to be called", choice);
    }
}

}  // namespace

void add_tool(const Json& function, const char* schema, const std::string& place, JsonFields& fields,
              ToolOffer& offer) {
    if (!function.is_object()) return fields.expected(place, "an object with a name", function);
    const auto name = function.find("name");
    if (name == function.end() || !name->is_string() || name->get_ref<const std::string&>().empty() ||
        name->get_ref<const std::string&>().size() > k_longest_tool_name)
        return fields.fail(place + ".name", fmt::format("{}.name is missing, or no text of 1 to {} bytes.",
                                                        place, k_longest_tool_name));
    Json entry = {{"name", *name}};
    if (const auto text = function.find("description"); text != function.end() && !text->is_null()) {
        if (!text->is_string()) return fields.expected(place + ".description", "a text", *text);
        entry["description"] = *text;
    }
    if (const auto parameters = function.find(schema);
        parameters != function.end() && !parameters->is_null()) {
        if (!parameters->is_object())
            return fields.expected(fmt::format("{}.{}", place, schema), "a JSON schema", *parameters);
        entry["parameters"] = *parameters;
    }
    if (offer.list.size() == k_most_tools)
        return fields.fail("tools", fmt::format("tools takes at most {} functions.", k_most_tools));
    offer.list.push_back({{"type", "function"}, {"function", std::move(entry)}});
}

ToolOffer read_tools(JsonFields& fields) {
    ToolOffer offer;
    if (const Json* tools = fields.find("tools")) {
        if (!tools->is_array()) fields.expected("tools", "a list of functions", *tools);
        else
            for (size_t i = 0; i < tools->size() && !fields.failed(); i++)
                read_tool((*tools)[i], fmt::format("tools[{}]", i), fields, offer);
    } else if (const Json* functions = fields.find("functions")) {  // the older form
        if (!functions->is_array()) fields.expected("functions", "a list of functions", *functions);
        else
            for (size_t i = 0; i < functions->size() && !fields.failed(); i++)
                add_tool((*functions)[i], "parameters", fmt::format("functions[{}]", i), fields, offer);
    }
    read_choice(fields, offer);
    offer.parallel = fields.boolean("parallel_tool_calls").value_or(true);
    return offer;
}

void read_choice(JsonFields& fields, ToolOffer& offer) {
    const char* name = fields.find("tool_choice") ? "tool_choice" : "function_call";
    if (const Json* choice = fields.find(name)) take_choice(*choice, name, fields, offer);
    if (!fields.failed()) check_choice(offer, name, fields);
}

void check_choice(const ToolOffer& offer, const char* name, JsonFields& fields) {
    if (offer.choice != ToolOffer::Choice::required) return;
    if (offer.list.empty())
        return fields.fail(name, fmt::format("{} asks for a call, but there are no tools.", name));
    if (offer.only.empty()) return;
    for (const Json& tool : offer.list)
        if (tool["function"]["name"] == offer.only) return;
    fields.fail(name,
                fmt::format("{} names {}, which is none of the tools.", name, printable(offer.only, 60)));
}

std::shared_ptr<const ToolRules> tool_rules(const ToolOffer& offer) {
    if (!offer.any()) return nullptr;
    auto rules = std::make_shared<ToolRules>();
    rules->parallel = offer.parallel;
    rules->id_seed = random_seed();
    for (const Json& tool : offer.list) {
        const Json& function = tool["function"];
        const auto parameters = function.find("parameters");
        rules->tools.push_back(
            {function["name"].get<std::string>(), parameters == function.end() ? Json() : *parameters});
    }
    return rules;
}

}  // namespace ft
