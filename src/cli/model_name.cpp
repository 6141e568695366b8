#include "cli/model_name.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/system_error.h"
#include "hub/source.h"
#include "hub/url.h"

namespace ft::cli {

namespace {

bool is_absent(const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) != 0 && errno == ENOENT && ::lstat(path.c_str(), &info) != 0;
}

// ./x, ../x, /x, x.gguf, or no text at all: nobody would call a model that.
bool looks_like_path(const std::string& word) {
    return word.empty() || word.front() == '/' || word.front() == '.' || word.front() == '~' ||
           word.ends_with(".gguf");
}

// A model as it is trained with: a folder of safetensors files.
bool holds_safetensors(const std::string& folder) {
    std::error_code failed;
    for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end;
         at.increment(failed))
        if (at->path().extension() == ".safetensors") return true;
    return false;
}

// Something that is there, an address, or no text at all: nothing to look up.
bool is_place(const std::string& word) {
    return word.empty() || is_url(word) || word.find('\0') != std::string::npos || !is_absent(word);
}

Expected<NamedModel> at_place(const std::string& word) {
    if (!holds_safetensors(word)) return NamedModel{word};
    return Error{Code::unsupported,
                 fmt::format("{}: this is a folder of safetensors weights, not a GGUF file", path_text(word)),
                 "Get a GGUF file of the same model by `freetoken pull OWNER/REPO-GGUF`, or convert it."};
}

Error unfinished(const StoredModel& model) {
    return Error{Code::truncated,
                 fmt::format("{}: the download is not finished ({} of {} bytes)", printable(model.name),
                             model.done, model.bytes),
                 fmt::format("Go on with `freetoken pull {}`.", printable(model.word))};
}

}  // namespace

Expected<std::string> store_folder(const Settings& settings) {
    std::string folder = settings.has("model.store") ? settings.text("model.store") : default_store();
    if (folder.empty())
        return Error{Code::invalid, "there is no folder for models: HOME is not set",
                     "Name one by model.store, as --set model.store=FOLDER."};
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    return folder;
}

Expected<std::vector<StoredModel>> known_models(const Settings& settings) {
    const auto store = store_folder(settings);
    if (!store) return store.error();
    std::vector<StoredModel> models = own_models(*store);
    for (StoredModel& model : foreign_models(foreign_folders())) models.push_back(std::move(model));
    return models;
}

Expected<NamedModel> named_model(const std::string& word, const Settings& settings) {
    if (is_place(word)) return at_place(word);
    const auto models = known_models(settings);
    if (!models) return looks_like_path(word) ? Expected(NamedModel{word}) : models.error();
    const auto model = find_model(without_hub_host(word), *models);
    if (!model && model.error().code == Code::not_found && looks_like_path(word)) return NamedModel{word};
    if (!model) return model.error();
    if (!model->complete) return unfinished(*model);
    return NamedModel{model->path(), short_name(*model, *models)};
}

Status check_no_address(const std::string& path) {
    if (!is_url(path)) return {};
    const std::string shown = printable(shown_url(path));
    return Error{Code::unsupported,
                 fmt::format("{}: this command takes a file of this machine, not an address", shown),
                 fmt::format("`freetoken pull {}` fetches it; only `plan` reads an address.", shown)};
}

Expected<std::string> model_path(const std::string& word, const Settings& settings) {
    if (const Status s = check_no_address(word); !s) return s.error();
    Expected<NamedModel> model = named_model(word, settings);
    if (!model) return model.error();
    return std::move(model->path);
}

Expected<std::string> model_path(const std::string& word) {
    if (const Status s = check_no_address(word); !s) return s.error();
    if (is_place(word)) {
        Expected<NamedModel> model = at_place(word);
        if (!model) return model.error();
        return std::move(model->path);
    }
    const auto settings = load_settings({.environment = process_environment()});
    if (!settings) return settings.error();
    return model_path(word, *settings);
}

}  // namespace ft::cli
