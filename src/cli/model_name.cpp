#include "cli/model_name.h"

#include <sys/stat.h>

#include <cerrno>

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

Expected<std::string> model_path(const std::string& word, const Settings& settings) {
    if (word.empty() || is_url(word) || word.find('\0') != std::string::npos || !is_absent(word)) return word;
    const auto models = known_models(settings);
    if (!models) return looks_like_path(word) ? Expected(word) : models.error();
    const auto model = find_model(word, *models);
    if (!model && model.error().code == Code::not_found && looks_like_path(word)) return word;
    if (!model) return model.error();
    if (!model->complete) return unfinished(*model);
    return model->path();
}

Expected<std::string> model_path(const std::string& word) {
    if (word.empty() || !is_absent(word)) return word;
    const auto settings = load_settings({.environment = process_environment()});
    if (!settings) return settings.error();
    return model_path(word, *settings);
}

}  // namespace ft::cli
