#include "hub/store_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/ascii.h"
#include "gguf/split.h"
#include "hub/part_file.h"

namespace ft {

namespace {

namespace fs = std::filesystem;

constexpr int k_deepest_folder = 6;
constexpr size_t k_most_entries = 50'000;
constexpr std::string_view k_gguf = ".gguf", k_part = ".part";

bool ends_like(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && same_in_any_case(text.substr(text.size() - end.size()), end);
}

// Towers for images and calibration data are no models.
bool is_model_name(std::string_view name) {
    return ends_like(name, k_gguf) && name.find("mmproj") == std::string_view::npos &&
           name.find("imatrix") == std::string_view::npos;
}

std::string without_end_slash(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
}

void take_file(const fs::directory_entry& entry, const std::string& folder, std::vector<FoundFile>& found) {
    std::error_code failed;
    std::string path = entry.path().string();
    const bool part = path.ends_with(k_part);
    if (part) path.erase(path.size() - k_part.size());
    if (!is_model_name(fs::path(path).filename().string()) || !entry.is_regular_file(failed)) return;
    const uint64_t bytes = entry.file_size(failed);
    if (failed) return;
    const std::string relative = path.substr(std::min(path.size(), folder.size() + 1));
    found.push_back({path, relative, bytes, part});
}

}  // namespace

std::string model_stem(const std::string& path) {
    if (const auto split = parse_split_name(path)) return split->prefix;
    return ends_like(path, k_gguf) ? path.substr(0, path.size() - k_gguf.size()) : path;
}

std::vector<FoundFile> find_files(const std::string& root) {
    std::vector<FoundFile> found;
    std::error_code failed;
    const std::string folder = without_end_slash(root);
    fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, failed),
        end;
    for (size_t n = 0; !failed && entry != end && n < k_most_entries; entry.increment(failed), n++) {
        if (entry.depth() >= k_deepest_folder) entry.disable_recursion_pending();
        take_file(*entry, folder, found);
    }
    std::sort(found.begin(), found.end(), [](const FoundFile& a, const FoundFile& b) {
        return a.path != b.path ? a.path < b.path : a.part < b.part;
    });
    return found;
}

std::vector<StoredModel> models_of(const std::vector<FoundFile>& files, Keeper keeper,
                                   std::string_view prefix) {
    std::map<std::string, StoredModel> models;
    for (const FoundFile& file : files) {
        StoredModel& model = models[model_stem(file.relative)];
        model.keeper = keeper;
        model.name = fmt::format("{}{}", prefix, model_stem(file.relative));
        // a file that is fetched anew stands beside its part, and is as good as ever until it is replaced
        const bool twice = !model.files.empty() && model.files.back() == file.path;
        if (twice) continue;
        model.files.push_back(file.path);
        model.bytes += file.bytes;
        if (!file.part) {
            model.done += file.bytes;
            continue;
        }
        model.complete = false;
        const auto state = read_part_state(file.path);
        if (state) model.done += state->done;
        if (state) model.word = state->word;
    }
    std::vector<StoredModel> out;
    for (auto& [stem, model] : models) {
        const auto split = parse_split_name(model.files.front());
        const bool whole = !split || model.files.size() == split->count;
        if (whole || !model.complete) out.push_back(std::move(model));
    }
    return out;
}

}  // namespace ft
