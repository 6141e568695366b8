// What `serve` tells its clients of the model, from the file's header.
#pragma once

#include <string>

#include "base/error.h"
#include "cli/model_flags.h"
#include "server/model_lists.h"

namespace ft {
class ChatTemplate;
}

namespace ft::cli {

// model.served_model_name, else the name of `freetoken list` that the model was given by, else the file's
// name without its ending.
std::string served_name(const ModelChoice& choice);

// The digest stands for the model: SHA-256 of the headers and lengths of all its files. To read 20 GB for it
// would take longer than loading them. chat_template: the one in use, nullptr where there is
// none. Errors are those of Gguf::open.
Expected<ServedModelInfo> served_model_info(std::string name, const std::string& path,
                                            const ChatTemplate* chat_template);

}  // namespace ft::cli
