// What other programs have downloaded: how each of them lays its files out.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "base/bytes.h"
#include "base/read_text.h"
#include "hub/listing.h"
#include "hub/store.h"
#include "hub/store_files.h"

namespace ft {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t k_most_manifest_bytes = k_mib;
constexpr uint64_t k_most_pointer_bytes = 4 * k_kib;
constexpr size_t k_most_manifests = 10'000;
constexpr int k_manifest_depth = 3;  // HOST/OWNER/NAME/TAG

std::string variable_or(const char* name, const std::string& otherwise) {
    const char* text = std::getenv(name);
    return text != nullptr && *text != '\0' ? text : otherwise;
}

// "registry.ollama.ai/library/qwen3/30b-a3b" -> "qwen3:30b-a3b", as Ollama itself shows it.
std::string ollama_name(const fs::path& relative) {
    std::vector<std::string> parts;
    for (const fs::path& part : relative) parts.push_back(part.string());
    if (parts.size() != 4) return "";
    std::string name = fmt::format("{}:{}", parts[2], parts[3]);
    const bool own_library = parts[0] == "registry.ollama.ai";
    if (!own_library || parts[1] != "library") name = fmt::format("{}/{}", parts[1], name);
    if (!own_library) name = fmt::format("{}/{}", parts[0], name);
    return name;
}

std::optional<StoredModel> ollama_model(const std::string& folder, const fs::path& manifest) {
    const std::string name = ollama_name(manifest.lexically_relative(fs::path(folder) / "manifests"));
    const auto text = read_kept_text(manifest.string(), k_most_manifest_bytes);
    if (name.empty() || !text) return std::nullopt;
    const auto file = parse_manifest(*text, name);
    if (!file) return std::nullopt;
    const std::string blob = fmt::format("{}/blobs/sha256-{}", folder, file->sha256);
    std::error_code failed;
    if (fs::file_size(blob, failed) != file->bytes || failed) return std::nullopt;
    return StoredModel{.name = "ollama:" + name,
                       .keeper = Keeper::ollama,
                       .files = {blob},
                       .bytes = file->bytes,
                       .done = file->bytes};
}

std::vector<StoredModel> ollama_models(const std::string& folder) {
    std::vector<StoredModel> models;
    std::error_code failed;
    fs::recursive_directory_iterator entry(fs::path(folder) / "manifests",
                                           fs::directory_options::skip_permission_denied, failed),
        end;
    for (size_t n = 0; !failed && entry != end && n < k_most_manifests; entry.increment(failed), n++) {
        if (entry.depth() >= k_manifest_depth) entry.disable_recursion_pending();
        std::error_code unreadable;
        if (entry.depth() != k_manifest_depth || !entry->is_regular_file(unreadable)) continue;
        if (auto model = ollama_model(folder, entry->path())) models.push_back(std::move(*model));
    }
    return models;
}

// models--OWNER--REPO/snapshots/REVISION/FILE.gguf, a link into blobs/; refs/main names the newest revision.
std::vector<StoredModel> hugging_face_repository(const fs::path& repository) {
    std::string name = repository.filename().string().substr(std::string_view("models--").size());
    const size_t dashes = name.find("--");
    if (dashes != std::string::npos) name.replace(dashes, 2, "/");
    auto revision = read_kept_text((repository / "refs/main").string(), k_most_pointer_bytes);
    std::string newest = revision ? *revision : "";
    while (!newest.empty() && static_cast<unsigned char>(newest.back()) <= ' ') newest.pop_back();
    if (newest.empty() || newest.find('/') != std::string::npos || newest.front() == '.') return {};
    return models_of(find_files((repository / "snapshots" / newest).string()), Keeper::hugging_face,
                     fmt::format("huggingface:{}/", name));
}

std::vector<StoredModel> hugging_face_models(const std::string& folder) {
    std::vector<StoredModel> models;
    std::error_code failed;
    for (fs::directory_iterator entry(folder, fs::directory_options::skip_permission_denied, failed), end;
         !failed && entry != end; entry.increment(failed)) {
        if (!entry->path().filename().string().starts_with("models--")) continue;
        for (StoredModel& model : hugging_face_repository(entry->path())) models.push_back(std::move(model));
    }
    return models;
}

void add_models(std::vector<StoredModel> more, std::set<std::string>& paths,
                std::vector<StoredModel>& models) {
    for (StoredModel& model : more)
        if (model.complete && paths.insert(model.path()).second) models.push_back(std::move(model));
}

// The folder that LM Studio's own pointer names, and the two that its versions use.
std::vector<std::string> lm_studio_folders(const std::string& home) {
    std::vector<std::string> folders = {home + "/.lmstudio/models", home + "/.cache/lm-studio/models"};
    auto pointer = read_kept_text(home + "/.lmstudio-home-pointer", k_most_pointer_bytes);
    if (!pointer) return folders;
    while (!pointer->empty() && static_cast<unsigned char>(pointer->back()) <= ' ') pointer->pop_back();
    const std::string pointed = *pointer + "/models";
    if (pointer->starts_with('/') && std::find(folders.begin(), folders.end(), pointed) == folders.end())
        folders.push_back(pointed);
    return folders;
}

}  // namespace

ForeignFolders foreign_folders() {
    const std::string home = variable_or("HOME", "");
    const std::string cache = variable_or("XDG_CACHE_HOME", home + "/.cache");
    ForeignFolders folders;
    const std::string ollama = variable_or("OLLAMA_MODELS", "");
    if (!ollama.empty()) folders.ollama = {ollama};
    else folders.ollama = {home + "/.ollama/models", "/usr/share/ollama/.ollama/models"};
    folders.lm_studio = lm_studio_folders(home);
    folders.llama_cpp = variable_or("LLAMA_CACHE", cache + "/llama.cpp");
    folders.hugging_face =
        variable_or("HF_HUB_CACHE", variable_or("HF_HOME", cache + "/huggingface") + "/hub");
    return folders;
}

std::vector<StoredModel> foreign_models(const ForeignFolders& folders) {
    std::vector<StoredModel> models;
    std::set<std::string> paths;
    for (const std::string& folder : folders.ollama) add_models(ollama_models(folder), paths, models);
    for (const std::string& folder : folders.lm_studio)
        add_models(models_of(find_files(folder), Keeper::lm_studio, "lm-studio:"), paths, models);
    add_models(models_of(find_files(folders.llama_cpp), Keeper::llama_cpp, "llama.cpp:"), paths, models);
    add_models(hugging_face_models(folders.hugging_face), paths, models);
    return models;
}

}  // namespace ft
