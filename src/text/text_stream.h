// Token ids one by one to text that can be shown at once: always whole characters.
#pragma once

#include <cstdint>
#include <string>

#include "text/tokenizer.h"

namespace ft {

class TextStream {
 public:
    TextStream(const Tokenizer& tokenizer, bool show_special)
        : tokenizer_(tokenizer), show_special_(show_special) {}

    // The text that this token completes, valid UTF-8. Bytes that may be the beginning of a character wait;
    // those that cannot become one are U+FFFD.
    std::string push(int32_t id);

    // What waits at the end: U+FFFD for an unfinished character. Then the stream is as new.
    std::string finish();

 private:
    const Tokenizer& tokenizer_;
    bool show_special_;
    bool started_ = false;  // some byte has come
    std::string waiting_;   // at most 3 bytes between calls
};

}  // namespace ft
