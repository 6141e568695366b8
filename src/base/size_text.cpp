#include "base/size_text.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/bytes.h"

namespace ft {

namespace {

std::string size_written(uint64_t bytes, bool up) {
    const auto rounded = [&](uint64_t unit, double scale) {
        const double value = static_cast<double>(bytes) / static_cast<double>(unit) * scale;
        return (up ? std::ceil(value) : std::round(value)) / scale;
    };
    if (bytes < k_kib) return fmt::format("{} B", bytes);
    for (const auto& [unit, name] : {std::pair{k_kib, "KiB"}, {k_mib, "MiB"}}) {
        if (rounded(unit, 1) >= 1024) continue;
        if (const double fine = rounded(unit, 100); fine < 10) return fmt::format("{:.2f} {}", fine, name);
        return fmt::format("{:.0f} {}", rounded(unit, 1), name);
    }
    return fmt::format("{:.2f} GiB", rounded(k_gib, 100));
}

}  // namespace

std::string size_text(uint64_t bytes) { return size_written(bytes, false); }

std::string size_text_up(uint64_t bytes) { return size_written(bytes, true); }

}  // namespace ft
