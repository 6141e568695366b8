// Recursive descent over the tokens. Statements: parser.cpp; expressions: parse_expression.cpp.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"
#include "text/jinja/template.h"

namespace ft::jinja {

class Parser {
 public:
    explicit Parser(std::string_view source);
    Template run();

 private:
    // ---- statements
    Block parse_block(std::initializer_list<std::string_view> ends, std::string_view tag, int tag_line);
    void parse_tag(Block& into);
    std::unique_ptr<Statement> parse_statement();
    std::unique_ptr<Statement> parse_print_tag();
    std::unique_ptr<Statement> parse_if();
    std::unique_ptr<Statement> parse_for();
    std::unique_ptr<Statement> parse_set();
    std::unique_ptr<Statement> parse_macro();
    std::unique_ptr<Statement> parse_call_block();
    std::unique_ptr<Statement> parse_filter_block();
    std::unique_ptr<Statement> parse_with();
    std::unique_ptr<Statement> parse_generation();
    std::unique_ptr<Statement> parse_leave(StatementKind kind);
    void parse_parameters(MacroStatement& macro);
    void parse_macro_body(MacroStatement& macro, std::string_view end, std::string_view tag);
    Target parse_target(bool with_attribute);
    Target parse_one_target(bool with_attribute);
    void parse_body(Body& body, std::initializer_list<std::string_view> ends, std::string_view tag,
                    int tag_line);
    void expect_block_end();
    [[noreturn]] void unknown_tag(const Token& name);

    // ---- expressions
    ExpressionPtr parse_expression();        // with a if b else c
    ExpressionPtr parse_plain_expression();  // without
    ExpressionPtr parse_tuple(bool with_choice, bool in_brackets);
    ExpressionPtr parse_logic(bool all);
    ExpressionPtr parse_not();
    ExpressionPtr parse_compare();
    bool take_comparison(Comparison& op);
    ExpressionPtr parse_sum();
    ExpressionPtr parse_concat();
    ExpressionPtr parse_product();
    ExpressionPtr parse_power();
    ExpressionPtr parse_unary(bool with_filters);
    ExpressionPtr parse_primary();
    ExpressionPtr parse_name();
    ExpressionPtr parse_list();
    ExpressionPtr parse_dict();
    ExpressionPtr parse_postfix(ExpressionPtr value);
    ExpressionPtr parse_filters_and_tests(ExpressionPtr value);
    Link parse_subscript();
    Link parse_item();
    Link parse_filter();
    Link parse_test();
    std::vector<Link> parse_filter_list();
    CallArguments parse_arguments();
    std::string parse_dotted_name();
    void bind_filter(Link& link);
    void bind_test(Link& link);

    // ---- tokens
    const Token& token() const { return current_; }
    const Token& peek();
    Token take();
    bool accept_symbol(std::string_view symbol);
    bool accept_name(std::string_view name);
    void expect_symbol(std::string_view symbol);
    std::string expect_any_name();
    [[noreturn]] void fail(const std::string& message) const { fail_at(message, current_.line); }
    [[noreturn]] void fail_at(const std::string& message, int line) const;

    NameId intern(const std::string& name);
    NameId load_name(const std::string& name);
    void store_name(NameId name);
    void store(const Target& target, bool parameter = false);
    void resolve_own_names(std::vector<bool>& owned);

    // Counts one level of nesting while it lives.
    class Nested {
     public:
        explicit Nested(Parser& parser);
        ~Nested() { parser_.depth_--; }
        Nested(const Nested&) = delete;
        Nested& operator=(const Nested&) = delete;

     private:
        Parser& parser_;
    };

    // Which of caller, varargs and kwargs a macro being parsed reads before it sets them.
    struct MacroNames {
        bool read[3] = {false, false, false};
        bool set[3] = {false, false, false};
    };

    // The names that a block with variables of its own mentions. Blocks are numbered as they open.
    struct Names {
        int outer = -1;
        std::vector<NameId>* own = nullptr;
        int if_depth = 0;
        std::unordered_map<NameId, bool> mentioned;  // true: set before it is read, not only inside an if
    };
    // Opens such a block while it lives. own may be null where the block can set nothing.
    class NewNames {
     public:
        NewNames(Parser& parser, std::vector<NameId>* own) : parser_(parser), before_(parser.names_now_) {
            parser_.blocks_.push_back({before_, own, 0, {}});
            parser_.names_now_ = static_cast<int>(parser_.blocks_.size()) - 1;
        }
        ~NewNames() { parser_.names_now_ = before_; }
        NewNames(const NewNames&) = delete;
        NewNames& operator=(const NewNames&) = delete;

     private:
        Parser& parser_;
        int before_;
    };
    Names& names_here() { return blocks_[static_cast<size_t>(names_now_)]; }

    Lexer lexer_;
    Token current_;
    Token next_;
    bool has_next_ = false;
    int depth_ = 0;
    int loops_ = 0;  // for blocks that a break may leave
    bool soft_ =
        false;  // inside an if or a choice: unknown filters and tests fail only when they are reached
    std::vector<MacroNames> macros_;
    std::vector<Names> blocks_;
    int names_now_ = -1;
    std::unordered_map<std::string, NameId> ids_;
    std::vector<std::string> names_;
};

}  // namespace ft::jinja
