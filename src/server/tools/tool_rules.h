// The functions that a client offers the model in one request, and how the answer may call them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ft {

struct Tool {
    std::string name;
    nlohmann::ordered_json parameters;  // a JSON schema; null where the client gave none
};

struct ToolRules {
    std::vector<Tool> tools;
    bool parallel = true;  // false: calls after the first are left out
    uint64_t id_seed = 0;  // of the ids of calls

    const Tool* find(std::string_view name) const {
        for (const Tool& tool : tools)
            if (tool.name == name) return &tool;
        return nullptr;
    }
};

}  // namespace ft
