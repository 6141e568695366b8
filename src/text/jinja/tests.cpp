#include "text/jinja/tests.h"

#include "base/error.h"
#include "text/jinja/code_points.h"
#include "text/jinja/filters.h"
#include "text/jinja/heap.h"
#include "text/jinja/operators.h"
#include "text/jinja/show.h"

namespace ft::jinja {

namespace {

// A test without arguments.
template <bool (*holds)(const Value&)>
bool plain(Heap&, const Value& value, const Arguments& given) {
    const Parameters none("this test", given, {});
    return holds(value);
}

bool is_defined(const Value& v) { return !v.is_undefined(); }
bool is_undefined(const Value& v) { return v.is_undefined(); }
bool is_none(const Value& v) { return v.is_none(); }
bool is_string(const Value& v) { return v.is_string(); }
bool is_a_number(const Value& v) { return v.is_number() || v.is(Kind::big_integer); }
bool is_integer(const Value& v) { return v.is(Kind::integer) || v.is(Kind::big_integer); }
bool is_float(const Value& v) { return v.is(Kind::real); }
bool is_boolean(const Value& v) { return v.is(Kind::boolean); }
bool is_true(const Value& v) { return v.is(Kind::boolean) && v.as_boolean(); }
bool is_false(const Value& v) { return v.is(Kind::boolean) && !v.as_boolean(); }
bool is_mapping(const Value& v) { return v.is_map(); }
bool is_escaped(const Value& v) { return v.is_string() && v.string_object().markup; }

// What has a length and takes an index.
bool is_sequence(const Value& v) {
    if (v.is_string() || v.is_map() || v.is(Kind::range) || v.is_undefined()) return true;
    if (!v.is(Kind::sequence)) return false;
    const SequenceKind kind = v.sequence().kind;
    return kind == SequenceKind::list || kind == SequenceKind::tuple || kind == SequenceKind::group;
}

bool is_callable(const Value& v) {
    switch (v.kind()) {
        case Kind::undefined:
        case Kind::macro:
        case Kind::method:
        case Kind::function:
        case Kind::joiner:
        case Kind::loop:
            return true;
        default:
            return false;
    }
}

template <bool upper>
bool has_case(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters none("this test", given, {});
    const std::string text = to_text(heap, value);
    return upper ? ft::jinja::is_upper(text) : ft::jinja::is_lower(text);
}

template <int rest>
bool has_parity(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters none("this test", given, {});
    return equal(arithmetic(heap, Arithmetic::modulo, value, Value::integer(2)), Value::integer(rest));
}

bool divisible_by(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("divisibleby", given, {"num"}, 1);
    return equal(arithmetic(heap, Arithmetic::modulo, value, p[0]), Value::integer(0));
}

template <bool (*compare)(const Value&, const Value&)>
bool compared(Heap&, const Value& value, const Arguments& given) {
    const Parameters p("this test", given, {"other"}, 1);
    return compare(value, p[0]);
}
bool differs(const Value& a, const Value& b) { return !equal(a, b); }
bool is_less(const Value& a, const Value& b) { return less(a, b); }
bool is_less_equal(const Value& a, const Value& b) { return less(a, b, true); }
bool is_greater(const Value& a, const Value& b) { return less(b, a); }
bool is_greater_equal(const Value& a, const Value& b) { return less(b, a, true); }

// Identity: only of the constants; whether two equal strings or numbers are one object is no property of a
// template.
bool is_same(const Value& a, const Value& b) {
    if (a.kind() != b.kind()) return false;
    if (a.is_none()) return true;
    if (a.is(Kind::boolean)) return a.as_boolean() == b.as_boolean();
    if (a.is_number() || a.is_string())
        throw Failure("the test 'sameas' is supported for true, false, none and containers");
    return a.object() == b.object();
}

bool is_in(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("in", given, {"seq"}, 1);
    return contains(heap, p[0], value);
}

bool names_filter(Heap&, const Value& value, const Arguments& given) {
    const Parameters none("filter", given, {});
    return value.is_string() && find_filter(value.text()) != nullptr;
}
bool names_test(Heap&, const Value& value, const Arguments& given) {
    const Parameters none("test", given, {});
    return value.is_string() && find_test(value.text()) != nullptr;
}

constexpr Test k_tests[] = {
    {"!=", &compared<differs>},
    {"<", &compared<is_less>},
    {"<=", &compared<is_less_equal>},
    {"==", &compared<equal>},
    {">", &compared<is_greater>},
    {">=", &compared<is_greater_equal>},
    {"boolean", &plain<is_boolean>},
    {"callable", &plain<is_callable>},
    {"defined", &plain<is_defined>},
    {"divisibleby", &divisible_by},
    {"eq", &compared<equal>},
    {"equalto", &compared<equal>},
    {"escaped", &plain<is_escaped>},
    {"even", &has_parity<0>},
    {"false", &plain<is_false>},
    {"filter", &names_filter},
    {"float", &plain<is_float>},
    {"ge", &compared<is_greater_equal>},
    {"greaterthan", &compared<is_greater>},
    {"gt", &compared<is_greater>},
    {"in", &is_in},
    {"integer", &plain<is_integer>},
    {"iterable", &plain<is_iterable>},
    {"le", &compared<is_less_equal>},
    {"lessthan", &compared<is_less>},
    {"lower", &has_case<false>},
    {"lt", &compared<is_less>},
    {"mapping", &plain<is_mapping>},
    {"ne", &compared<differs>},
    {"none", &plain<is_none>},
    {"number", &plain<is_a_number>},
    {"odd", &has_parity<1>},
    {"sameas", &compared<is_same>},
    {"sequence", &plain<is_sequence>},
    {"string", &plain<is_string>},
    {"test", &names_test},
    {"true", &plain<is_true>},
    {"undefined", &plain<is_undefined>},
    {"upper", &has_case<true>},
};

}  // namespace

const Test* find_test(std::string_view name) {
    for (const Test& test : k_tests)
        if (test.name == name) return &test;
    return nullptr;
}

std::string unknown_test(std::string_view name) {
    return fmt::format("No test named '{}'.", printable(name, 60));
}

}  // namespace ft::jinja
