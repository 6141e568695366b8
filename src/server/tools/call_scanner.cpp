#include "server/tools/call_scanner.h"

#include <algorithm>

namespace ft {

namespace {

constexpr std::string_view k_name_keys[] = {"name", "function", "tool", "tool_name", "function_name"};
constexpr std::string_view k_argument_keys[] = {"arguments", "parameters", "args", "input"};
constexpr std::string_view k_wrapper_keys[] = {"function", "tool_call", "function_call"};
constexpr std::string_view k_list_key = "tool_calls";
constexpr std::string_view k_other_keys[] = {"type", "id", "call_id", "index"};

template <size_t N>
bool is_one_of(std::string_view key, const std::string_view (&keys)[N]) {
    return std::find(std::begin(keys), std::end(keys), key) != std::end(keys);
}

// The text of a JSON string.
std::string decoded(const std::string& json) {
    const auto value = nlohmann::ordered_json::parse(json, nullptr, false);
    return value.is_string() ? value.get<std::string>() : json;
}

// Arguments that were written as a text: the object in it, or the text.
std::string unpacked(const std::string& json) {
    const std::string text = decoded(json);
    const size_t start = text.find_first_not_of(" \t\r\n");
    if (start == std::string::npos) return "{}";
    if (text[start] != '{') return json;
    std::string out;
    JsonMender mender;
    mender.push(text, out);
    mender.finish(out);
    return out;
}

}  // namespace

size_t CallScanner::push(std::string_view text) {
    std::string json;
    size_t at = 0;
    while (at < text.size() && !mender_.done() && verdict_ != Verdict::none) {
        json.clear();
        at += mender_.push(text.substr(at, 1), json);
        for (const char c : json) see(c);
        if (mender_.done() && verdict_ == Verdict::open) verdict_ = Verdict::none;
    }
    return at;
}

void CallScanner::finish() {
    finishing_ = true;
    std::string json;
    mender_.finish(json);
    for (const char c : json) see(c);
    if (verdict_ == Verdict::open) verdict_ = Verdict::none;
}

void CallScanner::see(char c) {
    if (in_text_) return see_in_text(c);
    if (arguments_depth_ > 0 && c != '{' && c != '[' && c != '}' && c != ']') {
        in_text_ = c == '"';
        return argue({&c, 1});
    }
    switch (c) {
        case '"':
            in_text_ = true;
            text_ = c;
            break;
        case '{':
        case '[':
            open(c);
            break;
        case '}':
        case ']':
            close(c);
            break;
        case ',':
            end_scalar();
            if (!frames_.empty() && frames_.back().object) frames_.back().at_key = true;
            break;
        case ':':
        case ' ':
            break;
        default:
            scalar_ += c;
    }
}

void CallScanner::see_in_text(char c) {
    if (arguments_depth_ > 0) argue({&c, 1});
    else text_ += c;
    if (escaped_) escaped_ = false;
    else if (c == '\\') escaped_ = true;
    else if (c == '"') {
        in_text_ = false;
        if (arguments_depth_ == 0) end_text();
    }
}

bool CallScanner::at_arguments() const {
    if (frames_.empty() || argued_) return false;  // the first ones count
    const Frame& frame = frames_.back();
    return (frame.role == Role::call || frame.role == Role::part_of_call) &&
           is_one_of(frame.key, k_argument_keys);
}

CallScanner::Role CallScanner::role_of_child(char bracket) const {
    if (frames_.empty()) return bracket == '{' ? Role::call : Role::list;
    const Frame& parent = frames_.back();
    if (parent.role == Role::list) return bracket == '{' ? Role::call : Role::other;
    if (parent.role == Role::other) return Role::other;
    if (bracket == '{') return is_one_of(parent.key, k_wrapper_keys) ? Role::part_of_call : Role::other;
    return parent.key == k_list_key ? Role::list : Role::other;
}

void CallScanner::open(char c) {
    if (arguments_depth_ > 0 || at_arguments()) {
        arguments_depth_++;
        return argue({&c, 1});
    }
    const Role role = role_of_child(c);
    frames_.push_back({role, c == '{', c == '{', ""});
    if (role == Role::call) begin_call();
}

void CallScanner::close(char c) {
    if (arguments_depth_ > 0) {
        arguments_depth_--;
        return argue({&c, 1});
    }
    end_scalar();
    const Role role = frames_.back().role;
    frames_.pop_back();
    if (role == Role::call) end_call();
}

void CallScanner::end_text() {
    if (frames_.empty()) return;
    Frame& frame = frames_.back();
    if (frame.object && frame.at_key) return see_key(decoded(text_));
    if (at_arguments()) return argue(unpacked(text_));
    const bool of_call = frame.role == Role::call || frame.role == Role::part_of_call;
    if (of_call && is_one_of(frame.key, k_name_keys)) name_call(decoded(text_));
    else if (frame.role == Role::list && known_ && verdict_ == Verdict::open) verdict_ = Verdict::none;
}

void CallScanner::see_key(std::string key) {
    Frame& frame = frames_.back();
    frame.at_key = false;
    frame.key = std::move(key);
    const bool expected = is_one_of(frame.key, k_name_keys) || is_one_of(frame.key, k_argument_keys) ||
                          is_one_of(frame.key, k_wrapper_keys) || is_one_of(frame.key, k_other_keys) ||
                          frame.key == k_list_key;
    // An object with a description, say, is a function that is told of, no call.
    const bool of_call = frame.role == Role::call || frame.role == Role::part_of_call;
    if (known_ && verdict_ == Verdict::open && of_call && !expected) verdict_ = Verdict::none;
}

void CallScanner::end_scalar() {
    if (scalar_.empty()) return;
    const std::string scalar = std::exchange(scalar_, "");
    if (at_arguments()) argue(scalar == "null" ? "{}" : scalar);
}

void CallScanner::begin_call() {
    call_open_ = true;
    begun_ = argued_ = false;
    name_.clear();
    early_.clear();
}

void CallScanner::argue(std::string_view text) {
    if (!argued_ && !begun_ && !name_.empty()) tell_begin();
    argued_ = true;
    if (begun_) {
        if (events_.empty() || events_.back().kind != CallEvent::Kind::arguments)
            events_.push_back({CallEvent::Kind::arguments, ""});
        events_.back().text += text;
    } else {
        early_ += text;
    }
}

void CallScanner::name_call(std::string name) {
    if (begun_ || !name_.empty()) return;
    name_ = std::move(name);
    if (argued_) tell_begin();
}

void CallScanner::tell_begin() {
    if (known_ && verdict_ == Verdict::open && !known_->find(name_)) {
        verdict_ = Verdict::none;
        return;
    }
    verdict_ = Verdict::call;
    begun_ = true;
    events_.push_back({CallEvent::Kind::begin, name_});
    if (!early_.empty()) events_.push_back({CallEvent::Kind::arguments, std::exchange(early_, "")});
}

void CallScanner::end_call() {
    if (!call_open_) return;
    // A name that the end of the text has cut is none.
    if (!begun_ && !name_.empty() && !finishing_) tell_begin();
    if (begun_) {
        if (!argued_) events_.push_back({CallEvent::Kind::arguments, "{}"});
        events_.push_back({CallEvent::Kind::end, ""});
    }
    call_open_ = false;
}

}  // namespace ft
