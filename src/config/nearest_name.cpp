#include "config/nearest_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace ft {

namespace {

// Longer words are not typing mistakes of anything we know; this bounds the work.
constexpr size_t k_longest_word = 64;

// Two edits make half of a short word another: "port" is nothing like "lora". Dashes of a flag are no
// letters.
int most_edits(std::string_view word) {
    constexpr size_t k_long_word = 7, k_letters_of_an_edit = 6;
    const size_t letters = word.size() - std::min(word.find_first_not_of('-'), word.size());
    return letters <= k_long_word ? 1 : std::max(2, static_cast<int>(letters / k_letters_of_an_edit));
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
    const size_t width = b.size() + 1;
    std::vector<int> before(width), previous(width), row(width);
    for (size_t j = 0; j < width; j++) previous[j] = static_cast<int>(j);
    for (size_t i = 1; i <= a.size(); i++) {
        row[0] = static_cast<int>(i);
        for (size_t j = 1; j < width; j++) {
            const int replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({replaced, previous[j] + 1, row[j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before.swap(previous);
        previous.swap(row);
    }
    return previous[b.size()];
}

std::string nearest_name(std::string_view word, std::span<const std::string> names) {
    if (word.empty() || word.size() > k_longest_word) return "";
    std::string best;
    int best_distance = most_edits(word) + 1;
    for (const std::string& name : names) {
        const int distance = edit_distance(word, name);
        if (distance >= static_cast<int>(std::max(word.size(), name.size()))) continue;
        if (distance < best_distance) {
            best = name;
            best_distance = distance;
        }
    }
    return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> names) {
    const std::string name = nearest_name(word, names);
    return name.empty() ? "" : fmt::format("Did you mean {}?", name);
}

}  // namespace ft
