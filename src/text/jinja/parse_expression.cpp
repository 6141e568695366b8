// Precedence, loosest first: a if b else c; or; and; not; comparisons and in; + -; ~; * / // %; **; unary -
// +; .name [item] (call); |filter and is test.
#include <algorithm>

#include "base/error.h"
#include "text/jinja/filters.h"
#include "text/jinja/heap.h"
#include "text/jinja/parser.h"
#include "text/jinja/tests.h"

namespace ft::jinja {

ExpressionPtr Parser::parse_expression() {
    const Nested level(*this);
    ExpressionPtr value = parse_logic(false);
    if (!current_.is_name("if")) return value;
    const bool was_soft = std::exchange(soft_, true);
    auto choice = std::make_unique<ChoiceExpression>(current_.line);
    choice->value = std::move(value);
    while (accept_name("if")) {
        ChoiceExpression::Branch& branch = choice->branches.emplace_back();
        branch.test = parse_logic(false);
        if (accept_name("else")) branch.otherwise = parse_expression();
    }
    soft_ = was_soft;
    return choice;
}

ExpressionPtr Parser::parse_plain_expression() {
    const Nested level(*this);
    return parse_logic(false);
}

// One expression, or several with commas between them: a tuple. In brackets nothing at all is the empty
// tuple.
ExpressionPtr Parser::parse_tuple(bool with_choice, bool in_brackets) {
    const int line = current_.line;
    const auto ended = [&] {
        return current_.is(TokenKind::print_end) || current_.is(TokenKind::block_end) ||
               current_.is_symbol(")");
    };
    auto tuple = std::make_unique<SequenceExpression>(true, line);
    bool comma = false;
    while (!ended()) {
        tuple->items.push_back(with_choice ? parse_expression() : parse_plain_expression());
        if (!current_.is_symbol(",")) break;
        take();
        comma = true;
    }
    if (comma) return tuple;
    if (!tuple->items.empty()) return std::move(tuple->items[0]);
    if (!in_brackets) fail(fmt::format("Expected an expression, got '{}'", describe(current_)));
    return tuple;
}

ExpressionPtr Parser::parse_logic(bool all) {
    const auto operand = [&] { return all ? parse_not() : parse_logic(true); };
    const std::string_view word = all ? "and" : "or";
    ExpressionPtr first = operand();
    if (!current_.is_name(word)) return first;
    auto logic = std::make_unique<LogicExpression>(all, current_.line);
    logic->items.push_back(std::move(first));
    while (accept_name(word)) logic->items.push_back(operand());
    return logic;
}

ExpressionPtr Parser::parse_not() {
    if (!current_.is_name("not")) return parse_compare();
    const Nested level(*this);
    auto negation = std::make_unique<NegationExpression>(take().line);
    negation->operand = parse_not();
    return negation;
}

bool Parser::take_comparison(Comparison& op) {
    struct Symbol {
        std::string_view text;
        Comparison op;
    };
    constexpr Symbol k_symbols[] = {{"==", Comparison::equal},  {"!=", Comparison::not_equal},
                                    {"<", Comparison::less},    {"<=", Comparison::less_equal},
                                    {">", Comparison::greater}, {">=", Comparison::greater_equal}};
    for (const Symbol& symbol : k_symbols)
        if (accept_symbol(symbol.text)) return op = symbol.op, true;
    if (accept_name("in")) return op = Comparison::in, true;
    if (!current_.is_name("not") || !peek().is_name("in")) return false;
    take();
    take();
    op = Comparison::not_in;
    return true;
}

ExpressionPtr Parser::parse_compare() {
    const int line = current_.line;
    ExpressionPtr first = parse_sum();
    Comparison op{};
    if (!take_comparison(op)) return first;
    auto compare = std::make_unique<CompareExpression>(line);
    compare->first = std::move(first);
    do {
        compare->rest.emplace_back(op, parse_sum());
    } while (take_comparison(op));
    return compare;
}

ExpressionPtr Parser::parse_sum() {
    ExpressionPtr first = parse_concat();
    if (!current_.is_symbol("+") && !current_.is_symbol("-")) return first;
    auto sum = std::make_unique<ArithmeticExpression>(current_.line);
    sum->first = std::move(first);
    while (current_.is_symbol("+") || current_.is_symbol("-")) {
        const Arithmetic op = take().text == "+" ? Arithmetic::add : Arithmetic::subtract;
        sum->rest.emplace_back(op, parse_concat());
    }
    return sum;
}

ExpressionPtr Parser::parse_concat() {
    ExpressionPtr first = parse_product();
    if (!current_.is_symbol("~")) return first;
    auto concat = std::make_unique<ConcatExpression>(current_.line);
    concat->items.push_back(std::move(first));
    while (accept_symbol("~")) concat->items.push_back(parse_product());
    return concat;
}

ExpressionPtr Parser::parse_product() {
    const auto operation = [&](Arithmetic& op) {
        if (current_.is_symbol("*")) op = Arithmetic::multiply;
        else if (current_.is_symbol("/")) op = Arithmetic::divide;
        else if (current_.is_symbol("//")) op = Arithmetic::floor_divide;
        else if (current_.is_symbol("%")) op = Arithmetic::modulo;
        else return false;
        return true;
    };
    ExpressionPtr first = parse_power();
    Arithmetic op{};
    if (!operation(op)) return first;
    auto product = std::make_unique<ArithmeticExpression>(current_.line);
    product->first = std::move(first);
    while (operation(op)) {
        take();
        product->rest.emplace_back(op, parse_power());
    }
    return product;
}

ExpressionPtr Parser::parse_power() {
    ExpressionPtr first = parse_unary(true);
    if (!current_.is_symbol("**")) return first;
    auto power = std::make_unique<ArithmeticExpression>(current_.line);
    power->first = std::move(first);
    while (accept_symbol("**")) power->rest.emplace_back(Arithmetic::power, parse_unary(true));
    return power;
}

ExpressionPtr Parser::parse_unary(bool with_filters) {
    ExpressionPtr value;
    if (current_.is_symbol("-") || current_.is_symbol("+")) {
        const Nested level(*this);
        const Token symbol = take();
        auto signed_value = std::make_unique<SignExpression>(symbol.text == "-", symbol.line);
        signed_value->operand = parse_unary(false);
        value = std::move(signed_value);
    } else {
        value = parse_primary();
    }
    value = parse_postfix(std::move(value));
    return with_filters ? parse_filters_and_tests(std::move(value)) : std::move(value);
}

ExpressionPtr Parser::parse_name() {
    const Token name = take();
    const std::string& text = name.text;
    if (text == "true" || text == "True")
        return std::make_unique<ConstantExpression>(Value::boolean(true), name.line);
    if (text == "false" || text == "False")
        return std::make_unique<ConstantExpression>(Value::boolean(false), name.line);
    if (text == "none" || text == "None") return std::make_unique<ConstantExpression>(Value(), name.line);
    return std::make_unique<NameExpression>(load_name(text), name.line);
}

ExpressionPtr Parser::parse_primary() {
    const int line = current_.line;
    if (current_.is(TokenKind::name)) return parse_name();
    if (current_.is(TokenKind::string)) {
        std::string text = take().text;
        while (current_.is(TokenKind::string)) text += take().text;  // 'a' 'b' is 'ab'
        return std::make_unique<ConstantExpression>(std::move(text), line);
    }
    if (current_.is(TokenKind::integer)) {
        const std::string digits = take().text;
        const std::optional<int64_t> value = parse_integer(digits, 0);
        if (!value) fail_at(fmt::format("'{}' is no integer", digits), line);
        return std::make_unique<ConstantExpression>(Value::integer(*value), line);
    }
    if (current_.is(TokenKind::real)) {
        std::string digits = take().text;
        const std::optional<double> value = parse_real(digits);
        if (!value) fail_at(fmt::format("'{}' is no number", digits), line);
        return std::make_unique<ConstantExpression>(Value::real(*value), line);
    }
    if (accept_symbol("(")) {
        ExpressionPtr value = parse_tuple(true, true);
        expect_symbol(")");
        return value;
    }
    if (current_.is_symbol("[")) return parse_list();
    if (current_.is_symbol("{")) return parse_dict();
    fail(fmt::format("unexpected '{}'", describe(current_)));
}

ExpressionPtr Parser::parse_list() {
    auto list = std::make_unique<SequenceExpression>(false, take().line);
    while (!current_.is_symbol("]")) {
        if (!list->items.empty()) expect_symbol(",");
        if (current_.is_symbol("]")) break;
        list->items.push_back(parse_expression());
    }
    expect_symbol("]");
    return list;
}

ExpressionPtr Parser::parse_dict() {
    auto dict = std::make_unique<DictExpression>(take().line);
    while (!current_.is_symbol("}")) {
        if (!dict->entries.empty()) expect_symbol(",");
        if (current_.is_symbol("}")) break;
        ExpressionPtr key = parse_expression();
        expect_symbol(":");
        ExpressionPtr value = parse_expression();
        dict->entries.emplace_back(std::move(key), std::move(value));
    }
    expect_symbol("}");
    return dict;
}

namespace {

// value as a chain that further links can be put on.
std::unique_ptr<ChainExpression> chain_of(ExpressionPtr value) {
    if (value->kind == ExpressionKind::chain)
        return std::unique_ptr<ChainExpression>(static_cast<ChainExpression*>(value.release()));
    auto chain = std::make_unique<ChainExpression>(value->line);
    chain->first = std::move(value);
    return chain;
}

Link link_of(LinkKind kind, int line) {
    Link link;
    link.kind = kind;
    link.line = line;
    return link;
}

}  // namespace

ExpressionPtr Parser::parse_postfix(ExpressionPtr value) {
    while (current_.is_symbol(".") || current_.is_symbol("[") || current_.is_symbol("(")) {
        auto chain = chain_of(std::move(value));
        if (current_.is_symbol("(")) {
            Link call = link_of(LinkKind::call, current_.line);
            call.arguments = parse_arguments();
            chain->links.push_back(std::move(call));
        } else {
            chain->links.push_back(parse_subscript());
        }
        value = std::move(chain);
    }
    return value;
}

ExpressionPtr Parser::parse_filters_and_tests(ExpressionPtr value) {
    while (current_.is_symbol("|") || current_.is_name("is") || current_.is_symbol("(")) {
        auto chain = chain_of(std::move(value));
        if (accept_symbol("|")) {
            chain->links.push_back(parse_filter());
        } else if (current_.is_name("is")) {
            chain->links.push_back(parse_test());
        } else {
            Link call = link_of(LinkKind::call, current_.line);
            call.arguments = parse_arguments();
            chain->links.push_back(std::move(call));
        }
        value = std::move(chain);
    }
    return value;
}

Link Parser::parse_subscript() {
    if (current_.is_symbol("[")) return parse_item();
    Link link = link_of(LinkKind::attribute, take().line);
    if (current_.is(TokenKind::name)) {
        link.name = take().text;
        return link;
    }
    if (!current_.is(TokenKind::integer)) fail("expected name or number");
    link.kind = LinkKind::item;
    link.index = parse_primary();
    return link;
}

Link Parser::parse_item() {
    Link link = link_of(LinkKind::item, take().line);
    if (current_.is_symbol("]")) fail("unexpected ']'");
    if (!current_.is_symbol(":")) link.index = parse_expression();
    if (current_.is_symbol(":")) {
        link.kind = LinkKind::slice;
        take();
        const auto left_out = [&] {
            return current_.is_symbol("]") || current_.is_symbol(",") || current_.is_symbol(":");
        };
        if (!left_out()) link.stop = parse_expression();
        if (accept_symbol(":") && !left_out()) link.step = parse_expression();
    }
    if (current_.is_symbol(",")) {
        if (link.kind == LinkKind::slice) fail("slices in several dimensions are not supported");
        auto tuple = std::make_unique<SequenceExpression>(true, link.line);
        tuple->items.push_back(std::move(link.index));
        while (accept_symbol(",")) tuple->items.push_back(parse_expression());
        link.index = std::move(tuple);
    }
    expect_symbol("]");
    return link;
}

std::string Parser::parse_dotted_name() {
    std::string name = expect_any_name();
    while (accept_symbol(".")) name += "." + expect_any_name();
    return name;
}

std::vector<Link> Parser::parse_filter_list() {
    std::vector<Link> links;
    while (accept_symbol("|")) links.push_back(parse_filter());
    return links;
}

// The name of the filter is the current token.
Link Parser::parse_filter() {
    Link link = link_of(LinkKind::filter, current_.line);
    link.name = parse_dotted_name();
    if (current_.is_symbol("(")) link.arguments = parse_arguments();
    bind_filter(link);
    return link;
}

Link Parser::parse_test() {
    Link link = link_of(LinkKind::test, take().line);
    link.negated = accept_name("not");
    link.name = parse_dotted_name();
    const bool word = current_.is(TokenKind::name) && !current_.is_name("else") && !current_.is_name("or") &&
                      !current_.is_name("and");
    const bool value = current_.is(TokenKind::string) || current_.is(TokenKind::integer) ||
                       current_.is(TokenKind::real) || current_.is_symbol("[") || current_.is_symbol("{");
    if (current_.is_symbol("(")) {
        link.arguments = parse_arguments();
    } else if (word || value) {
        if (current_.is_name("is")) fail("You cannot chain multiple tests with is");
        link.arguments.positional.push_back(parse_postfix(parse_primary()));
    }
    bind_test(link);
    return link;
}

void Parser::bind_filter(Link& link) {
    link.filter = find_filter(link.name);
    if (link.filter == nullptr && !soft_) fail_at(unknown_filter(link.name), link.line);
}

void Parser::bind_test(Link& link) {
    link.test = find_test(link.name);
    if (link.test == nullptr && !soft_) fail_at(unknown_test(link.name), link.line);
}

CallArguments Parser::parse_arguments() {
    constexpr const char* k_order = "invalid syntax for function call expression";
    constexpr size_t k_most_named = 256;
    CallArguments arguments;
    expect_symbol("(");
    bool first = true;
    while (!current_.is_symbol(")")) {
        if (!first) {
            expect_symbol(",");
            if (current_.is_symbol(")")) break;
        }
        first = false;
        if (accept_symbol("*")) {
            if (arguments.star || arguments.double_star) fail(k_order);
            arguments.star = parse_expression();
        } else if (accept_symbol("**")) {
            if (arguments.double_star) fail(k_order);
            arguments.double_star = parse_expression();
        } else if (current_.is(TokenKind::name) && peek().is_symbol("=")) {
            if (arguments.double_star) fail(k_order);
            std::string name = take().text;
            take();
            if (arguments.named.size() >= k_most_named)
                fail(fmt::format("a call has more than {} named arguments", k_most_named));
            for (const auto& [other, unused] : arguments.named)
                if (other == name) fail(fmt::format("the argument '{}' is given twice", name));
            arguments.named.emplace_back(std::move(name), parse_expression());
        } else {
            if (arguments.star || arguments.double_star || !arguments.named.empty()) fail(k_order);
            arguments.positional.push_back(parse_expression());
        }
    }
    expect_symbol(")");
    return arguments;
}

}  // namespace ft::jinja
