#include "text/jinja/numbers.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "base/ascii.h"
#include "base/error.h"
#include "text/jinja/code_points.h"
#include "text/jinja/heap.h"

namespace ft::jinja {

namespace {

[[noreturn]] void too_large() { throw Failure("an integer does not fit 64 bits"); }

// Removes underscores that stand between digits; nothing where one stands elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); i++) {
        if (text[i] != '_') {
            out += text[i];
            continue;
        }
        const bool between = i > 0 && i + 1 < text.size() &&
                             std::isalnum(static_cast<unsigned char>(text[i - 1])) &&
                             std::isalnum(static_cast<unsigned char>(text[i + 1]));
        if (!between) return std::nullopt;
    }
    return out;
}

double floor_quotient(double a, double b, double& remainder) {
    remainder = std::fmod(a, b);
    double quotient = (a - remainder) / b;
    if (remainder != 0) {
        if ((b < 0) != (remainder < 0)) {
            remainder += b;
            quotient -= 1;
        }
    } else {
        remainder = std::copysign(0.0, b);
    }
    if (quotient == 0) return std::copysign(0.0, a / b);
    const double whole = std::floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

Value compute_real(Arithmetic op, double a, double b) {
    double remainder = 0;
    switch (op) {
        case Arithmetic::add:
            return Value::real(a + b);
        case Arithmetic::subtract:
            return Value::real(a - b);
        case Arithmetic::multiply:
            return Value::real(a * b);
        case Arithmetic::divide:
            if (b == 0) throw Failure("float division by zero");
            return Value::real(a / b);
        case Arithmetic::floor_divide:
            if (b == 0) throw Failure("float floor division by zero");
            return Value::real(floor_quotient(a, b, remainder));
        case Arithmetic::modulo:
            if (b == 0) throw Failure("float modulo");
            floor_quotient(a, b, remainder);
            return Value::real(remainder);
        case Arithmetic::power:
            break;
    }
    if (a == 0 && b < 0) throw Failure("0.0 cannot be raised to a negative power");
    const double power = std::pow(a, b);
    if (std::isnan(power) && !std::isnan(a) && !std::isnan(b))
        throw Failure("a power that is no real number");
    if (std::isinf(power) && std::isfinite(a) && std::isfinite(b)) throw Failure("the power is too large");
    return Value::real(power);
}

int64_t integer_power(int64_t base, int64_t exponent) {
    int64_t result = 1;
    while (exponent > 0) {
        if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) too_large();
        exponent >>= 1;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) too_large();
    }
    return result;
}

Value compute_integer(Arithmetic op, int64_t a, int64_t b) {
    int64_t out = 0;
    const bool divides =
        op == Arithmetic::divide || op == Arithmetic::floor_divide || op == Arithmetic::modulo;
    if (divides && b == 0) throw Failure("division by zero");
    switch (op) {
        case Arithmetic::add:
            if (__builtin_add_overflow(a, b, &out)) too_large();
            return Value::integer(out);
        case Arithmetic::subtract:
            if (__builtin_sub_overflow(a, b, &out)) too_large();
            return Value::integer(out);
        case Arithmetic::multiply:
            if (__builtin_mul_overflow(a, b, &out)) too_large();
            return Value::integer(out);
        case Arithmetic::divide:
            return Value::real(
                static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)));
        case Arithmetic::floor_divide:
        case Arithmetic::modulo: {
            if (b == -1) return op == Arithmetic::modulo ? Value::integer(0) : negate(Value::integer(a));
            const int64_t rest = a % b;
            const bool below = rest != 0 && (rest < 0) != (b < 0);
            if (op == Arithmetic::modulo) return Value::integer(below ? rest + b : rest);
            return Value::integer(a / b - (below ? 1 : 0));
        }
        case Arithmetic::power:
            break;
    }
    if (b < 0) return compute_real(op, static_cast<double>(a), static_cast<double>(b));
    return Value::integer(integer_power(a, b));
}

}  // namespace

std::string real_text(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
    const std::string_view shortest(buffer, static_cast<size_t>(end - buffer));
    const size_t e = shortest.find('e');
    const int exponent = std::stoi(std::string(shortest.substr(e + 1)));
    if (exponent < -4 || exponent >= 16) {
        return fmt::format("{}e{}{:02}", shortest.substr(0, e), exponent < 0 ? '-' : '+', std::abs(exponent));
    }
    const auto fixed_end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
    std::string fixed(buffer, fixed_end);
    if (fixed.find('.') == std::string::npos) fixed += ".0";
    return fixed;
}

