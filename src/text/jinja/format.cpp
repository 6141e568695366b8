#include "text/jinja/format.h"

#include <cmath>

#include "base/error.h"
#include "base/utf8.h"
#include "text/jinja/code_points.h"
#include "text/jinja/heap.h"
#include "text/jinja/numbers.h"
#include "text/jinja/operators.h"
#include "text/jinja/show.h"

namespace ft::jinja {

namespace {

constexpr int64_t k_most_precision = 1000;

struct Spec {
    bool left = false, plus = false, blank = false, zero = false, alternate = false, grouped = false;
    char align = 0;  // < > ^ = of str.format
    std::string fill = " ";
    int64_t width = 0;
    int64_t precision = -1;
    char type = 0;
};

int64_t read_number(std::string_view text, size_t& at) {
    int64_t n = 0;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
        n = n * 10 + (text[at++] - '0');
        if (n > (int64_t{1} << 40)) throw Failure("a width or precision in a format is too large");
    }
    return n;
}

std::string with_groups(std::string digits) {
    const size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
    for (size_t at = whole; at > 3;) digits.insert(at -= 3, ",");
    return digits;
}

std::string exponent_text(double value, char type, int precision) {
    switch (type) {
        case 'e':
            return fmt::format("{:.{}e}", value, precision);
        case 'E':
            return fmt::format("{:.{}E}", value, precision);
        case 'g':
            return fmt::format("{:.{}g}", value, precision);
        case 'G':
            return fmt::format("{:.{}G}", value, precision);
        default:
            return fmt::format("{:.{}f}", value, precision);
    }
}

// Digits of the magnitude, without sign.
std::string real_digits(double magnitude, const Spec& spec) {
    if (spec.precision > k_most_precision) throw Failure("a precision in a format is too large");
    const int precision = spec.precision < 0 ? 6 : static_cast<int>(spec.precision);
    if (!std::isfinite(magnitude)) return std::isnan(magnitude) ? "nan" : "inf";
    if (spec.type == '%') return exponent_text(magnitude * 100, 'f', precision) + "%";
    return exponent_text(magnitude, spec.type == 'F' ? 'f' : spec.type, precision);
}

std::string integer_digits(uint64_t magnitude, const Spec& spec) {
    switch (spec.type) {
        case 'x':
            return (spec.alternate ? "0x" : "") + fmt::format("{:x}", magnitude);
        case 'X':
            return (spec.alternate ? "0X" : "") + fmt::format("{:X}", magnitude);
        case 'o':
            return (spec.alternate ? "0o" : "") + fmt::format("{:o}", magnitude);
        case 'b':
            return (spec.alternate ? "0b" : "") + fmt::format("{:b}", magnitude);
        default:
            return std::to_string(magnitude);
    }
}

// Sign, zeros and padding around the digits of a number.
std::string place_number(Heap& heap, bool negative, std::string digits, const Spec& spec) {
    const std::string sign = negative ? "-" : spec.plus ? "+" : spec.blank ? " " : "";
    const bool zeros = spec.zero && !spec.left && (spec.align == 0 || spec.align == '=');
    heap.check_string(static_cast<uint64_t>(spec.width));
    if (zeros || spec.align == '=') {
        const auto length = static_cast<int64_t>(sign.size() + digits.size());
        const std::string fill = zeros ? "0" : spec.fill;
        std::string padding;
        for (int64_t i = length; i < spec.width; i++) padding += fill;
        return sign + padding + digits;
    }
    const char side = spec.left ? '<' : spec.align != 0 ? spec.align : '>';
    return pad(heap, sign + digits, spec.width, side, spec.fill);
}

bool is_integer_type(char type) { return std::string_view("diuxXob").find(type) != std::string_view::npos; }
bool is_real_type(char type) { return std::string_view("eEfFgG%").find(type) != std::string_view::npos; }

std::string format_integer(Heap& heap, int64_t value, const Spec& spec) {
    const uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    std::string digits = integer_digits(magnitude, spec);
    if (spec.precision > k_most_precision) throw Failure("a precision in a format is too large");
    while (static_cast<int64_t>(digits.size()) < spec.precision) digits.insert(0, 1, '0');
    if (spec.grouped) digits = with_groups(digits);
    return place_number(heap, value < 0, digits, spec);
}

std::string format_real(Heap& heap, double value, const Spec& spec) {
    std::string digits = real_digits(std::fabs(value), spec);
    if (spec.grouped) digits = with_groups(digits);
    return place_number(heap, std::signbit(value) && !std::isnan(value), digits, spec);
}

std::string cut(std::string_view text, int64_t most) {
    if (most < 0 || code_point_count(text) <= most) return std::string(text);
    return std::string(text.substr(0, byte_offset(text, most)));
}

// ---- printf style

class Printf {
 public:
    Printf(Heap& heap, const std::string& format, const Value& arguments) : heap_(heap), format_(format) {
        by_name_ = arguments.is_map() ? &arguments.map() : nullptr;
        // What can be indexed may name its fields, so that Python does not count them.
        counted_ =
            !arguments.is_map() && !arguments.is(Kind::range) && !arguments.is_sequence(SequenceKind::list);
        if (arguments.is_sequence(SequenceKind::tuple)) given_ = arguments.sequence().items;
        else given_ = {arguments};
    }

