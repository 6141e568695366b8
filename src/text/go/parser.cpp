#include "text/go/parser.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "base/error.h"
#include "base/utf8.h"
#include "text/go/functions.h"
#include "text/go/lexer.h"
#include "text/jinja/heap.h"

namespace ft::go {

namespace {

constexpr std::string_view k_statements[] = {"if",    "else",     "end",    "range",    "with",
                                             "break", "continue", "define", "template", "block"};

bool is_statement(std::string_view name) {
    return std::find(std::begin(k_statements), std::end(k_statements), name) != std::end(k_statements);
}

class TemplateParser {
 public:
    explicit TemplateParser(std::string_view source) : lexer_(source), token_(lexer_.next()) {}

    Template run() {
        const std::string ended = parse_block(out_.body);
        if (!ended.empty()) fail(fmt::format("{{{{ {} }}}} ends nothing", ended));
        if (!out_.reads_messages && !reads_response_) add_response();
        for (const auto& [name, line] : called_)
            if (!out_.defined.contains(name))
                throw jinja::Failure(fmt::format("no template {} is defined", printable(name, 60)), line);
        return std::move(out_);
    }

 private:
    // ---- statements

    // Up to the {{ end }} or {{ else, whose name it gives, or the end of the source: "".
    std::string parse_block(Block& block) {
        while (!token_.is(TokenKind::end)) {
            if (token_.is(TokenKind::text)) {
                Node& node = add(block, NodeKind::text);
                node.text = take().text;
                continue;
            }
            take();  // {{
            if (token_.is_name("end") || token_.is_name("else")) return take().text;
            if (token_.is(TokenKind::name) && is_statement(token_.text)) parse_statement(block);
            else parse_action(block);
        }
        return "";
    }

    void parse_action(Block& block) {
        Node& node = add(block, NodeKind::action);
        action_ = in_define_ ? nullptr : &node;
        node.pipeline = parse_pipeline(1);
        action_ = nullptr;
        close();
    }

    void parse_statement(Block& block) {
        const std::string name = take().text;
        if (name == "if") return parse_branch(block, NodeKind::branch, name);
        if (name == "with") return parse_branch(block, NodeKind::with, name);
        if (name == "range") return parse_branch(block, NodeKind::range, name);
        if (name == "template") return parse_call(block);
        if (name == "define" || name == "block") return parse_define(block, name == "block");
        if (loops_ == 0) fail(fmt::format("{{{{ {} }}}} stands in no range", name));
        add(block, name == "break" ? NodeKind::leave : NodeKind::next);
        close();
    }

    // if, with and range, from behind the word; an else if is a branch in the else part.
    void parse_branch(Block& block, NodeKind kind, const std::string& word) {
        const Nesting nesting(*this);
        const size_t outer = variables_.size();
        Node& node = add(block, kind);
        const int begun = node.line;
        node.pipeline = parse_pipeline(kind == NodeKind::range ? 2 : 1);
        close();
        const size_t own = variables_.size();
        loops_ += kind == NodeKind::range;
        std::string ended = parse_block(node.body);
        loops_ -= kind == NodeKind::range;
        variables_.resize(own);
        if (ended == "else") ended = parse_else(node, kind);
        variables_.resize(outer);
        if (ended.empty())
            throw jinja::Failure(fmt::format("{{{{ {} }}}} has no {{{{ end }}}}", word), begun);
        if (ended == "else") fail("a second else");
        if (ended == "end") close();
    }

    // From behind the word else. "ended": the branch of an else if has taken the end of all.
    std::string parse_else(Node& node, NodeKind kind) {
        if (!token_.is_name("if") && !token_.is_name("with")) {
            close();
            return parse_block(node.otherwise);
        }
        const std::string word = take().text;
        const NodeKind next = word == "if" ? NodeKind::branch : NodeKind::with;
        if (kind != next) fail(fmt::format("else {} belongs to no {}", word, word));
        parse_branch(node.otherwise, next, word);
        return "ended";
    }

    void parse_call(Block& block) {
        Node& node = add(block, NodeKind::call);
        node.text = template_name();
        called_.emplace_back(node.text, node.line);
        if (!token_.is(TokenKind::close)) node.pipeline = parse_pipeline(0);
        close();
    }

    void parse_define(Block& block, bool at_once) {
        const Nesting nesting(*this);
        const int begun = token_.line;
        const std::string name = template_name();
        if (at_once) {
            Node& node = add(block, NodeKind::call);
            node.text = name;
            node.pipeline = parse_pipeline(0);
        }
        close();
        const std::vector<std::string> waiting = std::exchange(variables_, {"$"});
        const int loops = std::exchange(loops_, 0);
        const bool inside = std::exchange(in_define_, true);
        Block body;
        if (parse_block(body) != "end")
            throw jinja::Failure(fmt::format("the template {} has no end", printable(name, 60)), begun);
        close();
        variables_ = waiting;
        loops_ = loops;
        in_define_ = inside;
        out_.defined[name] = std::move(body);
    }

