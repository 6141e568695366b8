// Turns that programs take in a folder: an advisory lock (flock) on the folder itself, which leaves no file
// there. The system gives it up when its holder ends, however that happens.
//
// Where the file system has no such locks, or the folder cannot be opened, everybody gets one: turns save
// work, and nothing may go wrong without them.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ft {

class FolderLock {
 public:
    // Beside others that share it; nothing where somebody has it alone just now.
    static std::optional<FolderLock> share(const std::string& folder);

    // Has it alone. Where others have it, says so by one call of `waiting` and waits until they give it up
    // or end. A signal that ends the program ends it in this wait as well.
    static FolderLock take(const std::string& folder, const std::function<void()>& waiting);

    FolderLock(FolderLock&& other) noexcept;
    FolderLock& operator=(FolderLock&&) = delete;
    ~FolderLock();

 private:
    explicit FolderLock(const std::string& folder);
    int fd_ = -1;
};

}  // namespace ft
