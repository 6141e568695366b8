// The text of one answer from its token ids, as far as it may be shown: whole characters, ended by a stop
// text.
#pragma once

#include "text/stop_filter.h"
#include "text/text_stream.h"

namespace ft {

class AnswerText {
 public:
    // show_special: control tokens show as their text. The tokenizer must outlive this.
    AnswerText(const Tokenizer& tokenizer, bool show_special, std::vector<std::string> stops)
        : stream_(tokenizer, show_special), filter_(std::move(stops)) {}

    std::string push(int32_t id) { return filter_.push(stream_.push(id)); }

    // What waits at the end: an unfinished character as U+FFFD, what only began a stop text. It may complete
    // one.
    std::string finish() {
        std::string text = filter_.push(stream_.finish());
        if (!filter_.stopped()) text += filter_.finish();
        return text;
    }

    bool stopped() const { return filter_.stopped(); }
    const std::string& stop_text() const { return filter_.stop_text(); }

 private:
    TextStream stream_;
    StopFilter filter_;
};

}  // namespace ft
