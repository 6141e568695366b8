// Ends a text at the first of some stop texts, wherever the pieces that it comes in are cut.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ft {

class StopFilter {
 public:
    // Empty stop texts are none.
    explicit StopFilter(std::vector<std::string> stops);

    // What may be shown of the text so far: all but its end where that may begin a stop text. Once a stop
    // text is complete, what stood before it, and nothing more ever. Of several, the one that is complete
    // first counts, of these the longest: what is shown does not depend on the cuts.
    std::string push(std::string_view piece);

    // What still waits, at the end of the text. Then the filter is as new.
    std::string finish();

    bool stopped() const { return !stop_.empty(); }
    const std::string& stop_text() const { return stop_; }  // "" until stopped()

 private:
    bool find_stop();
    size_t held_back() const;

    std::vector<std::string> stops_;
    std::string waiting_;  // shorter than the longest stop text between calls
    std::string stop_;
};

}  // namespace ft