    std::string run() {
        for (size_t at = 0; at < format_.size();) {
            const size_t percent = std::min(format_.find('%', at), format_.size());
            out_ += format_.substr(at, percent - at);
            at = percent;
            if (at < format_.size()) at = conversion(at + 1);
            heap_.check_string(out_.size());
        }
        if (counted_ && used_ < given_.size())
            throw Failure("not all arguments converted during string formatting");
        return std::move(out_);
    }

 private:
    const Value& take() {
        if (used_ >= given_.size()) throw Failure("not enough arguments for format string");
        return given_[used_++];
    }

    int64_t size_or_star(size_t& at) {
        if (at >= format_.size() || format_[at] != '*') return read_number(format_, at);
        at++;
        const Value& value = take();
        if (!value.is_integral()) throw Failure("* wants int");
        return value.as_integer();
    }

    // at is behind the percent sign; returns where the text goes on.
    size_t conversion(size_t at) {
        Spec spec;
        const Value* named = nullptr;
        if (at < format_.size() && format_[at] == '(') named = &by_name(at);
        for (; at < format_.size(); at++) {
            const char c = format_[at];
            if (c == '-') spec.left = true;
            else if (c == '+') spec.plus = true;
            else if (c == ' ') spec.blank = true;
            else if (c == '0') spec.zero = true;
            else if (c == '#') spec.alternate = true;
            else break;
        }
        spec.width = size_or_star(at);
        if (spec.width < 0) {
            spec.left = true;
            spec.width = -spec.width;
        }
        if (at < format_.size() && format_[at] == '.')
            spec.precision = std::max<int64_t>(0, size_or_star(++at));
        if (at >= format_.size()) throw Failure("incomplete format");
        spec.type = format_[at++];
        if (spec.type == '%') out_ += '%';
        else out_ += convert(named != nullptr ? *named : take(), spec);
        return at;
    }

    const Value& by_name(size_t& at) {
        const size_t close = format_.find(')', at);
        if (close == std::string::npos) throw Failure("incomplete format key");
        if (by_name_ == nullptr) throw Failure("format requires a mapping");
        const std::string key = format_.substr(at + 1, close - at - 1);
        at = close + 1;
        const Value* value = by_name_->find(std::string_view(key));
        if (value == nullptr) throw Failure(fmt::format("the format names '{}', which is not given", key));
        return *value;
    }

    std::string convert(const Value& value, const Spec& spec) {
        const char type = spec.type;
        if (type == 's')
            return pad(heap_, cut(to_text(heap_, value), spec.precision), spec.width, spec.left ? '<' : '>');
        if (type == 'r')
            return pad(heap_, cut(repr(heap_, value), spec.precision), spec.width, spec.left ? '<' : '>');
        if (!is_integer_type(type) && !is_real_type(type))
            throw Failure(
                fmt::format("the format character '{}' is not supported", printable(std::string(1, type))));
        need_defined(value);
        if (!value.is_number())
            throw Failure(fmt::format("%{} format: a number is required, not {}", type, type_name(value)));
        if (is_real_type(type)) return format_real(heap_, value.as_real(), spec);
        const bool decimal = type == 'd' || type == 'i' || type == 'u';
        if (value.is(Kind::real) && !decimal)
            throw Failure(fmt::format("%{} format: an integer is required, not float", type));
        return format_integer(heap_, value.is(Kind::real) ? truncate(value.as_real()) : value.as_integer(),
                              spec);
    }

    Heap& heap_;
    const std::string& format_;
    const MapObject* by_name_ = nullptr;
    std::vector<Value> given_;
    size_t used_ = 0;
    bool counted_ = true;
    std::string out_;
};

// ---- str.format

Spec read_spec(std::string_view text) {
    Spec spec;
    size_t at = 0;
    const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
    const size_t first = text.empty() ? 0 : static_cast<size_t>(utf8_size(text[0]));
    if (text.size() > first && is_align(text[first])) {
        spec.fill = std::string(text.substr(0, first));
        spec.align = text[first];
        at = first + 1;
    } else if (!text.empty() && is_align(text[0])) {
        spec.align = text[0];
        at = 1;
    }
    const auto accept = [&](char c) { return at < text.size() && text[at] == c && (at++, true); };
    if (accept('+')) spec.plus = true;
    else if (accept(' ')) spec.blank = true;
    else accept('-');
    spec.alternate = accept('#');
    spec.zero = accept('0');
    spec.width = read_number(text, at);
    spec.grouped = accept(',');
    if (accept('.')) spec.precision = read_number(text, at);
    if (at < text.size()) spec.type = text[at++];
    if (at < text.size()) throw Failure(fmt::format("invalid format specifier '{}'", printable(text)));
    return spec;
}

std::string format_value(Heap& heap, const Value& value, std::string_view spec_text) {
    if (spec_text.empty()) return to_text(heap, value);
    Spec spec = read_spec(spec_text);
    if (value.is_string() && (spec.type == 0 || spec.type == 's') && !spec.zero && !spec.grouped &&
        spec.align != '=')
        return pad(heap, cut(value.text(), spec.precision), spec.width, spec.align != 0 ? spec.align : '<',
                   spec.fill);
    const bool as_integer = value.is(Kind::integer) && (spec.type == 0 || is_integer_type(spec.type));
    if (as_integer && spec.precision < 0 && spec.type != 'i' && spec.type != 'u')
        return format_integer(heap, value.as_integer(), spec);
    if (value.is_number() && is_real_type(spec.type)) return format_real(heap, value.as_real(), spec);
    throw Failure(fmt::format("the format '{}' for a value of type {} is not supported", printable(spec_text),
                              type_name(value)));
}

class Braces {
 public:
    Braces(Heap& heap, const std::string& format, const Arguments& given)
        : heap_(heap), format_(format), given_(given) {}

