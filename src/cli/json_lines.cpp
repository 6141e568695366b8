#include "cli/json_lines.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/read_text.h"
#include "base/system_error.h"
#include "cli/json_text.h"
#include "cli/standard_output.h"
#include "server/json_body.h"

namespace ft::cli {

namespace {

using nlohmann::ordered_json;

constexpr size_t k_longest_line = 16 * k_mib;
constexpr uint64_t k_longest_passed_over = uint64_t{1} << 30;  // what goes on after that has no end
constexpr size_t k_block_bytes = 64 * k_kib;
constexpr int k_deepest = 256;  // above what templates take (text/jinja/heap.h)

// The lines of stdin, one after another; the last need not end in a newline.
class StandardInput {
 public:
    enum class Got {
        line,
        too_long,  // a line over the limit, which was passed over
        end,
    };
    // An error: the system cannot read, or a line has no end.
    Expected<Got> next(std::string& line) {
        line.clear();
        uint64_t length = 0;
        for (;;) {
            const auto begin = block_.begin() + static_cast<std::ptrdiff_t>(at_);
            const auto end = std::find(begin, block_.end(), '\n');
            length += static_cast<uint64_t>(end - begin);
            const bool too_long = length > k_longest_line;
            if (!too_long) line.append(begin, end);
            if (length > k_longest_passed_over)
                return Error{Code::too_large,
                             fmt::format("standard input: a line does not end; {} MiB is the limit",
                                         k_longest_line / k_mib),
                             "Give one JSON object in each line."};
            at_ = static_cast<size_t>(end - block_.begin());
            if (end != block_.end()) {
                at_++;
                return too_long ? Got::too_long : Got::line;
            }
            if (const Status s = fill(); !s) return s.error();
            if (!block_.empty()) continue;
            if (too_long) return Got::too_long;
            return line.empty() ? Got::end : Got::line;
        }
    }

 private:
    Status fill() {
        block_.resize(k_block_bytes);
        at_ = 0;
        const ssize_t got = read_waiting(STDIN_FILENO, block_.data(), block_.size());
        if (got < 0) return system_error("standard input", "read", errno);
        block_.resize(static_cast<size_t>(got));
        return {};
    }

    std::vector<char> block_;
    size_t at_ = 0;
};

Expected<ordered_json> answer_line(StandardInput::Got got, const std::string& text,
                                   const JsonAnswer& answer) {
    if (got == StandardInput::Got::too_long)
        return Error{Code::too_large,
                     fmt::format("the line has more than {} MiB, the limit", k_longest_line / k_mib), ""};
    try {
        const Expected<ordered_json> line = parse_json(text, k_deepest);
        if (!line) return line.error();
        if (!line->is_object()) return Error{Code::invalid, "the line is no JSON object", ""};
        return answer(*line);
    } catch (const ordered_json::exception& e) {
        return Error{Code::invalid, json_reason(e, text), ""};
    }
}

}  // namespace

Expected<int> answer_lines(const JsonAnswer& answer) {
    StandardInput input;
    std::string text;
    for (int64_t n = 1;; ++n) {
        const Expected<StandardInput::Got> got = input.next(text);
        if (!got) return got.error();
        if (*got == StandardInput::Got::end) break;
        const Expected<ordered_json> result = answer_line(*got, text, answer);
        const ordered_json line =
            result ? *result
                   : ordered_json{{"error", fmt::format("line {}: {}", n, result.error().sentence())}};
        if (!write_out(json_text(line))) break;
    }
    Status written = finish_output();
    if (!written) return written.error();
    return 0;
}

}  // namespace ft::cli
