#include "server/tools/xml_call.h"

#include "server/tools/tag_search.h"
#include "server/tools/typed_value.h"

namespace ft {

namespace {

constexpr std::string_view k_function_open = "<function", k_function_close = "</function>";
constexpr std::string_view k_parameter_open = "<parameter", k_parameter_close = "</parameter>";
constexpr std::string_view k_call_close = "</tool_call>";
constexpr std::string_view k_xml_blanks = " \t\r\n";

// What is named in "<function=NAME>" or "<function name="NAME">", from between the tag's word and its end.
std::string named_in_tag(std::string_view inside) {
    const auto drop = [&](std::string_view of) {
        while (!inside.empty() && of.find(inside.front()) != std::string_view::npos) inside.remove_prefix(1);
        while (!inside.empty() && of.find(inside.back()) != std::string_view::npos) inside.remove_suffix(1);
    };
    drop(" \t\r\n");
    if (inside.starts_with("name=") || inside.starts_with("name ")) inside.remove_prefix(4);
    drop(" \t\r\n=\"'");
    return std::string(inside);
}

// A value of which the closing tag is missing ends where the next tag begins a line.
constexpr std::string_view k_value_ends[] = {"</parameter>", "\n</function>",
                                             "\n<parameter=", "\n</tool_call>"};

struct ValueEnd {
    size_t at = std::string_view::npos;
    size_t size = 0;  // of the tag that is taken with it
};

ValueEnd find_value_end(std::string_view text) {
    ValueEnd first;
    for (const std::string_view tag : k_value_ends)
        if (const size_t at = text.find(tag); at < first.at)
            first = {at, tag == k_parameter_close ? tag.size() : 0};
    return first;
}

void tell_arguments(std::string text, std::vector<CallEvent>& events) {
    events.push_back({CallEvent::Kind::arguments, std::move(text)});
}

}  // namespace

void XmlCall::read(std::string& waiting, bool at_end, std::vector<CallEvent>& events) {
    bool more = true;
    while (more && !done()) {
        switch (state_) {
            case State::function:
                more = read_function(waiting, at_end, events);
                break;
            case State::between:
                more = read_between(waiting, at_end, events);
                break;
            default:
                more = read_value(waiting, at_end, events);
        }
    }
    if (at_end && !done() && state_ != State::function) {
        end(events);
        waiting.clear();
    }
}

bool XmlCall::read_function(std::string& waiting, bool at_end, std::vector<CallEvent>& events) {
    const size_t close = waiting.find('>');
    if (close == std::string::npos) return false;  // whoever calls this has seen it
    std::string name = named_in_tag(
        std::string_view(waiting).substr(k_function_open.size(), close - k_function_open.size()));
    waiting.erase(0, close + 1);
    tool_ = rules_.find(name);
    events.push_back({CallEvent::Kind::begin, std::move(name)});
    tell_arguments("{", events);
    state_ = State::between;
    return at_end || !waiting.empty();
}

bool XmlCall::read_between(std::string& waiting, bool at_end, std::vector<CallEvent>& events) {
    waiting.erase(0, std::min(waiting.find_first_not_of(k_xml_blanks), waiting.size()));
    if (waiting.empty()) return false;
    if (waiting.starts_with(k_function_close)) {
        waiting.erase(0, k_function_close.size());
        end(events);
        return true;
    }
    if (waiting.starts_with(k_function_open) || waiting.starts_with(k_call_close)) return end(events), true;
    if (waiting.starts_with(k_parameter_open)) {
        const size_t close = waiting.find('>');
        if (close == std::string::npos) return false;
        std::string key = named_in_tag(
            std::string_view(waiting).substr(k_parameter_open.size(), close - k_parameter_open.size()));
        waiting.erase(0, close + 1);
        begin_parameter(std::move(key), events);
        return true;
    }
    for (const std::string_view tag : {k_function_close, k_function_open, k_call_close, k_parameter_open})
        if (!at_end && tag.starts_with(waiting)) return false;
    // Words between the parameters belong to nothing.
    const size_t next = waiting.find('<', 1);
    waiting.erase(0, std::min(next, waiting.size()));
    return true;
}

void XmlCall::begin_parameter(std::string key, std::vector<CallEvent>& events) {
    types_ = tool_ ? types_of(tool_->parameters, key) : std::vector<std::string>();
    as_it_comes_ = types_.empty() || (types_.size() == 1 && types_[0] == "string");
    at_start_ = true;
    value_.clear();
    std::string text = n_parameters_++ ? ", \"" : "\"";
    text += json_escaped(key) + (as_it_comes_ ? "\": \"" : "\": ");
    tell_arguments(std::move(text), events);
    state_ = State::value;
}

bool XmlCall::read_value(std::string& waiting, bool at_end, std::vector<CallEvent>& events) {
    if (at_start_) {  // the line end after the tag is no part of the value
        if (waiting.empty() || (waiting == "\r" && !at_end)) {
            if (!at_end) return false;
        } else if (waiting.starts_with("\r\n")) {
            waiting.erase(0, 2);
        } else if (waiting[0] == '\n' && !find_value_end(waiting).at) {
            // "\n</function>" ends an empty value
        } else if (waiting[0] == '\n') {
            if (!at_end && begun_tag_size(waiting, {"\n</function>", "\n<parameter=", "\n</tool_call>"}) ==
                               waiting.size())
                return false;
            waiting.erase(0, 1);
        }
        at_start_ = false;
    }
    const ValueEnd value_end = find_value_end(waiting);
    if (value_end.at == std::string_view::npos) {
        // The line end before the closing tag is no part of the value either.
        size_t keep = begun_tag_size(waiting, {"\r\n</parameter>", "\n</parameter>", "</parameter>",
                                               "\n</function>", "\n<parameter=", "\n</tool_call>"});
        if (at_end) keep = 0;
        const std::string_view text = std::string_view(waiting).substr(0, waiting.size() - keep);
        tell_value(text, at_end, events);
        waiting.erase(0, text.size());
        return false;
    }
    std::string_view text = std::string_view(waiting).substr(0, value_end.at);
    if (value_end.size > 0 && text.ends_with('\n')) text.remove_suffix(text.ends_with("\r\n") ? 2 : 1);
    tell_value(text, true, events);
    waiting.erase(0, value_end.at + value_end.size);
    state_ = State::between;
    return true;
}

void XmlCall::tell_value(std::string_view text, bool complete, std::vector<CallEvent>& events) {
    if (as_it_comes_) {
        std::string out = json_escaped(text);
        if (complete) out += '"';
        if (!out.empty()) tell_arguments(std::move(out), events);
    } else {
        value_ += text;
        if (complete) tell_arguments(typed_value(types_, value_), events);
    }
    if (complete) state_ = State::between;
}

void XmlCall::end(std::vector<CallEvent>& events) {
    tell_arguments("}", events);
    events.push_back({CallEvent::Kind::end, ""});
    state_ = State::done;
}

}  // namespace ft
