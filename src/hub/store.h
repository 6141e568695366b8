// Models on this machine: our own store, and what other programs have downloaded already, which is used where
// it lies. The store is a folder:
//
//   OWNER/REPO/FILE.gguf          from a hub            ollama/OWNER/NAME/TAG.gguf    from Ollama's library
//   url/HOST/FILE.gguf            from any address      each with .part and .part.ranges until it is whole
//
// (An owner of the hub whose name is hub, ollama or url lies below hub/.)
// Nothing here opens a model; folders of others are only looked at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "hub/source.h"

namespace ft {

enum class Keeper { ours, ollama, lm_studio, llama_cpp, hugging_face };
const char* keeper_name(Keeper keeper);  // "freetoken", "ollama", "lm-studio", "llama.cpp", "huggingface"

struct StoredModel {
    std::string
        name;  // what commands take: "OWNER/REPO/FILE", "ollama:qwen3:30b-a3b", "lm-studio:OWNER/REPO/FILE"
    Keeper keeper = Keeper::ours;
    std::vector<std::string> files;  // paths; of a split model all parts in order
    uint64_t bytes = 0;              // of all files, or of an unfinished download: what it will have
    bool complete = true;
    uint64_t done = 0;      // of an unfinished download
    std::string word = {};  // of an unfinished download: what `freetoken pull` was given

    const std::string& path() const { return files.front(); }
};

// $XDG_DATA_HOME/freetoken/models, else ~/.local/share/freetoken/models; "" where there is neither.
std::string default_store();

// Where in the store a file of a source goes; `file` is a path that check_remote_path() has passed.
std::string store_path(const std::string& store, const ModelSource& source, const std::string& file);

// Of the store, finished or not, by name. A folder that is not there has none.
std::vector<StoredModel> own_models(const std::string& store);

// Folders of other programs.
struct ForeignFolders {
    std::vector<std::string> ollama;     // each holds manifests/ and blobs/
    std::vector<std::string> lm_studio;  // each holds OWNER/REPO/FILE.gguf
    std::string llama_cpp, hugging_face;
};
// By the variables that those programs look at (OLLAMA_MODELS, LLAMA_CACHE, HF_HUB_CACHE, HF_HOME,
// XDG_CACHE_HOME), else where they put things by default.
ForeignFolders foreign_folders();
std::vector<StoredModel> foreign_models(const ForeignFolders& folders);

// The model that a word means: its whole name, or an end or beginning of it that no other has, in small or
// large letters, with or without .gguf; OWNER/REPO:QUANT too. Of several the one in our own store. Errors:
// several models that fit, or none, with the nearest names.
Expected<StoredModel> find_model(std::string_view word, const std::vector<StoredModel>& models);

// What to call it where its keeper does not matter: its name without the keeper's prefix, where no other of
// the models has that.
std::string short_name(const StoredModel& model, const std::vector<StoredModel>& models);

// Removes a model of our own, its unfinished files too, and folders of the store that are empty then. Refuses
// one that is being downloaded.
Status remove_model(const std::string& store, const StoredModel& model);

}  // namespace ft
