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
    std::string prompt, prompt_argument;
    CLI::Option *prompt_option = nullptr, *prompt_argument_option = nullptr;
    std::string grammar, json_schema;  // files; "": none
    bool raw = false;
    bool json = false;
    bool stats = false;
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

// Nothing: standard input, or a chat at a terminal.
Expected<std::optional<std::string>> given_prompt(const RunFlags& flags) {
    const bool flag = flags.prompt_option->count() > 0, argument = flags.prompt_argument_option->count() > 0;
    if (flag && argument)
        return Error{Code::invalid, "run: the prompt is given twice, by -p and as an argument",
                     "Leave one of them out; a prompt of several words needs quotes."};
    if (!flag && !argument) return std::optional<std::string>();
    const std::string& text = flag ? flags.prompt : flags.prompt_argument;
    if (text == "-") return std::optional<std::string>();
    warn_of_unread_input();
    return std::optional(text);
}

std::string think_of(const Settings& settings) {
    return settings.has("inference.think") ? settings.text("inference.think") : "auto";
}

PrintStyle style_of(const Settings& settings, const RunFlags& flags) {
    const bool terminal = isatty(STDOUT_FILENO) == 1;
    const std::string think = think_of(settings);
    return {.stream = !flags.json,
            .terminal = terminal,
            .dim = terminal && may_style_text(),
            .split = !flags.raw,
            // a pipe gets the answer alone unless the thinking was asked for
            .show_thinking = think == "on" || (think != "hide" && terminal),
            .end_line = !flags.raw || terminal,
            .live_stats = flags.stats};
}

std::optional<bool> think_flag(const Settings& settings) {
    const std::string think = think_of(settings);
    if (think == "auto") return std::nullopt;
    return think != "off";
}

Conversation begin_conversation(const RunModel& model) {
    Conversation conversation(*model.chat_template, *model.tokenizer, think_flag(model.settings));
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

// What --grammar or --json-schema ask of every answer; nullptr: nothing.
Expected<SharedGrammar> asked_grammar(const RunFlags& flags, const Tokenizer& tokenizer) {
    if (flags.grammar.empty() && flags.json_schema.empty()) return SharedGrammar();
    if (!flags.grammar.empty() && !flags.json_schema.empty())
        return Error{Code::invalid, "run: --grammar and --json-schema are given at once",
                     "Leave one of them out."};
    const std::string& path = flags.grammar.empty() ? flags.json_schema : flags.grammar;
    const Expected<std::string> text = read_text(path, k_largest_grammar_bytes);
    if (!text) return text.error();
    if (!flags.grammar.empty()) {
        Expected<SharedGrammar> made = compile_gbnf(*text, tokenizer);
        return made ? made : made.error().within(path);
    }
    const Expected<nlohmann::ordered_json> schema = parse_json(*text);
    if (!schema) return schema.error().within(path);
    Expected<SharedGrammar> made = compile_json_schema(*schema, tokenizer);
    return made ? made : made.error().within(path);
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
    log_statistics(model, *reply, flags.stats);
    if (end == AnswerEnd::context_full)
        log("warn", "{}", context_full_line(model.engine->n_ctx(), model.engine->n_ctx_model(), false));
    if (reply->forgotten_tokens > 0)
        log("kv", "{}", forgotten_line(reply->forgotten_tokens, model.engine->n_ctx()));
    if (const std::string why = nothing_shown_line(*reply, style); !why.empty()) log("warn", "{}", why);
    return end == AnswerEnd::interrupted ? k_exit_interrupted : 0;
}

Expected<int> run_chat_or_answer(const ModelChoice& choice, const RunFlags& flags) {
    const Expected<std::optional<std::string>> given = given_prompt(flags);
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
    Expected<RunModel> model = load_run_model(choice, flags.raw, before_weights);
    if (!model) return model.error();
    model->grammar = std::move(grammar);
    catch_interrupts();
    if (!chats) return answer_once(*model, flags, prompt);
    Conversation conversation = begin_conversation(*model);
    return chat(*model, conversation, style_of(model->settings, flags));
}

// Settings of the chat that --raw leaves out, where they were asked for on the command line.
Status check_raw(const RunFlags& flags, const ModelFlags& model_flags) {
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
    flags->prompt_option =
        app.add_option("-p,--prompt", flags->prompt,
                       "answer this text and end; without it, what is piped in, else a chat")
            ->type_name("TEXT");
    flags->prompt_argument_option =
        app.add_option("text", flags->prompt_argument, "the same as --prompt; - is standard input")
            ->type_name("PROMPT");
    app.add_option("--grammar", flags->grammar,
                   "answer only what the grammar in this file allows (GBNF, as llama.cpp has it)")
        ->type_name("FILE");
    app.add_option("--json-schema", flags->json_schema,
                   "answer by a JSON value that the schema in this file allows")
        ->type_name("FILE");
    app.add_flag("--raw", flags->raw, "continue the text without chat template; special tokens in it count");
    app.add_flag("--json", flags->json, "print the answer as one JSON object, with its timings and seed");
    app.add_flag("--stats", flags->stats,
                 "show speed, experts in RAM and bytes from the drive while the answer comes");
    return [=]() -> Expected<int> {
        if (const Status raw = check_raw(*flags, *model_flags); !raw) return raw.error();
        return with_model(*model_flags,
                          [&](const ModelChoice& choice) { return run_chat_or_answer(choice, *flags); });
    };
}

}  // namespace ft::cli