std::optional<int64_t> parse_integer(std::string_view text, int base) {
    text = strip(text, Side::both);
    bool negative = false;
    if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
        negative = text[0] == '-';
        text.remove_prefix(1);
    }
    const auto prefixed = [&](char letter, int of_base) {
        return text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == letter &&
               (base == of_base || base == 0);
    };
    const int by_prefix = prefixed('x', 16) ? 16 : prefixed('o', 8) ? 8 : prefixed('b', 2) ? 2 : 0;
    if (by_prefix != 0) {
        text.remove_prefix(text[2] == '_' ? 3 : 2);
        base = by_prefix;
    }
    const auto digits = without_underscores(text);
    if (!digits || digits->empty()) return std::nullopt;
    if (base == 0) {
        base = 10;
        if ((*digits)[0] == '0' && digits->find_first_not_of('0') != std::string::npos) return std::nullopt;
    }
    uint64_t magnitude = 0;
    const char* end = digits->data() + digits->size();
    const auto [stop, error] = std::from_chars(digits->data(), end, magnitude, base);
    if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
    const uint64_t most = uint64_t{1} << 63;
    if (error == std::errc::result_out_of_range || magnitude > most || (!negative && magnitude == most))
        too_large();
    return static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
}

double real_of_digits(const std::string& digits) {
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc::result_out_of_range) return value;
    const size_t e = digits.find_first_of("eE");
    const bool tiny = e != std::string::npos && digits.find('-', e) != std::string::npos;
    return tiny ? 0.0 : std::numeric_limits<double>::infinity();
}

std::optional<double> parse_real(std::string_view text) {
    text = strip(text, Side::both);
    double sign = 1;
    if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
        sign = text[0] == '-' ? -1 : 1;
        text.remove_prefix(1);
    }
    const std::string word = ascii_lower(text);
    if (word == "inf" || word == "infinity") return sign * std::numeric_limits<double>::infinity();
    if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
    const auto digits = without_underscores(text);
    if (!digits || digits->empty() || digits->find_first_not_of("0123456789.eE+-") != std::string::npos)
        return std::nullopt;
    double unused = 0;
    std::string plain = *digits;
    const size_t plus = plain.find('+');  // from_chars knows no plus sign
    if (plus != std::string::npos && plus > 0 && (plain[plus - 1] | 0x20) == 'e') plain.erase(plus, 1);
    const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), unused);
    if (end != plain.data() + plain.size() || error == std::errc::invalid_argument) return std::nullopt;
    return sign * real_of_digits(plain);
}

int64_t truncate(double value) {
    if (std::isnan(value)) throw Failure("cannot convert float NaN to integer");
    if (std::isinf(value)) throw Failure("cannot convert float infinity to integer");
    const double whole = std::trunc(value);
    if (whole < -0x1p63 || whole >= 0x1p63) too_large();
    return static_cast<int64_t>(whole);
}

Value compute(Arithmetic op, const Value& a, const Value& b) {
    if (a.is_integral() && b.is_integral()) return compute_integer(op, a.as_integer(), b.as_integer());
    return compute_real(op, a.as_real(), b.as_real());
}

Value negate(const Value& a) {
    if (a.is(Kind::real)) return Value::real(-a.as_real());
    return compute_integer(Arithmetic::subtract, 0, a.as_integer());
}

int compare_numbers(const Value& a, const Value& b) {
    if (a.is_integral() && b.is_integral())
        return a.as_integer() < b.as_integer() ? -1 : a.as_integer() > b.as_integer() ? 1 : 0;
    // A long double holds every 64-bit integer and every double.
    const auto exact = [](const Value& v) {
        return v.is(Kind::real) ? static_cast<long double>(v.as_real())
                                : static_cast<long double>(v.as_integer());
    };
    static_assert(std::numeric_limits<long double>::digits >= 64 || sizeof(long double) == 8);
    const long double x = exact(a);
    const long double y = exact(b);
    if (std::isnan(x) || std::isnan(y)) return 2;
    return x < y ? -1 : x > y ? 1 : 0;
}

double round_real(double value, int digits) {
    if (!std::isfinite(value) || digits > 300) return value;
    if (digits < -300) return std::copysign(0.0, value);
    if (digits >= 0) {
        // printf rounds the exact decimal expansion, halves to even, as Python's round does.
        return real_of_digits(fmt::format("{:.{}f}", std::fabs(value), digits)) *
               (std::signbit(value) ? -1 : 1);
    }
    const double scale = std::pow(10.0, -digits);
    return std::nearbyint(value / scale) * scale;
}

}  // namespace ft::jinja
