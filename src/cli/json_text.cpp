#include "cli/json_text.h"

#include <nlohmann/json.hpp>

#include "base/printable.h"

namespace ft::cli {

std::string json_text(const nlohmann::ordered_json& json, int indent) {
    return printable_json(json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) +
           "\n";
}

}  // namespace ft::cli
