// How a request is refused, in the shape that OpenAI's clients read.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace ft {

struct ApiError {
    int status = 400;     // of HTTP
    std::string message;  // sentences: what is wrong with which field, and what helps
    std::string type = "invalid_request_error";
    std::string param = "";  // the field; "": none
    std::string code = "";   // "": none
    // Further members, such as n_prompt_tokens and n_ctx of a prompt that is too long.
    std::vector<std::pair<std::string, int64_t>> extra = {};
};

// {"error": {"message", "type", "param", "code", …}}
nlohmann::ordered_json to_json(const ApiError& error);

// An error of the engine, seen from a client: 400 where the client can mend it, else 500.
ApiError api_error(const Error& error);

// A body that parse_json() refuses.
ApiError no_json_body(const Error& error);

}  // namespace ft
