// A line of the input of `batch`, and the line of the output that answers it.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "server/openai_request.h"

namespace ft::cli {

struct BatchLine {
    int64_t number = 0;                     // in the input, from 1
    std::string custom_id = {};             // "" where the line has none that can be read
    std::unique_ptr<OpenAiCall> call = {};  // nullptr: it is refused
    // Where there is no call: why. Of a line that is none, the error alone; of a body that is refused, with
    // the status that a server would give.
    std::optional<ApiError> error = {};
    bool body_refused = false;
};

constexpr size_t k_longest_batch_line = size_t{16} << 20;
constexpr size_t k_longest_custom_id = 1024;  // bytes

// Reads the envelope alone: number and custom_id are filled in, and `error` where it is wrong; else `body` is
// the request's.
struct BatchEnvelope {
    BatchLine line;
    OpenAiRoute route = OpenAiRoute::completions;
    nlohmann::ordered_json body;
};
BatchEnvelope read_envelope(int64_t number, std::string_view text);

// The whole line. Its requests are of the batch lane.
BatchLine read_batch_line(BatchEnvelope envelope, const ServedModel& model);

// Lines of the output: {id, custom_id, response, error}.
nlohmann::ordered_json answered_line(const BatchLine& line, nlohmann::ordered_json body);
nlohmann::ordered_json failed_line(const BatchLine& line, const ApiError& error);

}  // namespace ft::cli
