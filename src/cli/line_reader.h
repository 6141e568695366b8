// The lines of a file, one at a time: a file may be much larger than memory, and no line longer than a bound.
#pragma once

#include <memory>
#include <string>

#include "io/file.h"

namespace ft::cli {

class LineReader {
 public:
    static Expected<LineReader> open(const std::string& path, size_t longest);

    enum class Got {
        line,
        unfinished,  // the last line, which has no newline
        too_long,    // a line over the bound, which was passed over
        end,
    };
    // `line` is without its newline, and empty where it was too long.
    Expected<Got> next(std::string& line);

    int64_t number() const { return number_; }   // of the line that next() gave, from 1
    uint64_t offset() const { return offset_; }  // where the next line begins
    uint64_t size() const { return file_->size(); }

 private:
    LineReader(std::unique_ptr<File> file, size_t longest) : file_(std::move(file)), longest_(longest) {}
    Status fill();

    std::unique_ptr<File> file_;
    size_t longest_;
    std::string block_;
    size_t at_ = 0;        // in block_
    uint64_t offset_ = 0;  // of block_[at_] in the file
    int64_t number_ = 0;
};

}  // namespace ft::cli
