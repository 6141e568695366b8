// Model files below a folder, for whoever lists a store.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hub/store.h"

namespace ft {

struct FoundFile {
    std::string path;
    std::string relative;  // to the folder that was walked
    uint64_t bytes = 0;
    bool part = false;  // FILE.gguf.part, under the name that it will have
};

// GGUF files that may be models, by rising path: bounded in depth and number, no linked folder is entered,
// what may not be read is passed over.
std::vector<FoundFile> find_files(const std::string& folder);

// One model for each file, or for each split one. A split one of which a part is missing is left out, unless
// something of it is still being downloaded.
std::vector<StoredModel> models_of(const std::vector<FoundFile>& files, Keeper keeper,
                                   std::string_view prefix);

// "model" of "model-00001-of-00003.gguf" and of "model.gguf"
std::string model_stem(const std::string& path);

}  // namespace ft
