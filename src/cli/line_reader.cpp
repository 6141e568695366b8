#include "cli/line_reader.h"

#include <algorithm>

namespace ft::cli {

namespace {

constexpr uint64_t k_read_bytes = 1 << 20;

}  // namespace

Expected<LineReader> LineReader::open(const std::string& path, size_t longest) {
    Expected<std::unique_ptr<File>> file = File::open(path);
    if (!file) return file.error();
    return LineReader(std::move(*file), longest);
}

Status LineReader::fill() {
    block_.resize(static_cast<size_t>(std::min(k_read_bytes, size() - offset_)));
    at_ = 0;
    return file_->read_at(offset_, std::as_writable_bytes(std::span(block_)));
}

Expected<LineReader::Got> LineReader::next(std::string& line) {
    line.clear();
    if (offset_ == size()) return Got::end;
    number_++;
    bool too_long = false, ended = false;
    while (!ended && offset_ < size()) {
        if (at_ == block_.size())
            if (const Status filled = fill(); !filled) return filled.error();
        const size_t newline = block_.find('\n', at_);
        ended = newline != std::string::npos;
        const size_t end = ended ? newline : block_.size();
        too_long = too_long || line.size() + (end - at_) > longest_;
        if (!too_long) line.append(block_, at_, end - at_);
        offset_ += end - at_ + (ended ? 1 : 0);
        at_ = end + (ended ? 1 : 0);
    }
    if (too_long) {
        line.clear();
        return Got::too_long;
    }
    return ended ? Got::line : Got::unfinished;
}

}  // namespace ft::cli
