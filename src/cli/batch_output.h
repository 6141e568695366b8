// The output of `batch`: one line for each line of the input that is done, added as it is done. What an
// earlier run left is kept, so that a run that was ended, by kill -9 too, goes on where it was.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/error.h"

namespace ft::cli {

class BatchOutput {
 public:
    // Reads what is there; a file that is not there is empty. Changes nothing. Errors: the folder is missing,
    // the file holds other things than lines of `batch`.
    static Expected<BatchOutput> inspect(const std::string& path);

    BatchOutput(BatchOutput&& other) noexcept;
    BatchOutput& operator=(BatchOutput&&) = delete;
    ~BatchOutput();

    // Opens it for writing; a last line that was not written whole is cut off. An error: it cannot be
    // written, or another program does.
    Status begin();

    // Whether line `number` of the input is done. An error: what stands there has another custom_id, so it is
    // the output of another input.
    Expected<bool> has(int64_t number, const std::string& custom_id) const;

    // "batch_req_7": the id of a line of the output, by the number of its line of the input.
    static std::string id_of(int64_t number);

    Status append(const nlohmann::ordered_json& line);

    int64_t n_done() const { return static_cast<int64_t>(done_.size()); }
    int64_t n_failed() const { return n_failed_; }

 private:
    explicit BatchOutput(std::string path) : path_(std::move(path)) {}
    Status read_earlier();
    Status take_line(const std::string& text, int64_t number);
    Error failure(const char* what) const;

    std::string path_;
    std::unordered_map<int64_t, uint64_t> done_;  // number of a line -> hash of its custom_id
    int64_t n_failed_ = 0;
    uint64_t whole_bytes_ = 0;  // of the lines that are whole
    int fd_ = -1;
};

}  // namespace ft::cli