    std::string run() {
        for (size_t at = 0; at < format_.size();) {
            const char c = format_[at];
            const bool twice = at + 1 < format_.size() && format_[at + 1] == c;
            if ((c == '{' || c == '}') && twice) {
                out_ += c;
                at += 2;
            } else if (c == '{') {
                at = field(at + 1);
            } else if (c == '}') {
                throw Failure("Single '}' encountered in format string");
            } else {
                const size_t end = std::min(format_.find_first_of("{}", at), format_.size());
                out_ += format_.substr(at, end - at);
                at = end;
            }
            heap_.check_string(out_.size());
        }
        return std::move(out_);
    }

 private:
    size_t field(size_t at) {
        const size_t close = format_.find('}', at);
        if (close == std::string::npos) throw Failure("expected '}' before end of string");
        std::string_view text = std::string_view(format_).substr(at, close - at);
        if (text.find('{') != std::string_view::npos)
            throw Failure("nested fields in a format are not supported");
        std::string_view spec;
        if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
            spec = text.substr(colon + 1);
            text = text.substr(0, colon);
        }
        char conversion = 0;
        if (const size_t mark = text.find('!'); mark != std::string_view::npos) {
            if (text.size() != mark + 2) throw Failure("a conversion in a format is !s or !r");
            conversion = text[mark + 1];
            text = text.substr(0, mark);
        }
        const Value& value = argument(text);
        if (conversion == 0) out_ += format_value(heap_, value, spec);
        else if (conversion == 's') out_ += format_value(heap_, heap_.string(to_text(heap_, value)), spec);
        else if (conversion == 'r') out_ += format_value(heap_, heap_.string(repr(heap_, value)), spec);
        else throw Failure("a conversion in a format is !s or !r");
        return close + 1;
    }

    const Value& argument(std::string_view name) {
        if (name.find_first_of(".[") != std::string_view::npos)
            throw Failure(fmt::format("the format field '{}' reaches into its value, which is not supported",
                                      printable(name)));
        const bool numbered = name.find_first_not_of("0123456789") == std::string_view::npos;
        if (!numbered) {
            for (const auto& [key, value] : given_.named)
                if (key == name) return value;
            throw Failure(fmt::format("the format names '{}', which is not given", printable(name)));
        }
        if (name.empty() ? manual_ : automatic_)
            throw Failure("a format cannot mix numbered and unnumbered fields");
        (name.empty() ? automatic_ : manual_) = true;
        size_t at = 0;
        const auto index =
            static_cast<size_t>(name.empty() ? static_cast<int64_t>(next_++) : read_number(name, at));
        if (index >= given_.positional.size())
            throw Failure("Replacement index out of range for positional args");
        return given_.positional[index];
    }

    Heap& heap_;
    const std::string& format_;
    const Arguments& given_;
    std::string out_;
    size_t next_ = 0;
    bool automatic_ = false;
    bool manual_ = false;
};

void refuse_markup(const Value& format) {
    if (format.string_object().markup)
        throw Failure("formatting a string that was marked safe is not supported");
}

}  // namespace

std::string pad(Heap& heap, std::string_view text, int64_t width, char side, std::string_view fill) {
    const int64_t missing = width - code_point_count(text);
    if (missing <= 0) return std::string(text);
    heap.check_string(text.size() + static_cast<uint64_t>(missing));
    const int64_t left = side == '>' ? missing : side == '^' ? missing / 2 : 0;
    std::string out;
    for (int64_t i = 0; i < left; i++) out += fill;
    out += text;
    for (int64_t i = left; i < missing; i++) out += fill;
    return out;
}

Value format_printf(Heap& heap, const Value& format, const Value& arguments) {
    refuse_markup(format);
    return heap.string(Printf(heap, format.text(), arguments).run());
}

Value format_braces(Heap& heap, const Value& format, const Arguments& arguments) {
    refuse_markup(format);
    return heap.string(Braces(heap, format.text(), arguments).run());
}

}  // namespace ft::jinja
