#include "cli/numbers.h"

#include <fmt/format.h>

#include "base/parse_number.h"

namespace ft::cli {

namespace {

template <class T>
CLI::Validator number_between(T least, T most, const char* kind) {
    return CLI::Validator(
        [=](std::string& text) {
            const std::optional<T> value = parse_number<T>(text);
            if (!value || !(*value >= least && *value <= most))
                return fmt::format("{} is no number from {} to {}", text, least, most);
            text = fmt::format("{}", *value);
            return std::string();
        },
        fmt::format("{} in [{} - {}]", kind, least, most));
}

}  // namespace

CLI::Validator whole_number(int64_t least, int64_t most) { return number_between(least, most, "INT"); }
CLI::Validator real_number(double least, double most) { return number_between(least, most, "FLOAT"); }

}  // namespace ft::cli
