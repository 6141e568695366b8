#include "text/jinja/parser.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "text/jinja/heap.h"

namespace ft::jinja {

namespace {

constexpr std::string_view k_special_names[] = {"caller", "varargs", "kwargs"};

std::string listed(std::initializer_list<std::string_view> names) {
    std::string out;
    for (const std::string_view name : names) out += fmt::format("{}'{}'", out.empty() ? "" : " or ", name);
    return out;
}

}  // namespace

Parser::Parser(std::string_view source) : lexer_(source), current_(lexer_.next()) {}

Parser::Nested::Nested(Parser& parser) : parser_(parser) {
    if (parser_.depth_ >= k_max_nesting)
        parser_.fail(fmt::format("the template is nested deeper than {} levels", k_max_nesting));
    parser_.depth_++;
}

Template Parser::run() {
    Template parsed;
    try {
        const NewNames top(*this, &parsed.body.own);
        parsed.body.statements = parse_block({}, "", 0);
    } catch (const Failure& failure) {
        if (failure.line != 0) throw;
        throw Failure(failure.what(), current_.line);
    }
    parsed.owned.resize(names_.size());
    resolve_own_names(parsed.owned);
    parsed.names = std::move(names_);
    return parsed;
}

const Token& Parser::peek() {
    if (!has_next_) next_ = lexer_.next();
    has_next_ = true;
    return next_;
}

Token Parser::take() {
    Token taken = std::move(current_);
    if (has_next_) current_ = std::move(next_);
    else current_ = lexer_.next();
    has_next_ = false;
    return taken;
}

bool Parser::accept_symbol(std::string_view symbol) {
    if (!current_.is_symbol(symbol)) return false;
    take();
    return true;
}

bool Parser::accept_name(std::string_view name) {
    if (!current_.is_name(name)) return false;
    take();
    return true;
}

void Parser::expect_symbol(std::string_view symbol) {
    if (!accept_symbol(symbol))
        fail(fmt::format("expected token '{}', got '{}'", symbol, describe(current_)));
}

std::string Parser::expect_any_name() {
    if (!current_.is(TokenKind::name))
        fail(fmt::format("expected token 'name', got '{}'", describe(current_)));
    return take().text;
}

void Parser::expect_block_end() {
    if (!current_.is(TokenKind::block_end))
        fail(fmt::format("expected token 'end of statement block', got '{}'", describe(current_)));
    take();
}

void Parser::fail_at(const std::string& message, int line) const { throw Failure(message, line); }

NameId Parser::intern(const std::string& name) {
    const auto [at, added] = ids_.try_emplace(name, static_cast<NameId>(names_.size()));
    if (added) names_.push_back(name);
    return at->second;
}

NameId Parser::load_name(const std::string& name) {
    for (size_t i = 0; i < std::size(k_special_names); i++)
        if (name == k_special_names[i])
            for (MacroNames& macro : macros_) macro.read[i] = macro.read[i] || !macro.set[i];
    const NameId id = intern(name);
    names_here().mentioned.try_emplace(id, false);
    return id;
}

void Parser::store_name(NameId name) {
    for (size_t i = 0; i < std::size(k_special_names); i++)
        if (names_[name] == k_special_names[i])
            for (MacroNames& macro : macros_) macro.set[i] = true;
    names_here().mentioned.try_emplace(name, names_here().if_depth == 0);
}

void Parser::store(const Target& target, bool parameter) {
    if (target.kind == Target::Kind::several) {
        for (const Target& item : target.items) store(item, parameter);
    } else if (target.kind == Target::Kind::name) {
        store_name(target.name);
        if (parameter) names_here().mentioned[target.name] = false;
    } else {
        load_name(names_[target.name]);
    }
}

// A block owns a name that it sets first when no block around it mentions that name. Blocks come in the order
// in which they open, so those around one are the last ones that are still open.
void Parser::resolve_own_names(std::vector<bool>& owned) {
    std::vector<int> open;
    std::vector<int> mentions(names_.size(), 0);  // by NameId: open blocks that mention it
    for (int i = 0; i < static_cast<int>(blocks_.size()); i++) {
        Names& block = blocks_[static_cast<size_t>(i)];
        while (!open.empty() && open.back() != block.outer) {
            for (const auto& [name, unused] : blocks_[static_cast<size_t>(open.back())].mentioned)
                mentions[name]--;
            open.pop_back();
        }
        for (const auto& [name, set_first] : block.mentioned) {
            if (set_first && mentions[name] == 0 && block.own != nullptr) {
                block.own->push_back(name);
                owned[name] = true;
            }
            mentions[name]++;
        }
        open.push_back(i);
    }
}

// Statements until one of the `ends` tags, whose name is then the current token; without ends until the
// source's end.
Block Parser::parse_block(std::initializer_list<std::string_view> ends, std::string_view tag, int tag_line) {
    Block block;
    for (;;) {
        switch (current_.kind) {
            case TokenKind::text: {
                const int line = current_.line;
                block.push_back(std::make_unique<TextStatement>(take().text, line));
                break;
            }
            case TokenKind::print_begin: {
                auto print = std::make_unique<PrintStatement>(take().line);
                print->values.push_back(parse_tuple(true, false));
                if (!current_.is(TokenKind::print_end))
                    fail(
                        fmt::format("expected token 'end of print statement', got '{}'", describe(current_)));
                take();
                block.push_back(std::move(print));
                break;
            }
            case TokenKind::block_begin:
                take();
                if (current_.is(TokenKind::name) &&
                    std::find(ends.begin(), ends.end(), current_.text) != ends.end())
                    return block;
                parse_tag(block);
                break;
            default:
                if (ends.size() == 0) return block;
                fail(fmt::format(
                    "Unexpected end of template: the '{}' of line {} is not closed, {} is missing", tag,
                    tag_line, listed(ends)));
        }
    }
}

void Parser::parse_tag(Block& into) {
    if (!current_.is(TokenKind::name)) fail("tag name expected");
    const Nested level(*this);
    into.push_back(parse_statement());
    expect_block_end();
}

void Parser::unknown_tag(const Token& name) {
    constexpr std::string_view k_refused[] = {"block", "extends", "include", "import", "from", "autoescape"};
    if (std::find(std::begin(k_refused), std::end(k_refused), name.text) != std::end(k_refused))
        fail_at(fmt::format("the tag '{}' is not supported", name.text), name.line);
    fail_at(fmt::format("Encountered unknown tag '{}'.", printable(name.text, 60)), name.line);
}

std::unique_ptr<Statement> Parser::parse_statement() {
    const std::string& name = current_.text;
    if (name == "if") return parse_if();
    if (name == "for") return parse_for();
    if (name == "set") return parse_set();
    if (name == "macro") return parse_macro();
    if (name == "call") return parse_call_block();
    if (name == "filter") return parse_filter_block();
    if (name == "with") return parse_with();
    if (name == "print") return parse_print_tag();
    if (name == "generation") return parse_generation();
    if (name == "break") return parse_leave(StatementKind::leave);
    if (name == "continue") return parse_leave(StatementKind::next);
    unknown_tag(current_);
}

std::unique_ptr<Statement> Parser::parse_print_tag() {
    auto print = std::make_unique<PrintStatement>(take().line);
    while (!current_.is(TokenKind::block_end)) {
        if (!print->values.empty()) expect_symbol(",");
        print->values.push_back(parse_expression());
    }
    return print;
}

std::unique_ptr<Statement> Parser::parse_leave(StatementKind kind) {
    const Token name = take();
    if (loops_ == 0) fail_at(fmt::format("'{}' outside of a loop", name.text), name.line);
    return std::make_unique<Statement>(kind, name.line);
}

std::unique_ptr<Statement> Parser::parse_if() {
    const int line = take().line;
    auto statement = std::make_unique<IfStatement>(line);
    const bool was_soft = std::exchange(soft_, true);
    std::string ended;
    const int here = names_now_;
    names_here().if_depth++;
    do {
        IfStatement::Branch& branch = statement->branches.emplace_back();
        branch.test = parse_tuple(false, false);
        expect_block_end();
        branch.body = parse_block({"elif", "else", "endif"}, "if", line);
        ended = take().text;
    } while (ended == "elif");
    if (ended == "else") {
        expect_block_end();
        statement->otherwise = parse_block({"endif"}, "if", line);
        take();
    }
    blocks_[static_cast<size_t>(here)].if_depth--;
    soft_ = was_soft;
    return statement;
}

// The names of the body are open already.
void Parser::parse_body(Body& body, std::initializer_list<std::string_view> ends, std::string_view tag,
                        int tag_line) {
    expect_block_end();
    const bool was_soft = std::exchange(soft_, false);
    body.statements = parse_block(ends, tag, tag_line);
    soft_ = was_soft;
}

std::unique_ptr<Statement> Parser::parse_for() {
    const int line = take().line;
    auto statement = std::make_unique<ForStatement>(line);
    statement->target = parse_target(false);
    if (!accept_name("in")) fail(fmt::format("expected token 'in', got '{}'", describe(current_)));
    statement->items = parse_tuple(false, false);
    if (accept_name("if")) {
        const NewNames names(*this, nullptr);
        store(statement->target, true);
        statement->filter = parse_expression();
    }
    statement->recursive = accept_name("recursive");
    {
        const NewNames names(*this, &statement->body.own);
        store(statement->target, true);
        loops_++;
        parse_body(statement->body, {"endfor", "else"}, "for", line);
        loops_--;
    }
    if (take().text == "else") {
        const NewNames names(*this, &statement->otherwise.own);
        parse_body(statement->otherwise, {"endfor"}, "for", line);
        take();
    }
    return statement;
}

std::unique_ptr<Statement> Parser::parse_set() {
    const int line = take().line;
    Target target = parse_target(true);
    if (accept_symbol("=")) {
        auto statement = std::make_unique<SetStatement>(line);
        statement->target = std::move(target);
        statement->value = parse_tuple(true, false);
        store(statement->target);
        return statement;
    }
    auto statement = std::make_unique<SetBlockStatement>(line);
    statement->target = std::move(target);
    statement->filters = parse_filter_list();
    store(statement->target);
    const NewNames names(*this, &statement->body.own);
    const int outer_loops = std::exchange(loops_, 0);  // no break leaves a body whose text is wanted
    parse_body(statement->body, {"endset"}, "set", line);
    loops_ = outer_loops;
    take();
    return statement;
}

Target Parser::parse_one_target(bool with_attribute) {
    const Nested level(*this);
    Target target;
    if (accept_symbol("(")) {
        target.kind = Target::Kind::several;
        bool comma = false;
        while (!current_.is_symbol(")")) {
            if (!target.items.empty()) {
                expect_symbol(",");
                comma = true;
                if (current_.is_symbol(")")) break;
            }
            target.items.push_back(parse_one_target(false));
        }
        expect_symbol(")");
        if (target.items.size() == 1 && !comma) return std::move(target.items[0]);
        return target;
    }
    if (!current_.is(TokenKind::name)) {
        if (current_.is(TokenKind::string) || current_.is(TokenKind::integer) || current_.is(TokenKind::real))
            fail("can't assign to 'const'");
        fail(fmt::format("Expected an expression, got '{}'", describe(current_)));
    }
    const Token name = take();
    constexpr std::string_view k_constants[] = {"true", "false", "none", "True", "False", "None"};
    if (std::find(std::begin(k_constants), std::end(k_constants), name.text) != std::end(k_constants))
        fail_at("can't assign to 'const'", name.line);
    if (current_.is_symbol(".") && with_attribute) {
        take();
        target.kind = Target::Kind::attribute;
        target.attribute = expect_any_name();
        target.name = intern(name.text);
        return target;
    }
    target.name = intern(name.text);
    return target;
}

Target Parser::parse_target(bool with_attribute) {
    Target first = parse_one_target(with_attribute);
    if (!current_.is_symbol(",")) return first;
    if (first.kind == Target::Kind::attribute)
        fail("a namespace attribute among several targets is not supported");
    Target several;
    several.kind = Target::Kind::several;
    several.items.push_back(std::move(first));
    while (accept_symbol(",")) {
        if (current_.is_symbol("=") || current_.is(TokenKind::block_end)) break;
        several.items.push_back(parse_one_target(false));
    }
    return several;
}

void Parser::parse_parameters(MacroStatement& macro) {
    expect_symbol("(");
    while (!current_.is_symbol(")")) {
        if (!macro.parameters.empty()) expect_symbol(",");
        const Token name = current_;
        Parameter parameter;
        parameter.name = expect_any_name();
        if (parameter.name == "caller") fail_at("a parameter named 'caller' is not supported", name.line);
        parameter.id = intern(parameter.name);
        store_name(parameter.id);
        names_here().mentioned[parameter.id] = false;
        if (accept_symbol("=")) parameter.otherwise = parse_expression();
        else if (!macro.parameters.empty() && macro.parameters.back().otherwise)
            fail("non-default argument follows default argument");
        macro.parameters.push_back(std::move(parameter));
    }
    expect_symbol(")");
}

void Parser::parse_macro_body(MacroStatement& macro, std::string_view end, std::string_view tag) {
    macros_.emplace_back();
    const int outer_loops = std::exchange(loops_, 0);
    parse_body(macro.body, {end}, tag, macro.line);
    take();
    loops_ = outer_loops;
    const MacroNames names = macros_.back();
    macros_.pop_back();
    macro.uses_caller = names.read[0];
    macro.uses_varargs = names.read[1];
    macro.uses_kwargs = names.read[2];
}

std::unique_ptr<Statement> Parser::parse_macro() {
    auto macro = std::make_unique<MacroStatement>(take().line);
    macro->name = expect_any_name();
    macro->id = intern(macro->name);
    store_name(macro->id);
    const NewNames names(*this, &macro->body.own);
    parse_parameters(*macro);
    parse_macro_body(*macro, "endmacro", "macro");
    return macro;
}

std::unique_ptr<Statement> Parser::parse_call_block() {
    auto statement = std::make_unique<CallStatement>(take().line);
    statement->caller = std::make_unique<MacroStatement>(statement->line);
    statement->caller->name = "caller";
    // The call belongs to the block around, the parameters to the body.
    const int outside = names_now_;
    const NewNames names(*this, &statement->caller->body.own);
    if (current_.is_symbol("(")) parse_parameters(*statement->caller);
    const int inside = std::exchange(names_now_, outside);
    ExpressionPtr call = parse_expression();
    names_now_ = inside;
    auto* chain = call->kind == ExpressionKind::chain ? static_cast<ChainExpression*>(call.get()) : nullptr;
    if (chain == nullptr || chain->links.back().kind != LinkKind::call) fail("expected call");
    statement->call.reset(static_cast<ChainExpression*>(call.release()));
    parse_macro_body(*statement->caller, "endcall", "call");
    return statement;
}

std::unique_ptr<Statement> Parser::parse_filter_block() {
    auto statement = std::make_unique<FilterStatement>(take().line);
    statement->filters.push_back(parse_filter());
    for (Link& link : parse_filter_list()) statement->filters.push_back(std::move(link));
    const NewNames names(*this, &statement->body.own);
    const int outer_loops = std::exchange(loops_, 0);
    parse_body(statement->body, {"endfilter"}, "filter", statement->line);
    loops_ = outer_loops;
    take();
    return statement;
}

std::unique_ptr<Statement> Parser::parse_with() {
    auto statement = std::make_unique<WithStatement>(take().line);
    while (!current_.is(TokenKind::block_end)) {
        if (!statement->variables.empty()) expect_symbol(",");
        Target target = parse_one_target(false);
        expect_symbol("=");
        ExpressionPtr value = parse_expression();
        statement->variables.emplace_back(std::move(target), std::move(value));
    }
    const NewNames names(*this, &statement->body.own);
    for (const auto& [target, unused] : statement->variables) store(target, true);
    parse_body(statement->body, {"endwith"}, "with", statement->line);
    take();
    return statement;
}

std::unique_ptr<Statement> Parser::parse_generation() {
    auto statement = std::make_unique<ScopedStatement>(take().line);
    const int outer_loops = std::exchange(loops_, 0);  // the reference makes a function of the body
    const NewNames names(*this, &statement->body.own);
    parse_body(statement->body, {"endgeneration"}, "generation", statement->line);
    loops_ = outer_loops;
    take();
    return statement;
}

Template parse_template(std::string_view source) { return Parser(source).run(); }

}  // namespace ft::jinja
