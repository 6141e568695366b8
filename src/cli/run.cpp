// freetoken run: one answer to -p or to what is piped in, else a chat on the terminal.
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/log.h"
#include "base/read_text.h"
#include "base/system_error.h"
#include "cli/answer.h"
#include "cli/chat.h"
#include "cli/chat_settings.h"
#include "cli/interrupt.h"
#include "cli/model_flags.h"
#include "cli/reply.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"
#include "server/json_body.h"
#include "text/chat_history.h"

namespace ft::cli {

namespace {

constexpr size_t k_largest_prompt_bytes = 16 * k_mib;  // some four million tokens

struct RunFlags {
    std::vector<std::string> prompts;  // of -p: one, or it is refused
    std::string prompt_argument;
    CLI::Option* prompt_argument_option = nullptr;
    std::string grammar, json_schema;  // a text, or the file of one; "": none
    bool raw = false;
    bool json = false;
    bool stats = false, quiet = false;
};

// All of stdin as one prompt, without the newlines at its end.
Expected<std::string> read_standard_input() {
    std::string text;
    std::vector<char> block(65536);
    for (;;) {
        const ssize_t got = read_waiting(STDIN_FILENO, block.data(), block.size());
        if (got < 0)
            return Error{Code::io, fmt::format("standard input cannot be read: {}", system_reason(errno)),
                         "Give the prompt by -p TEXT."};
        if (got == 0) break;
        text.append(block.data(), static_cast<size_t>(got));
        if (text.size() > k_largest_prompt_bytes)
            return Error{Code::too_large, "the prompt on standard input is larger than 16 MiB",
                         "Give a shorter text."};
    }
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    if (text.empty())
        return Error{Code::invalid, "the prompt on standard input is empty", "Give one by -p TEXT."};
    return text;
}

// A prompt that was given hides what is piped in: said where something was. A pipe that nothing has come
// through yet is not waited for.
void warn_of_unread_input() {
    struct stat info{};
    int waiting = 0;
    if (isatty(STDIN_FILENO) == 1 || fstat(STDIN_FILENO, &info) != 0) return;
    if (S_ISFIFO(info.st_mode) && ioctl(STDIN_FILENO, FIONREAD, &waiting) != 0) waiting = 0;
    if (S_ISREG(info.st_mode)) waiting = info.st_size > lseek(STDIN_FILENO, 0, SEEK_CUR) ? 1 : 0;
    if (waiting > 0)
        log("warn",
            "standard input is not read, because the prompt is given. Leave the prompt out to answer "
            "what is piped in, or put both into one text.");
}

// The prompt among the arguments: the second, or the only one where --model names the model.
Expected<std::optional<std::string>> prompt_argument(const RunFlags& flags, const ModelArgument& model) {
    const bool second = flags.prompt_argument_option->count() > 0;
    if (second && model.has_flag())
        return Error{Code::invalid,
                     fmt::format("run: unexpected argument \"{}\"", printable(flags.prompt_argument)),
                     "--model names the model, so that the first argument is the prompt; a prompt of several "
                     "words needs quotes."};
    if (second) return std::optional(flags.prompt_argument);
    const bool only = model.has_flag() && model.has_argument();
    return only ? std::optional(model.argument) : std::optional<std::string>();
}

// Nothing: standard input, or a chat at a terminal.
Expected<std::optional<std::string>> given_prompt(const RunFlags& flags, const ModelArgument& model) {
    Expected<std::optional<std::string>> argument = prompt_argument(flags, model);
    if (!argument) return argument;
    const bool flag = !flags.prompts.empty();
    if (flags.prompts.size() > 1)
        return Error{
            Code::invalid,
            fmt::format("run: -p is given {} times, but one prompt is answered", flags.prompts.size()),
            "Leave the others out; `freetoken batch` answers several."};
    if (flag && *argument)
        return Error{Code::invalid, "run: the prompt is given twice, by -p and as an argument",
                     "Leave one of them out; a prompt of several words needs quotes."};
    std::optional<std::string> text = flag ? std::optional(flags.prompts.front()) : std::move(*argument);
    if (!text || *text == "-") return std::optional<std::string>();
    warn_of_unread_input();
    return text;
}

Figures figures_of(const RunFlags& flags) {
    if (flags.quiet) return Figures::none;
    return flags.stats ? Figures::live : Figures::line;
}

PrintStyle style_of(const Settings& settings, const RunFlags& flags) {
    const bool terminal = isatty(STDOUT_FILENO) == 1;
    return {.stream = !flags.json,
            .terminal = terminal,
            .dim = terminal && may_style_text(),
            .split = !flags.raw,
            .show_thinking = shows_thinking(settings, terminal),
            .end_line = !flags.raw || terminal,
            .figures = figures_of(flags)};
}

Conversation begin_conversation(const RunModel& model) {
    Conversation conversation(*model.chat_template, *model.tokenizer, asks_for_thinking(model.settings));
    if (model.settings.has("inference.system"))
        conversation.set_system(model.settings.text("inference.system"));
    return conversation;
}

Expected<Prompt> single_prompt(const RunModel& model, bool raw, const std::string& text) {
    if (raw) return raw_prompt(*model.tokenizer, text);
    Conversation conversation = begin_conversation(model);
    conversation.add_user(text);
    return conversation.prompt();
}

// Whether the value of --grammar or --json-schema is the text itself: what no file is called.
bool is_inline_form(std::string_view flag, std::string_view value) {
    if (flag == "--grammar") return value.find("::=") != std::string_view::npos;
    const size_t first = value.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && value[first] == '{';
}

// What --grammar or --json-schema ask of every answer; nullptr: nothing.
Expected<SharedGrammar> asked_grammar(const RunFlags& flags, const Tokenizer& tokenizer) {
    if (flags.grammar.empty() && flags.json_schema.empty()) return SharedGrammar();
    if (!flags.grammar.empty() && !flags.json_schema.empty())
        return Error{Code::invalid, "run: --grammar and --json-schema are given at once",
                     "Leave one of them out."};
    const std::string flag = flags.grammar.empty() ? "--json-schema" : "--grammar";
    const std::string& value = flags.grammar.empty() ? flags.json_schema : flags.grammar;
    const bool is_inline = is_inline_form(flag, value);
    const std::string& place = is_inline ? flag : value;
    const Expected<std::string> text =
        is_inline ? Expected(value) : read_text(value, k_largest_grammar_bytes);
    if (!text) return text.error();
    if (!flags.grammar.empty()) {
        Expected<SharedGrammar> made = compile_gbnf(*text, tokenizer);
        return made ? made : made.error().within(place);
    }
    const Expected<nlohmann::ordered_json> schema = parse_json(*text);
    if (!schema) return schema.error().within(place);
    Expected<SharedGrammar> made = compile_json_schema(*schema, tokenizer);
    return made ? made : made.error().within(place);
}

// The one prompt of a call, read and checked while the weights are still on the drive.
Expected<Prompt> checked_prompt(const RunModel& model, const std::optional<std::string>& given, bool raw,
                                int64_t n_ctx) {
    const Expected<std::string> text = given ? Expected(*given) : read_standard_input();
    if (!text) return text.error();
    Expected<Prompt> prompt = single_prompt(model, raw, *text);
    if (!prompt) return prompt.error();
    if (Status s = check_room(static_cast<int64_t>(prompt->ids.size()), n_ctx); !s) return s.error();
    return prompt;
}

Expected<int> answer_once(RunModel& model, const RunFlags& flags, const Prompt& prompt) {
    const PrintStyle style = style_of(model.settings, flags);
    const Expected<Reply> reply = reply_to(model, prompt, style);
    if (!reply) return reply.error();
    if (flags.json) write_out(reply_json(*reply, model));
    const AnswerEnd end = reply->answer.end;
    if (end == AnswerEnd::unheard) return 0;
    log_statistics(model, *reply, style.figures);
    if (end == AnswerEnd::context_full)
        log("warn", "{}",
            context_full_line({.n_ctx = model.engine->n_ctx(),
                               .n_ctx_model = model.engine->n_ctx_model(),
                               .n_prompt = static_cast<int64_t>(prompt.ids.size()),
                               .never_ends = model.settings.boolean("inference.ignore_eos")}));
    if (reply->forgotten_tokens > 0)
        log("kv", "{}", forgotten_line(reply->forgotten_tokens, model.engine->n_ctx()));
    if (const std::string why = nothing_shown_line(*reply, style); !why.empty()) log("warn", "{}", why);
    return end == AnswerEnd::interrupted ? k_exit_interrupted : 0;
}

Expected<int> run_chat_or_answer(const ModelChoice& choice, const RunFlags& flags,
                                 const ModelArgument& argument) {
    const Expected<std::optional<std::string>> given = given_prompt(flags, argument);
    if (!given) return given.error();
    const bool chats = !*given && isatty(STDIN_FILENO) == 1;
    if (chats && (flags.raw || flags.json))
        return Error{Code::invalid, fmt::format("{} needs a prompt", flags.raw ? "--raw" : "--json"),
                     "Give one by -p TEXT, or pipe it in."};
    Prompt prompt;
    SharedGrammar grammar;
    const auto before_weights = [&](const RunModel& model, const ModelOutline& outline) -> Status {
        Expected<SharedGrammar> asked = asked_grammar(flags, *model.tokenizer);
        if (!asked) return asked.error();
        grammar = std::move(*asked);
        if (chats) return {};
        Expected<Prompt> checked = checked_prompt(model, *given, flags.raw, outline.n_ctx);
        if (!checked) return checked.error();
        prompt = std::move(*checked);
        return {};
    };
    std::optional<SilentKeys> silent(std::in_place, STDIN_FILENO);  // until the chat reads them
    Expected<RunModel> model = load_run_model(choice, flags.raw, before_weights);
    silent.reset();
    if (!model) return model.error();
    model->grammar = std::move(grammar);
    catch_interrupts();
    if (!chats) return answer_once(*model, flags, prompt);
    Conversation conversation = begin_conversation(*model);
    return chat(*model, conversation, style_of(model->settings, flags));
}

// Settings of the chat that --raw leaves out, where they were asked for on the command line; and a flag
// beside its opposite.
Status check_flags(const RunFlags& flags, const ModelFlags& model_flags) {
    if (flags.stats && flags.quiet)
        return Error{Code::invalid, "run: --stats and --quiet are given at once",
                     "--quiet leaves out the figures that --stats shows: leave one of the two out."};
    if (!flags.raw) return {};
    for (const auto& flag : model_flags.flags) {
        const std::string_view name = flag->key->flag;
        if (flag->option->count() > 0 && (name == "--system" || name == "--template" || name == "--think"))
            return Error{Code::invalid, fmt::format("run: {} has no meaning with --raw", name),
                         "--raw continues a text without a chat template: leave one of the two out."};
    }
    return {};
}

}  // namespace

Action define_run(CLI::App& app) {
    const auto flags = std::make_shared<RunFlags>();
    const auto model_flags = add_model_flags(app, Use::answering);  // MODEL is the first argument
    model_flags->model.may_be_other = true;
    app.add_option("-p,--prompt", flags->prompts,
                   "answer this text and end; without it, answer what is piped in, else chat")
        ->type_name("TEXT")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    flags->prompt_argument_option =
        app.add_option("text", flags->prompt_argument, "the same as --prompt TEXT; - is standard input")
            ->type_name("PROMPT");
    app.add_option("--grammar", flags->grammar,
                   "answer only what the grammar in this file allows (GBNF, as llama.cpp has it); a value "
                   "with ::= is "
                   "the grammar itself")
        ->type_name("FILE");
    app.add_option(
           "--json-schema", flags->json_schema,
           "answer by a JSON value that the schema in this file allows; a value that begins with { is the "
           "schema itself")
        ->type_name("FILE");
    app.add_flag("--raw", flags->raw, "continue the text without chat template; special tokens in it count");
    app.add_flag("--json", flags->json, "print one JSON object: the answer, its timings and its seed");
    app.add_flag("--stats", flags->stats,
                 "more figures than the line after an answer: speed and bytes from the drive while it comes, "
                 "experts by tier after it");
    app.add_flag("-q,--quiet", flags->quiet,
                 "no figures: neither the line after an answer nor advice, nor notes on settings");
    return [=]() -> Expected<int> {
        if (const Status good = check_flags(*flags, *model_flags); !good) return good.error();
        return with_model(*model_flags, [&](ModelChoice choice) {
            choice.quiet = flags->quiet;
            return run_chat_or_answer(choice, *flags, model_flags->model);
        });
    };
}

}  // namespace ft::cli
