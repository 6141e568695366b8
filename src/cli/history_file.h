// What was typed in earlier chats: a file of the user's alone, one entry a line after a first line that names
// the format; newlines and backslashes of an entry are escaped. Chats that run at once only append, so none
// loses what another wrote, and a full drive loses the newest entry, not the older ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ft::cli {

constexpr size_t k_history_entries = 1000;

class HistoryFile {
 public:
    // "": none; nothing is read and nothing kept.
    explicit HistoryFile(std::string path) : path_(std::move(path)) {}

    // The newest entries, oldest first, k_history_entries at most; a file that has grown to much more is cut
    // to them. Errors here and below: the path is a link, no regular file, another user's, or a file of
    // another kind: then it is left as it is.
    Expected<std::vector<std::string>> read();

    // Entries of over 16 KiB are left out.
    Status append(std::string_view entry);

 private:
    std::string path_;
};

}  // namespace ft::cli