    std::string template_name() {
        if (!token_.is(TokenKind::string)) fail("a template's name is a text in quotes");
        return take().text;
    }

    // Ollama gives templates that show neither messages nor the response the latter, at their end.
    void add_response() {
        Node& node = add(out_.body, NodeKind::action);
        Operand response;
        response.path.push_back("Response");
        node.pipeline.line = node.line;
        node.pipeline.commands.emplace_back().operands.push_back(std::move(response));
        out_.response = node.order;
    }

    // ---- pipelines

    // Up to the } or ) that ends it. most: the variables that it may declare.
    Pipeline parse_pipeline(size_t most) {
        const Nesting nesting(*this);
        Pipeline pipeline;
        pipeline.line = token_.line;
        std::vector<std::string> names;
        std::optional<Operand> first;  // a variable that turned out to be the first operand
        if (token_.is(TokenKind::variable)) first = parse_declaration(most, names);
        const bool declares = !names.empty() && take().text == ":=";
        for (const std::string& name : names)
            if (!declares) pipeline.variables.push_back(place_of(name));
        do parse_command(pipeline, std::exchange(first, std::nullopt));
        while (take_symbol("|"));
        if (declares)
            for (std::string& name : names) {
                pipeline.variables.push_back(variables_.size());
                variables_.push_back(std::move(name));
            }
        return pipeline;
    }

    // From a variable: either its name, and those after commas, before := or =; or an operand.
    std::optional<Operand> parse_declaration(size_t most, std::vector<std::string>& names) {
        const Token variable = take();
        const bool more = token_.is_symbol(",");
        if (!more && !token_.is_symbol(":=") && !token_.is_symbol("=")) return operand_of(variable);
        names.push_back(variable.text);
        while (take_symbol(",")) {
            if (!token_.is(TokenKind::variable)) unexpected("a variable");
            names.push_back(take().text);
        }
        if (!token_.is_symbol(":=") && !token_.is_symbol("=")) unexpected(":= or =");
        if (names.size() > most) fail("more variables are set than can be here");
        return std::nullopt;
    }

    void parse_command(Pipeline& pipeline, std::optional<Operand> first) {
        Command command;
        const bool piped = !pipeline.commands.empty();
        if (first) command.operands.push_back(std::move(*first));
        else if (token_.is(TokenKind::name) && !is_constant(token_.text))
            command.function = function_of(take().text);
        while (!ends_command()) {
            if (command.function == nullptr && !command.operands.empty())
                fail("only a function takes arguments");
            command.operands.push_back(parse_operand());
        }
        if (command.function) check_arguments(command, piped);
        else if (command.operands.empty()) unexpected("a value");
        else if (piped) fail("only a function can stand behind |");
        else if (command.operands[0].kind == OperandKind::nil && command.operands[0].path.empty())
            fail("nil alone is no value");
        pipeline.commands.push_back(std::move(command));
    }

    bool ends_command() const {
        return token_.is(TokenKind::close) || token_.is_symbol("|") || token_.is_symbol(")");
    }

    void check_arguments(const Command& command, bool piped) {
        const size_t n = command.operands.size() + (piped ? 1 : 0);
        const Function& function = *command.function;
        if (n < function.least || n > function.most)
            fail(fmt::format("{} does not take {} arguments", function.name, n));
        if (function.name == "printf" && !command.operands.empty() &&
            command.operands[0].kind == OperandKind::text)
            with_line([&] { check_format(command.operands[0].text); });
    }

    static bool is_constant(std::string_view name) {
        return name == "true" || name == "false" || name == "nil";
    }

    const Function* function_of(const std::string& name) {
        const Function* function = find_function(name);
        if (!function) fail(fmt::format("the function {} is not offered", printable(name, 60)));
        return function;
    }

    Operand parse_operand() {
        if (token_.is_symbol("(")) {
            take();
            Operand operand;
            operand.kind = OperandKind::pipeline;
            operand.inner = std::make_shared<Pipeline>(parse_pipeline(0));
            if (!take_symbol(")")) unexpected(")");
            take_path(operand);
            return operand;
        }
        if (token_.is(TokenKind::symbol) || token_.is(TokenKind::close)) unexpected("a value");
        return operand_of(take());
    }

    Operand operand_of(const Token& token) {
        Operand operand;
        switch (token.kind) {
            case TokenKind::dot:
                break;
            case TokenKind::field:
                operand.path.push_back(token.text);
                take_path(operand);
                note_names(operand);
                if (action_ && out_.response == UINT32_MAX &&
                    std::find(operand.path.begin(), operand.path.end(), "Response") != operand.path.end())
                    out_.response = action_->order;
                break;
            case TokenKind::variable:
                operand.kind = OperandKind::variable;
                operand.integer = static_cast<int64_t>(place_of(token.text));
                take_path(operand);
                note_names(operand);
                break;
            case TokenKind::string:
                operand.kind = OperandKind::text;
                operand.text = token.text;
                break;
            case TokenKind::integer:
                operand.kind = OperandKind::integer;
                operand.integer = token.integer;
                break;
            case TokenKind::real:
                operand.kind = OperandKind::real;
                operand.real = token.real;
                break;
            default:
                set_name(operand, token.text);
        }
        if (token_.is(TokenKind::field) && !token_.spaced) unexpected("a blank");
        return operand;
    }

