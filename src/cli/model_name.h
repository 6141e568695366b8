// MODEL on a command line, and model.path: the path of a file, or a name of `freetoken list`.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "config/settings.h"
#include "hub/store.h"

namespace ft::cli {

// model.store, else the folder that XDG says. An error where the user has neither that nor a home.
Expected<std::string> store_folder(const Settings& settings);

// Everything that `list` shows: our own first.
Expected<std::vector<StoredModel>> known_models(const Settings& settings);

struct NamedModel {
    std::string path;
    std::string name = {};  // of the list, short_name(); "": it was given as a path or an address
};

// A path that exists is always meant as such, and so is an address; else the file of the one model of that
// name. What looks like a file's path and is no name comes back as it is, so that whoever opens it says what
// is wrong. A folder of safetensors weights is refused, and `pull` named. hf.co/ may stand before a name.
Expected<NamedModel> named_model(const std::string& word, const Settings& settings);

// An error where it is an address, for commands that read none: all but `plan`.
Status check_no_address(const std::string& path);

// The file of such a model, for commands that read no address.
Expected<std::string> model_path(const std::string& word, const Settings& settings);

// The same for commands without a configuration: settings of the environment count.
Expected<std::string> model_path(const std::string& word);

}  // namespace ft::cli
