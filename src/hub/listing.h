// What a server says it has, and which of its files make the model that was asked for. All of it is foreign:
// sizes, digests and names are checked before anything is done with them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "hub/http_client.h"
#include "hub/source.h"

namespace ft {

struct ListedFile {
    std::string path;  // in the repository; fit to be a path below a folder of ours
    uint64_t bytes = 0;
    std::string sha256 = {};  // "": the server does not say
};

struct Repository {
    std::vector<ListedFile> models;  // GGUF files that may be models
    bool has_other_weights = false;  // safetensors and the like
};

constexpr uint64_t k_largest_model_bytes = uint64_t{1} << 44;

// A relative path without "..", hidden files, control characters and names too long for a file system.
Status check_remote_path(std::string_view path);

// The answer of /api/models/OWNER/REPO/tree/REVISION?recursive=true, one page of it, added to `repository`.
Status add_tree_page(std::string_view json, Repository& repository);
// A manifest of Ollama's registry: its one model. `path` becomes the file's.
Expected<ListedFile> parse_manifest(std::string_view json, std::string path);

// All pages of the hub's list.
Expected<Repository> list_repository(const ModelSource& source, const HubServers& servers,
                                     const Patience& patience = {});
Expected<ListedFile> read_manifest(const ModelSource& source, const HubServers& servers,
                                   const Patience& patience = {});

// Files that are one model: one, or the parts of a split one, in order.
struct ModelFiles {
    std::string label;  // quant_label() of its name
    std::vector<ListedFile> files;
    uint64_t bytes() const;
    std::string name() const;  // of the first file
};

// The model that the source names: by its file, by its quantisation, or Q4_K_M. Errors list what there is.
Expected<ModelFiles> choose_model(const Repository& repository, const ModelSource& source);

}  // namespace ft
