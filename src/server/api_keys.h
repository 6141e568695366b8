// The keys that clients must show, from a file with one a line.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ft {

class ApiKeys {
 public:
    // path: "" where no key is needed. Blank lines and lines that begin with # are passed over. Errors: a
    // file that cannot be read, or holds no key.
    static Expected<std::unique_ptr<ApiKeys>> load(std::string path);

    bool needed() const { return !path_.empty(); }
    // Takes as long for any key of one length, whatever the right ones are. Any thread.
    bool accepts(std::string_view key) const;
    // Reads the file again; after an error the keys are those from before.
    Status reload();
    size_t size() const;

 private:
    explicit ApiKeys(std::string path) : path_(std::move(path)) {}

    const std::string path_;
    mutable std::mutex mutex_;  // guards keys_
    std::vector<std::string> keys_;
};

// The key of an Authorization header of the form "Bearer KEY"; "" where it is none.
std::string_view bearer_key(std::string_view authorization);

}  // namespace ft
