#include "text/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <limits>
#include <string>

#include "base/check.h"
#include "base/log.h"

namespace ft {

namespace {

// White_Space as the inside of a class.
constexpr std::string_view k_space =
    R"(\x09-\x0d\x20\x85\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

struct Shorthand {
    std::string_view name;
    std::string_view meaning;
};
constexpr Shorthand k_shorthands[] = {
    {"<U>", R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"},
    {"<L>", R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"},
    {"<C>", R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"},
    {"<ASCII-P>", R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~])"},
};

// The expression as PCRE2 takes it: shorthands of pretokenizer_rules.h written out.
std::string written_out(std::string_view expression) {
    std::string out;
    bool in_class = false;
    while (!expression.empty()) {
        size_t taken = 1;
        if (!in_class)
            for (const Shorthand& s : k_shorthands)
                if (expression.starts_with(s.name)) {
                    out += s.meaning;
                    taken = 0;
                    expression.remove_prefix(s.name.size());
                    break;
                }
        if (taken == 0) continue;
        if (expression.starts_with(R"(\s)")) {
            out += in_class ? std::string(k_space) : "[" + std::string(k_space) + "]";
            taken = 2;
        } else if (expression.starts_with(R"(\S)")) {
            check(!in_class, "\\S inside a class of a split rule");
            out += "[^" + std::string(k_space) + "]";
            taken = 2;
        } else {
            if (expression[0] == '\\') taken = 2;
            if (taken == 1 && expression[0] == '[') in_class = true;
            if (taken == 1 && expression[0] == ']') in_class = false;
            out += expression.substr(0, taken);
        }
        expression.remove_prefix(taken);
    }
    return out;
}

struct FreeCode {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
using Code8 = std::unique_ptr<pcre2_code, FreeCode>;

Code8 compile(const char* expression) {
    const std::string text = written_out(expression);
    int error = 0;
    PCRE2_SIZE offset = 0;
    Code8 code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), PCRE2_UTF | PCRE2_UCP,
                             &error, &offset, nullptr));
    check(code != nullptr, "a split rule is no regular expression: " + text);
    // Where the system forbids new machine code, matching is slower and the same.
    pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
    return code;
}

constexpr size_t k_jit_stack_start = 64 << 10;
constexpr size_t k_jit_stack_most = 256 << 20;

}  // namespace

struct Pretokenizer::Step {
    Code8 code;  // null: a search in code
    decltype(SplitStep::search) search = nullptr;
};

Pretokenizer::Pretokenizer(const PretokenizerRule& rule) {
    for (const SplitStep& step : rule.steps) {
        if (step.expression != nullptr) steps_.push_back({compile(step.expression), nullptr});
        if (step.search != nullptr) steps_.push_back({nullptr, step.search});
    }
}

Pretokenizer::~Pretokenizer() = default;

struct Splitter::Memory {
    struct FreeMatch {
        void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
    };
    struct FreeContext {
        void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
    };
    struct FreeStack {
        void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
    };
    std::vector<std::unique_ptr<pcre2_match_data, FreeMatch>> matches;  // one for each step
    std::unique_ptr<pcre2_match_context, FreeContext> context{pcre2_match_context_create(nullptr)};
    std::unique_ptr<pcre2_jit_stack, FreeStack> stack;  // made when the machine's own is too small
};

Splitter::Splitter(const Pretokenizer& pretokenizer)
    : pretokenizer_(pretokenizer), memory_(std::make_unique<Memory>()) {
    for (size_t i = 0; i < pretokenizer.steps_.size(); ++i)
        memory_->matches.emplace_back(pcre2_match_data_create(1, nullptr));
    check(memory_->context != nullptr, "no memory for a match context");
    pcre2_set_match_limit(memory_->context.get(), std::numeric_limits<uint32_t>::max());
}

Splitter::~Splitter() = default;

void Splitter::split(std::string_view text, FunctionRef<void(std::string_view)> piece) {
    split_from(0, text, piece);
}

void Splitter::split_from(size_t step, std::string_view text, FunctionRef<void(std::string_view)> piece) {
    if (text.empty()) return;
    if (step == pretokenizer_.steps_.size()) return piece(text);
    size_t done = 0;
    const auto take = [&](size_t begin, size_t end) {
        split_from(step + 1, text.substr(done, begin - done), piece);
        split_from(step + 1, text.substr(begin, end - begin), piece);
        done = end;
    };
    if (pretokenizer_.steps_[step].search != nullptr) {
        pretokenizer_.steps_[step].search(text, [&](std::string_view found) {
            const auto begin = static_cast<size_t>(found.data() - text.data());
            take(begin, begin + found.size());
        });
    } else {
        while (done < text.size()) {
            size_t end = 0;
            const size_t begin = find(step, text, done, end);
            if (begin == end) break;
            take(begin, end);
        }
    }
    split_from(step + 1, text.substr(done), piece);
}

// The first match at or after `from`, or an empty one.
size_t Splitter::find(size_t step, std::string_view text, size_t from, size_t& end) {
    pcre2_match_data* match = memory_->matches[step].get();
    const auto run = [&](uint32_t options) {
        // The text was checked once; checking it at every match would make the whole quadratic.
        return pcre2_match(pretokenizer_.steps_[step].code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                           text.size(), from, PCRE2_NO_UTF_CHECK | options, match, memory_->context.get());
    };
    int found = run(0);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT && memory_->stack == nullptr) {
        memory_->stack.reset(pcre2_jit_stack_create(k_jit_stack_start, k_jit_stack_most, nullptr));
        pcre2_jit_stack_assign(memory_->context.get(), nullptr, memory_->stack.get());
        found = run(0);
    }
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = run(PCRE2_NO_JIT);  // slower, on the heap
    if (found < 0) {
        if (found != PCRE2_ERROR_NOMATCH)
            log("warn", "a split rule gave up (PCRE2 error {}) on a text of {} bytes: the rest is one piece",
                found, text.size());
        end = from;
        return from;
    }
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match);
    end = bounds[1];
    return bounds[0];
}

}  // namespace ft
