#include "hub/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/ascii.h"
#include "base/system_error.h"
#include "config/nearest_name.h"
#include "hub/part_file.h"
#include "hub/quant_label.h"
#include "hub/store_files.h"
#include "hub/url.h"

namespace ft {

namespace {

namespace fs = std::filesystem;

constexpr size_t k_most_named = 5;  // models in a sentence

// The name without what says whose it is.
std::string bare_name(const StoredModel& model) {
    if (model.keeper == Keeper::ours) return model.name;
    return model.name.substr(model.name.find(':') + 1);
}

bool is_border(char c) { return c == '/' || c == ':'; }

// Whether the word is the whole name, or begins or ends it at a border.
bool fits(std::string_view name, std::string_view word) {
    if (word.empty() || word.size() > name.size()) return false;
    if (name == word) return true;
    const bool ends = name.ends_with(word) && is_border(name[name.size() - word.size() - 1]);
    const bool begins = name.starts_with(word) && is_border(name[word.size()]);
    return ends || begins;
}

// OWNER/REPO:QUANT
bool fits_quant(const std::string& name, const std::string& word) {
    const size_t colon = word.rfind(':');
    if (colon == std::string::npos || !name.starts_with(word.substr(0, colon) + "/")) return false;
    const std::string label = quant_label(name);
    const std::string wanted = normal_label(word.substr(colon + 1));
    return label == wanted || label == "UD-" + wanted;
}

bool means(const StoredModel& model, const std::string& word) {
    const std::string name = ascii_lower(bare_name(model));
    return fits(name, word) || fits(ascii_lower(model.name), word) || fits_quant(name, word);
}

// Owners whose folder would be one of the store's own.
bool is_reserved(std::string_view owner) { return owner == "hub" || owner == "ollama" || owner == "url"; }

std::string names_text(const std::vector<const StoredModel*>& models) {
    std::string text;
    for (size_t i = 0; i < std::min(models.size(), k_most_named); i++)
        text += fmt::format("{}{}", i ? ", " : "", printable(models[i]->name));
    if (models.size() > k_most_named) text += fmt::format(" and {} more", models.size() - k_most_named);
    return text;
}

// "Did you mean NAME?", whatever the size of the letters; "" where none is near.
std::string nearest_model(std::string_view word, const std::vector<StoredModel>& models) {
    std::vector<std::string> names, small;
    for (const StoredModel& model : models) {
        const std::string bare = bare_name(model);
        for (const std::string& name : {model.name, bare, bare.substr(bare.rfind('/') + 1)}) {
            names.push_back(name);
            small.push_back(ascii_lower(name));
        }
    }
    const std::string nearest = nearest_name(ascii_lower(word), small);
    const auto at = std::find(small.begin(), small.end(), nearest);
    if (nearest.empty() || at == small.end()) return "";
    return fmt::format("Did you mean {}?", printable(names[static_cast<size_t>(at - small.begin())]));
}

// Those that hold the word first, else the nearest by letters.
Error unknown_model(std::string_view word, const std::vector<StoredModel>& models) {
    std::vector<const StoredModel*> near;
    for (const StoredModel& model : models)
        if (ascii_lower(model.name).find(ascii_lower(word)) != std::string::npos) near.push_back(&model);
    std::string remedy = near.empty() ? nearest_model(word, models) : "Near: " + names_text(near) + ".";
    if (!remedy.empty()) remedy += ' ';
    return Error{Code::not_found, fmt::format("{}: no file and no model has this name", printable(word)),
                 remedy + "`freetoken list` shows the models that are here, `freetoken pull` gets one."};
}

}  // namespace

const char* keeper_name(Keeper keeper) {
    switch (keeper) {
        case Keeper::ours:
            return "freetoken";
        case Keeper::ollama:
            return "ollama";
        case Keeper::lm_studio:
            return "lm-studio";
        case Keeper::llama_cpp:
            return "llama.cpp";
        case Keeper::hugging_face:
            return "huggingface";
    }
    return "";
}

std::string default_store() {
    const char* data = std::getenv("XDG_DATA_HOME");
    if (data != nullptr && *data == '/') return fmt::format("{}/freetoken/models", data);
    const char* home = std::getenv("HOME");
    return home != nullptr && *home != '\0' ? fmt::format("{}/.local/share/freetoken/models", home) : "";
}

std::string store_path(const std::string& store, const ModelSource& source, const std::string& file) {
    switch (source.kind) {
        case ModelSource::Kind::hub:
            return fmt::format("{}{}/{}/{}/{}", store, is_reserved(source.owner) ? "/hub" : "", source.owner,
                               source.name, file);
        case ModelSource::Kind::ollama:
            return fmt::format("{}/ollama/{}/{}/{}", store, source.owner, source.name, file);
        case ModelSource::Kind::url:
            break;
    }
    const auto url = parse_url(source.url);
    std::string host = url ? url->host : "";
    std::replace(host.begin(), host.end(), ':', '_');
    return fmt::format("{}/url/{}/{}", store, host, file);
}

std::vector<StoredModel> own_models(const std::string& store) {
    std::vector<StoredModel> models = models_of(find_files(store), Keeper::ours, "");
    for (StoredModel& model : models) {
        // as they were asked for: "ollama/library/qwen3/30b-a3b" is qwen3:30b-a3b
        constexpr std::string_view library = "ollama/library/", ollama = "ollama/";
        const bool of_library = model.name.starts_with(library);
        if (!of_library && !model.name.starts_with(ollama)) continue;
        model.name.erase(0, of_library ? library.size() : ollama.size());
        const size_t slash = model.name.rfind('/');
        if (slash != std::string::npos) model.name[slash] = ':';
    }
    return models;
}

Expected<StoredModel> find_model(std::string_view word, const std::vector<StoredModel>& models) {
    std::string wanted = ascii_lower(word);
    if (wanted.ends_with(".gguf")) wanted.erase(wanted.size() - 5);
    std::vector<const StoredModel*> exact, ours, all;
    for (const StoredModel& model : models) {
        const bool same = model.name == word || ascii_lower(model.name) == wanted ||
                          ascii_lower(bare_name(model)) == wanted + ":latest";
        if (same) exact.push_back(&model);
        if (!same && !means(model, wanted)) continue;
        all.push_back(&model);
        if (model.keeper == Keeper::ours) ours.push_back(&model);
    }
    for (const auto* found : {&exact, &ours, &all})
        if (found->size() == 1) return *found->front();
    if (all.empty()) return unknown_model(word, models);
    return Error{Code::invalid, fmt::format("{}: {} models fit this name", printable(word), all.size()),
                 fmt::format("Write more of it: {}.", names_text(all))};
}

std::string short_name(const StoredModel& model, const std::vector<StoredModel>& models) {
    std::string bare = bare_name(model);
    const auto n = std::count_if(models.begin(), models.end(), [&](const StoredModel& other) {
        return same_in_any_case(bare_name(other), bare);
    });
    return n > 1 ? model.name : bare;
}

Status remove_model(const std::string& store, const StoredModel& model) {
    check(model.keeper == Keeper::ours, "a model of another program is to be removed");
    std::vector<int> locks;
    bool busy = false;
    for (const std::string& file : model.files) {
        const int fd = ::open(part_path(file).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0) continue;
        locks.push_back(fd);
        busy = busy || ::flock(fd, LOCK_EX | LOCK_NB) != 0;
    }
    Status outcome;
    if (busy)
        outcome = Error{Code::io, fmt::format("{}: it is being downloaded", printable(model.name)),
                        "End that download first."};
    for (const std::string& file : model.files) {
        if (!outcome) break;
        if (::unlink(file.c_str()) != 0 && errno != ENOENT) outcome = system_error(file, "remove", errno);
        ::unlink(part_path(file).c_str());
        ::unlink(ranges_path(file).c_str());
        std::error_code failed;
        const fs::path top = fs::path(store).lexically_normal();
        for (fs::path folder = fs::path(file).lexically_normal().parent_path();
             folder != top && folder.string().size() > top.string().size() && fs::remove(folder, failed);)
            folder = folder.parent_path();
    }
    for (const int fd : locks) ::close(fd);
    return outcome;
}

}  // namespace ft
