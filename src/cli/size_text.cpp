#include "cli/size_text.h"

#include <fmt/format.h>

#include <cmath>

#include "base/bytes.h"

namespace ft::cli {

namespace {

std::string written(uint64_t bytes, bool up) {
    struct Unit {
        uint64_t bytes;
        const char* name;
    };
    for (const Unit& unit : {Unit{k_gib, "GiB"}, Unit{k_mib, "MiB"}, Unit{k_kib, "KiB"}}) {
        const double value = static_cast<double>(bytes) / static_cast<double>(unit.bytes);
        // From here on "1.00" of this unit says it better than "1000" or more of the next.
        if (value < 0.9995) continue;
        const int digits = value < 10 ? 2 : value < 100 ? 1 : 0;
        const double scale = std::pow(10, digits);
        return fmt::format("{:.{}f} {}", up ? std::ceil(value * scale) / scale : value, digits, unit.name);
    }
    return fmt::format("{} B", bytes);
}

}  // namespace

std::string size_text(uint64_t bytes) { return written(bytes, false); }

std::string size_text_up(uint64_t bytes) { return written(bytes, true); }

}  // namespace ft::cli
