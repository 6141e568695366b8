// A file that exists under a name of its own until it takes another: removed when it is given up, also when
// SIGINT, SIGTERM or SIGHUP ends the program meanwhile.
#pragma once

#include <memory>
#include <string>

namespace ft {

class TemporaryName {
 public:
    TemporaryName() = default;
    // The file is there already.
    explicit TemporaryName(std::string path);
    TemporaryName(TemporaryName&& other) noexcept = default;
    TemporaryName& operator=(TemporaryName&& other) noexcept;
    ~TemporaryName() { remove(); }

    bool empty() const { return path_ == nullptr; }
    const char* path() const { return path_->c_str(); }

    // The file has another name now: it stays.
    void forget();

 private:
    void remove();
    std::unique_ptr<const std::string> path_;  // the handler of signals keeps its address
};

}  // namespace ft
