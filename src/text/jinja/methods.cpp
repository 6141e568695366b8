#include "text/jinja/methods.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/error.h"
#include "base/utf8.h"
#include "text/jinja/code_points.h"
#include "text/jinja/format.h"
#include "text/jinja/heap.h"
#include "text/jinja/operators.h"
#include "text/jinja/search.h"
#include "text/jinja/show.h"

namespace ft::jinja {

namespace {

// Results cut from a string stay marked safe when it was.
Value like(Heap& heap, const Value& self, std::string text) {
    return heap.string(std::move(text), self.string_object().markup);
}

Value strings(Heap& heap, const Value& self, const std::vector<std::string_view>& parts) {
    heap.check_items(parts.size());
    std::vector<Value> items;
    items.reserve(parts.size());
    for (const std::string_view part : parts) items.push_back(like(heap, self, std::string(part)));
    return heap.list(std::move(items));
}

template <std::string (*change)(std::string_view)>
Value recased(Heap& heap, const Value& self, const Arguments& given) {
    const Parameters none("this method", given, {});
    heap.work_on_characters(self.text().size());
    return like(heap, self, change(self.text()));
}

template <bool (*property)(std::string_view)>
Value asked(Heap& heap, const Value& self, const Arguments& given) {
    const Parameters none("this method", given, {});
    heap.work_on_characters(self.text().size());
    return Value::boolean(property(self.text()));
}

bool printable_text(std::string_view text) {
    bool good = true;
    for_code_points(text, [&](char32_t c, std::string_view) { return good = is_printable(c); });
    return good;
}
bool space_text(std::string_view text) { return !text.empty() && all_space(text); }
bool ascii_text(std::string_view text) {
    return std::none_of(text.begin(), text.end(),
                        [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

template <Side side>
Value stripped(Heap& heap, const Value& self, const Arguments& given) {
    const Parameters p("strip", given, {"chars"});
    heap.work(self.text().size());
    const auto chars = p.has_value(0) ? std::optional<std::string_view>(p.text(0)) : std::nullopt;
    if (chars) heap.work(self.text().size() / 16 * chars->size());
    const std::string_view text = strip(self.text(), side, chars);
    heap.work_on_characters(self.text().size() - text.size());
    return text.size() == self.text().size() ? self : like(heap, self, std::string(text));
}

std::vector<std::string_view> cut_left(Heap& heap, std::string_view text, std::string_view separator,
                                       int64_t most) {
    const Search search(heap, text, separator);
    std::vector<std::string_view> parts;
    size_t at = 0;
    while (most < 0 || static_cast<int64_t>(parts.size()) < most) {
        const size_t found = search.next(at);
        if (found == std::string_view::npos) break;
        parts.push_back(text.substr(at, found - at));
        at = found + separator.size();
    }
    parts.push_back(text.substr(at));
    return parts;
}

std::vector<std::string_view> cut_right(Heap& heap, std::string_view text, std::string_view separator,
                                        int64_t most) {
    std::vector<std::string_view> parts;
    while (most < 0 || static_cast<int64_t>(parts.size()) < most) {
        const size_t found = parts.empty() ? find_last(heap, text, separator) : text.rfind(separator);
        if (found == std::string_view::npos) break;
        parts.push_back(text.substr(found + separator.size()));
        text = text.substr(0, found);
    }
    parts.push_back(text);
    std::reverse(parts.begin(), parts.end());
    return parts;
}

Value split_any(Heap& heap, const Value& self, const Arguments& given, bool from_right) {
    const Parameters p("split", given, {"sep", "maxsplit"});
    const int64_t most = p.integer(1, -1);
    const std::string& text = self.text();
    if (!p.has_value(0)) {
        heap.work_on_characters(text.size());
        const bool right = from_right && most >= 0;
        return strings(heap, self, right ? split_space_right(text, most) : split_space(text, most));
    }
    const std::string& separator = p.text(0);
    if (separator.empty()) throw Failure("empty separator");
    return strings(
        heap, self,
        from_right ? cut_right(heap, text, separator, most) : cut_left(heap, text, separator, most));
}
Value split(Heap& heap, const Value& self, const Arguments& given) {
    return split_any(heap, self, given, false);
}
Value rsplit(Heap& heap, const Value& self, const Arguments& given) {
    return split_any(heap, self, given, true);
}

Value split_line(Heap& heap, const Value& self, const Arguments& given) {
    const Parameters p("splitlines", given, {"keepends"});
    heap.work_on_characters(self.text().size());
    return strings(heap, self, split_lines(self.text(), p.flag(0)));
}

Value partition_any(Heap& heap, const Value& self, const Arguments& given, bool from_right) {
    const Parameters p("partition", given, {"sep"}, 1);
    const std::string& text = self.text();
    const std::string& separator = p.text(0);
    if (separator.empty()) throw Failure("empty separator");
    const size_t found =
        from_right ? find_last(heap, text, separator) : Search(heap, text, separator).next(0);
    const bool there = found != std::string::npos;
    const Value whole = like(heap, self, text);
    const Value nothing = like(heap, self, "");
    if (!there)
        return from_right ? heap.tuple({nothing, nothing, whole}) : heap.tuple({whole, nothing, nothing});
    return heap.tuple({like(heap, self, text.substr(0, found)), like(heap, self, separator),
                       like(heap, self, text.substr(found + separator.size()))});
}
Value partition(Heap& heap, const Value& self, const Arguments& given) {
    return partition_any(heap, self, given, false);
}
Value rpartition(Heap& heap, const Value& self, const Arguments& given) {
    return partition_any(heap, self, given, true);
}

Value replace(Heap& heap, const Value& self, const Arguments& given) {
    const Parameters p("replace", given, {"old", "new", "count"}, 2);
    if (self.string_object().markup)
        throw Failure("replace() on a string that was marked safe is not supported");
    return heap.string(replaced(heap, self.text(), p.text(0), p.text(1), p.integer(2, -1)));
}

Value join(Heap& heap, const Value& self, const Arguments& given) {
    const Parameters p("join", given, {"iterable"}, 1);
    if (self.string_object().markup)
        throw Failure("join() on a string that was marked safe is not supported");
    const Value items = items_of(heap, p[0]);
    std::string out;
    int64_t i = 0;
    for (const Value& item : items.sequence().items) {
        if (!item.is_string())
            throw Failure(
                fmt::format("sequence item {}: expected str instance, {} found", i, type_name(item)));
        heap.check_string(out.size() + self.text().size() + item.text().size());
        if (i++ > 0) out += self.text();
        out += item.text();
    }
    return heap.string(std::move(out));
}

// The part of a string that start and end (code points, from the end when negative) choose.
struct Window {
    std::string_view text;
    int64_t start = 0;
    bool valid = true;  // false: start lies behind the end, where not even "" is found
};

Window window_of(Heap& heap, const Value& self, const Parameters& p, size_t start_at) {
    heap.work(self.text().size());
    const int64_t length = self.string_object().length;
    const auto bound = [&](size_t i, int64_t otherwise) {
        int64_t n = p.has_value(i) ? p.integer(i, otherwise) : otherwise;
        if (n < 0) n = std::max<int64_t>(0, n + length);
        return n;
    };
    const int64_t start = bound(start_at, 0);
    const int64_t end = std::min(bound(start_at + 1, length), length);
    if (start > length || start > end) return {{}, start, false};
    const size_t from = byte_offset(self.text(), start);
    const size_t to = end == length ? self.text().size() : byte_offset(self.text(), end);
    return {std::string_view(self.text()).substr(from, to - from), start, true};
}

int64_t find_at(Heap& heap, const Value& self, const Arguments& given, bool from_right) {
    const Parameters p("find", given, {"sub", "start", "end"}, 1);
    const std::string& sub = p.text(0);
    const Window window = window_of(heap, self, p, 1);
    if (!window.valid) return -1;
    const size_t at = from_right ? find_last(heap, window.text, sub) : Search(heap, window.text, sub).next(0);
    if (at == std::string_view::npos) return -1;
    return window.start + code_point_count(window.text.substr(0, at));
}

template <bool from_right, bool must_exist>
Value find(Heap& heap, const Value& self, const Arguments& given) {
    const int64_t at = find_at(heap, self, given, from_right);
    if (must_exist && at < 0) throw Failure("substring not found");
    return Value::integer(at);
}

Value count_text(Heap& heap, const Value& self, const Arguments& given) {
    const Parameters p("count", given, {"sub", "start", "end"}, 1);
    const std::string& sub = p.text(0);
    const Window window = window_of(heap, self, p, 1);
    if (!window.valid) return Value::integer(0);
    if (sub.empty()) return Value::integer(code_point_count(window.text) + 1);
    int64_t n = 0;
    const Search search(heap, window.text, sub);
    for (size_t at = search.next(0); at != std::string_view::npos; at = search.next(at + sub.size())) n++;
    return Value::integer(n);
}

template <bool at_end>
Value has_affix(Heap& heap, const Value& self, const Arguments& given) {
    const Parameters p(at_end ? "endswith" : "startswith", given, {"affix", "start", "end"}, 1);
    const Window window = window_of(heap, self, p, 1);
    const auto matches = [&](const Value& affix) {
        if (!affix.is_string()) {
            need_defined(affix);
            throw Failure(fmt::format("{} must be str or a tuple of str, not {}",
                                      at_end ? "endswith first arg" : "startswith first arg",
                                      type_name(affix)));
        }
        return window.valid &&
               (at_end ? window.text.ends_with(affix.text()) : window.text.starts_with(affix.text()));
    };
    if (!p[0].is_sequence(SequenceKind::tuple)) return Value::boolean(matches(p[0]));
    for (const Value& affix : p[0].sequence().items) {
        heap.work(16);
        if (matches(affix)) return Value::boolean(true);
    }
    return Value::boolean(false);
}

template <bool at_end>
Value without_affix(Heap& heap, const Value& self, const Arguments& given) {
    const Parameters p(at_end ? "removesuffix" : "removeprefix", given, {"affix"}, 1);
    const std::string& affix = p.text(0);
    std::string_view text = self.text();
    const bool there = at_end ? text.ends_with(affix) : text.starts_with(affix);
    if (!there) return self;
    return like(heap, self,
                std::string(at_end ? text.substr(0, text.size() - affix.size()) : text.substr(affix.size())));
}

// Odd centring puts the extra fill left when the width is odd, else right.
Value centered(Heap& heap, const Value& self, const Arguments& given) {
    const Parameters p("center", given, {"width", "fillchar"}, 1);
    const int64_t width = p.integer(0, 0);
    const int64_t missing = width - self.string_object().length;
    if (missing <= 0) return self;
    const std::string fill = p.has(1) ? p.text(1) : " ";
    if (code_point_count(fill) != 1) throw Failure("The fill character must be exactly one character long");
    const int64_t left = missing / 2 + (missing & width & 1);
    heap.check_string(self.text().size() + static_cast<uint64_t>(missing) * fill.size());
    const std::string shifted = pad(heap, self.text(), self.string_object().length + left, '>', fill);
    return like(heap, self, pad(heap, shifted, width, '<', fill));
}

template <char side>
Value justified(Heap& heap, const Value& self, const Arguments& given) {
    const Parameters p("just", given, {"width", "fillchar"}, 1);
    const std::string fill = p.has(1) ? p.text(1) : " ";
    if (code_point_count(fill) != 1) throw Failure("The fill character must be exactly one character long");
    return like(heap, self, pad(heap, self.text(), p.integer(0, 0), side, fill));
}

Value zero_filled(Heap& heap, const Value& self, const Arguments& given) {
    const Parameters p("zfill", given, {"width"}, 1);
    const std::string& text = self.text();
    const bool signed_text = !text.empty() && (text[0] == '-' || text[0] == '+');
    const size_t skip = signed_text ? 1 : 0;
    const int64_t width = p.integer(0, 0);
    if (width <= self.string_object().length) return self;
    return like(
        heap, self,
        text.substr(0, skip) + pad(heap, text.substr(skip), width - static_cast<int64_t>(skip), '>', "0"));
}

// ---- lists, tuples, ranges

Value copied(Heap& heap, const Value& self, const Arguments& given) {
    const Parameters none("copy", given, {});
    (void)heap;
    return self;  // values do not change, a copy is the value
}

Value index_in(Heap& heap, const Value& self, const Arguments& given) {
    const Parameters p("index", given, {"value", "start", "stop"}, 1);
    const Value items = items_of(heap, self);
    const auto& all = items.sequence().items;
    const auto n = static_cast<int64_t>(all.size());
    const auto bound = [&](size_t i, int64_t otherwise) {
        const int64_t at = p.integer(i, otherwise);
        return std::clamp<int64_t>(at < 0 ? at + n : at, 0, n);
    };
    for (int64_t i = bound(1, 0); i < bound(2, n); i++) {
        heap.work(16);
        if (equal(all[static_cast<size_t>(i)], p[0])) return Value::integer(i);
    }
    throw Failure(fmt::format("{} is not in {}", repr(heap, p[0]), type_name(self)));
}

Value count_in(Heap& heap, const Value& self, const Arguments& given) {
    const Parameters p("count", given, {"value"}, 1);
    const Value items = items_of(heap, self);
    int64_t n = 0;
    for (const Value& item : items.sequence().items) {
        heap.work(16);
        n += equal(item, p[0]) ? 1 : 0;
    }
    return Value::integer(n);
}

// ---- maps

Value get(Heap& heap, const Value& self, const Arguments& given) {
    (void)heap;
    const Parameters p("get", given, {"key", "default"}, 1);
    const Value* found = self.map().find(p[0]);
    return found != nullptr ? *found : p.or_else(1, Value());
}

template <SequenceKind kind>
Value view(Heap& heap, const Value& self, const Arguments& given) {
    const Parameters none("this method", given, {});
    const auto& entries = self.map().entries;
    heap.check_items(entries.size());
    std::vector<Value> items;
    items.reserve(entries.size());
    for (const auto& [key, value] : entries) {
        if (kind == SequenceKind::dict_keys) items.push_back(key);
        else if (kind == SequenceKind::dict_values) items.push_back(value);
        else items.push_back(heap.tuple({key, value}));
    }
    return heap.sequence(kind, std::move(items));
}

Value is_whole(Heap& heap, const Value& self, const Arguments& given) {
    const Parameters none("is_integer", given, {});
    (void)heap;
    return Value::boolean(std::isfinite(self.as_real()) && std::trunc(self.as_real()) == self.as_real());
}

constexpr Method k_string_methods[] = {
    {"capitalize", &recased<capitalize>},
    {"casefold", nullptr},
    {"center", &centered},
    {"count", &count_text},
    {"encode", nullptr},
    {"endswith", &has_affix<true>},
    {"expandtabs", nullptr},
    {"find", &find<false, false>},
    {"format", &format_braces},
    {"format_map", nullptr},
    {"index", &find<false, true>},
    {"isalnum", &asked<is_alnum>},
    {"isalpha", &asked<is_alpha>},
    {"isascii", &asked<ascii_text>},
    {"isdecimal", &asked<is_decimal>},
    {"isdigit", &asked<is_digit>},
    {"isidentifier", &asked<is_identifier>},
    {"islower", &asked<is_lower>},
    {"isnumeric", nullptr},
    {"isprintable", &asked<printable_text>},
    {"isspace", &asked<space_text>},
    {"istitle", &asked<is_title>},
    {"isupper", &asked<is_upper>},
    {"join", &join},
    {"ljust", &justified<'<'>},
    {"lower", &recased<lower>},
    {"lstrip", &stripped<Side::left>},
    {"maketrans", nullptr},
    {"partition", &partition},
    {"removeprefix", &without_affix<false>},
    {"removesuffix", &without_affix<true>},
    {"replace", &replace},
    {"rfind", &find<true, false>},
    {"rindex", &find<true, true>},
    {"rjust", &justified<'>'>},
    {"rpartition", &rpartition},
    {"rsplit", &rsplit},
    {"rstrip", &stripped<Side::right>},
    {"split", &split},
    {"splitlines", &split_line},
    {"startswith", &has_affix<false>},
    {"strip", &stripped<Side::both>},
    {"swapcase", &recased<swap_case>},
    {"title", &recased<title>},
    {"translate", nullptr},
    {"upper", &recased<upper>},
    {"zfill", &zero_filled},
};

constexpr Method k_list_methods[] = {
    {"append", nullptr, true}, {"clear", nullptr, true},   {"copy", &copied},         {"count", &count_in},
    {"extend", nullptr, true}, {"index", &index_in},       {"insert", nullptr, true}, {"pop", nullptr, true},
    {"remove", nullptr, true}, {"reverse", nullptr, true}, {"sort", nullptr, true},
};

constexpr Method k_fixed_methods[] = {{"count", &count_in}, {"index", &index_in}};

constexpr Method k_map_methods[] = {
    {"clear", nullptr, true},
    {"copy", &copied},
    {"fromkeys", nullptr},
    {"get", &get},
    {"items", &view<SequenceKind::dict_items>},
    {"keys", &view<SequenceKind::dict_keys>},
    {"pop", nullptr, true},
    {"popitem", nullptr, true},
    {"setdefault", nullptr, true},
    {"update", nullptr, true},
    {"values", &view<SequenceKind::dict_values>},
};

constexpr Method k_view_methods[] = {{"isdisjoint", nullptr}, {"mapping", nullptr}};
constexpr Method k_generator_methods[] = {{"close", nullptr}, {"send", nullptr}, {"throw", nullptr}};

constexpr Method k_integer_methods[] = {
    {"as_integer_ratio", nullptr},
    {"bit_count", nullptr},
    {"bit_length", nullptr},
    {"conjugate", nullptr},
    {"denominator", nullptr},
    {"from_bytes", nullptr},
    {"imag", nullptr},
    {"numerator", nullptr},
    {"real", nullptr},
    {"to_bytes", nullptr},
    {"is_integer", nullptr},
};

constexpr Method k_real_methods[] = {
    {"as_integer_ratio", nullptr},
    {"conjugate", nullptr},
    {"fromhex", nullptr},
    {"hex", nullptr},
    {"imag", nullptr},
    {"is_integer", &is_whole},
    {"real", nullptr},
};

std::span<const Method> methods_of(const Value& self) {
    switch (self.kind()) {
        case Kind::string:
            return k_string_methods;
        case Kind::map:
            return k_map_methods;
        case Kind::range:
            return k_fixed_methods;
        case Kind::boolean:
        case Kind::integer:
        case Kind::big_integer:
            return k_integer_methods;
        case Kind::real:
            return k_real_methods;
        case Kind::sequence:
            break;
        default:
            return {};
    }
    switch (self.sequence().kind) {
        case SequenceKind::list:
            return k_list_methods;
        case SequenceKind::tuple:
        case SequenceKind::group:
            return k_fixed_methods;
        case SequenceKind::generator:
            return k_generator_methods;
        default:
            return k_view_methods;
    }
}

}  // namespace

const Method* find_method(const Value& self, std::string_view name) {
    for (const Method& method : methods_of(self))
        if (method.name == name) return &method;
    return nullptr;
}

std::string replaced(Heap& heap, std::string_view text, std::string_view old, std::string_view replacement,
                     int64_t most) {
    std::string out;
    const Search search(heap, text, old);
    const auto put = [&](std::string_view part) {
        heap.check_string(out.size() + part.size());
        out += part;
    };
    int64_t done = 0;
    size_t at = 0;
    while (most < 0 || done < most) {
        if (old.empty()) {  // before every character, and at the end
            put(replacement);
            done++;
            if (at >= text.size()) break;
            const auto size = static_cast<size_t>(utf8_size(text[at]));
            put(text.substr(at, size));
            at += size;
            continue;
        }
        const size_t found = search.next(at);
        if (found == std::string_view::npos) break;
        put(text.substr(at, found - at));
        put(replacement);
        at = found + old.size();
        done++;
    }
    if (at < text.size()) put(text.substr(at));
    return out;
}

}  // namespace ft::jinja