    void set_name(Operand& operand, const std::string& name) {
        if (name == "nil") {
            operand.kind = OperandKind::nil;
        } else if (is_constant(name)) {
            operand.kind = OperandKind::boolean;
            operand.integer = name == "true";
        } else {
            operand.kind = OperandKind::call;
            operand.function = function_of(name);
            if (operand.function->least > 0)
                fail(fmt::format("{} with its arguments belongs in parentheses", operand.function->name));
        }
    }

    void take_path(Operand& operand) {
        while (token_.is(TokenKind::field) && !token_.spaced) operand.path.push_back(take().text);
    }

    // Names of fields decide how Ollama renders a template.
    void note_names(const Operand& operand) {
        for (const std::string& name : operand.path) {
            out_.reads_messages = out_.reads_messages || same_in_any_case(name, "messages");
            reads_response_ = reads_response_ || same_in_any_case(name, "response");
        }
    }

    size_t place_of(const std::string& name) {
        for (size_t i = variables_.size(); i-- > 0;)
            if (variables_[i] == name) return i;
        fail(fmt::format("the variable {} is not declared", printable(name, 60)));
    }

    // ---- tokens

    class Nesting {
     public:
        explicit Nesting(TemplateParser& parser) : parser_(parser) {
            if (++parser_.depth_ > jinja::k_max_nesting)
                parser_.fail(fmt::format("it is nested deeper than {} levels", jinja::k_max_nesting));
        }
        ~Nesting() { parser_.depth_--; }
        Nesting(const Nesting&) = delete;
        Nesting& operator=(const Nesting&) = delete;

     private:
        TemplateParser& parser_;
    };

    Node& add(Block& block, NodeKind kind) {
        Node& node = block.emplace_back();
        node.kind = kind;
        node.line = token_.line;
        node.order = next_order_++;
        return node;
    }

    Token take() { return std::exchange(token_, lexer_.next()); }

    bool take_symbol(std::string_view symbol) {
        if (!token_.is_symbol(symbol)) return false;
        take();
        return true;
    }

    void close() {
        if (!token_.is(TokenKind::close)) unexpected("}}");
        take();
    }

    template <class F>
    void with_line(const F& check) {
        try {
            check();
        } catch (const jinja::Failure& failure) {
            fail(failure.what());
        }
    }

    [[noreturn]] void fail(const std::string& what) const { throw jinja::Failure(what, token_.line); }
    [[noreturn]] void unexpected(std::string_view wanted) const {
        fail(fmt::format("{} stands where {} is expected", describe(token_), wanted));
    }

    Lexer lexer_;
    Token token_;  // the next one
    Template out_;
    std::vector<std::string> variables_ = {"$"};  // in reach, by their places
    std::vector<std::pair<std::string, int>> called_;
    Node* action_ = nullptr;  // the action of the template's own body that is being read
    bool in_define_ = false, reads_response_ = false;
    int loops_ = 0, depth_ = 0;
    uint32_t next_order_ = 0;
};

// Whether what stands behind {{ is only Go's.
bool begins_like_go(std::string_view inside) {
    if (inside.starts_with("- ")) inside.remove_prefix(1);
    inside.remove_prefix(std::min(inside.find_first_not_of(" \t\r\n"), inside.size()));
    if (inside.starts_with(".") || inside.starts_with("$") || inside.starts_with("/*")) return true;
    return inside.starts_with("if ");
}

// .Name or $ behind a blank or a parenthesis, which Jinja writes nowhere.
bool holds_go(std::string_view inside) {
    for (size_t i = 1; i + 1 < inside.size(); i++) {
        const bool begins = inside[i - 1] == ' ' || inside[i - 1] == '(';
        const char next = inside[i + 1];
        const bool letter = is_ascii_letter(next), capital = letter && ascii_lower(next) != next;
        if (begins && ((inside[i] == '.' && capital) || (inside[i] == '$' && (letter || next == '.'))))
            return true;
    }
    return false;
}

}  // namespace

bool looks_like_go(std::string_view source) {
    if (source.find("{%") != std::string_view::npos) return false;
    for (size_t at = source.find("{{"); at != std::string_view::npos;) {
        const size_t close = std::min(source.find("}}", at), source.size());
        const std::string_view inside = source.substr(at + 2, std::max(close, at + 2) - at - 2);
        if (begins_like_go(inside) || holds_go(inside)) return true;
        at = source.find("{{", close);
    }
    return false;
}

Template parse_template(std::string_view source) {
    if (!is_utf8(source)) throw jinja::Failure("the template is not UTF-8");
    return TemplateParser(source).run();
}

}  // namespace ft::go
