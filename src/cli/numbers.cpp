#include "cli/numbers.h"

#include <fmt/format.h>

#include "base/parse_number.h"

namespace ft::cli {

namespace {

template <class T>
CLI::Validator number_between(T least, T most, const char* kind, std::string_view unit) {
    return CLI::Validator(
        [=, of = unit.empty() ? std::string() : fmt::format(" of {}", unit)](std::string& text) {
            const std::optional<T> value = parse_number<T>(text);
            if (!value || !(*value >= least && *value <= most))
                return fmt::format("{} is no number{} from {} to {}", text, of, least, most);
            text = fmt::format("{}", *value);
            return std::string();
        },
        fmt::format("{} in [{} - {}]", kind, least, most));
}

}  // namespace

CLI::Validator whole_number(int64_t least, int64_t most) { return number_between(least, most, "INT", ""); }
CLI::Validator real_number(double least, double most, std::string_view unit) {
    return number_between(least, most, "FLOAT", unit);
}

}  // namespace ft::cli
