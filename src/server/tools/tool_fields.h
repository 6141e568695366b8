// What a request says of tools, in OpenAI's words; the other dialects bring theirs to the same form.
#pragma once

#include <memory>
#include <string>

#include "server/json_fields.h"
#include "server/tools/tool_rules.h"

namespace ft {

constexpr size_t k_most_tools = 512;
constexpr size_t k_longest_tool_name = 256;  // bytes

struct ToolOffer {
    enum class Choice { none, automatic, required };

    // For the template: [{"type": "function", "function": {"name", "description", "parameters"}}, …]
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    Choice choice = Choice::automatic;
    std::string only;  // with required: the one function that is to be called; "": any
    bool parallel = true;

    bool any() const { return choice != Choice::none && !list.empty(); }
};

// tools or functions, tool_choice or function_call, parallel_tool_calls.
ToolOffer read_tools(JsonFields& fields);

// tool_choice or function_call alone: auto, none, required, or a function by its name, nested or not.
void read_choice(JsonFields& fields, ToolOffer& offer);

// Adds a function. function: {"name", "description", and under `schema` the JSON schema of its arguments}.
// place: what errors call it, "tools[2].function".
void add_tool(const nlohmann::ordered_json& function, const char* schema, const std::string& place,
              JsonFields& fields, ToolOffer& offer);

// Whether a forced call is possible: that there are tools, and among them the one that is named. name: the
// field.
void check_choice(const ToolOffer& offer, const char* name, JsonFields& fields);

// For the reader of the answers; nullptr where no calls are to be looked for.
std::shared_ptr<const ToolRules> tool_rules(const ToolOffer& offer);

}  // namespace ft
