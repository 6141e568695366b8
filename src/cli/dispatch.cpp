#include "cli/dispatch.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "base/log.h"
#include "cli/foreign_flags.h"
#include "cli/help.h"
#include "cli/standard_output.h"
#include "config/nearest_name.h"

namespace ft::cli {

namespace {

// What other programs have and this command has in another way; flags of the same meaning are translated
// (foreign_flags.h). A hint is given where the command has `flag`, or the argument of that name; "" is
// everywhere.
struct Habit {
    std::string_view word, flag, hint;
};
constexpr Habit k_habits[] = {
    {"-f", "text", "Pipe the file in: `freetoken {} MODEL < FILE`."},
    {"--file", "text", "Pipe the file in: `freetoken {} MODEL < FILE`."},
    {"-i", "text", "Without a prompt `freetoken {} MODEL` is a chat."},
    {"--interactive", "text", "Without a prompt `freetoken {} MODEL` is a chat."},
    {"--no-stats", "--stats", "--quiet leaves the figures of an answer out."},
    {"--api-key", "--port", "Keys are in a file, one a line: --set server.api_keys_file=FILE."},
    {"--ssl-key-file", "--port", "TLS is the work of a proxy before the server: see deploy/README.md."},
    {"--ssl-cert-file", "--port", "TLS is the work of a proxy before the server: see deploy/README.md."},
    {"--ssl-keyfile", "--port", "TLS is the work of a proxy before the server: see deploy/README.md."},
    {"--ssl-certfile", "--port", "TLS is the work of a proxy before the server: see deploy/README.md."},
    {"--log-file", "--ctx", "The log is on standard error: `2> FILE` keeps it."},
    {"--override-kv", "--ctx",
     "A model is used as its file says; what may be chosen is in docs/settings.md: --set KEY=VALUE."},
    {"--mmproj", "--ctx", "Models read text alone, no pictures: leave it out."},
    {"--reasoning-format", "--ctx",
     "Thinking is always told apart (auto, deepseek); a request to the server may say reasoning_format: "
     "none."},
    {"--reasoning-budget", "--ctx",
     "Thinking has no bound of its own (-1) or is not asked for (0): --think off; --max-tokens bounds it "
     "together with the answer."},
    {"--format", "--json-schema",
     "The form of an answer is a schema: --json-schema '{{\"type\": \"object\"}}' is any JSON object."},
    {"-hf", "", "A model of a hub is fetched first: `freetoken pull OWNER/REPO`."},
    {"--hf-repo", "", "A model of a hub is fetched first: `freetoken pull OWNER/REPO`."},
    {"-ngl", "", "Where the weights lie is decided by the plan: see `freetoken plan --help`."},
    {"--n-gpu-layers", "", "Where the weights lie is decided by the plan: see `freetoken plan --help`."},
};

// Commands of other programs, and what does the same here.
struct ForeignCommand {
    std::string_view word, hint;
};
constexpr ForeignCommand k_foreign_commands[] = {
    {"ls", "Here it is `freetoken list`."},
    {"models", "Here it is `freetoken list`."},
    {"chat", "`freetoken run MODEL` is a chat."},
    {"cli", "`freetoken run MODEL` is a chat."},
    {"ask", "Here it is `freetoken run MODEL \"question\"`."},
    {"generate", "Here it is `freetoken run MODEL \"question\"`."},
    {"complete", "Here it is `freetoken run MODEL --raw -p TEXT`."},
    {"version", "Here it is `freetoken --version`."},
    {"download", "Here it is `freetoken pull`."},
    {"get", "Here it is `freetoken pull`."},
    {"install", "A model is fetched by `freetoken pull`."},
    {"remove", "Here it is `freetoken rm`."},
    {"delete", "Here it is `freetoken rm`."},
    {"start", "Here it is `freetoken serve MODEL`."},
    {"server", "Here it is `freetoken serve MODEL`."},
    {"load", "A model is loaded by what uses it: `freetoken run MODEL`, `freetoken serve MODEL`."},
    {"stop", "A server ends by Ctrl-C or SIGTERM; `freetoken ps` shows the programs that run."},
    {"unload", "A server ends by Ctrl-C or SIGTERM; `freetoken ps` shows the programs that run."},
    {"status", "Here it is `freetoken ps`, or `freetoken ctl health` of a server."},
    {"info", "Here it is `freetoken show MODEL`."},
    {"inspect", "Here it is `freetoken show MODEL`."},
    {"benchmark", "Here it is `freetoken bench MODEL`."},
    {"push", "Models are files here and are not uploaded; `freetoken pull` gets one."},
    {"cp",
     "Models are files: `freetoken list --json` says where. A server's name for its model: "
     "--served-model-name."},
    {"create", "A Modelfile is given to the server: `freetoken serve --modelfile FILE`."},
    {"quantize", "GGUF files are used as they are: `freetoken pull OWNER/REPO --quant TYPE` chooses one."},
    {"convert", "GGUF files are used as they are: `freetoken pull OWNER/REPO` gets one."},
    {"signin", "A hub's token is the variable HF_TOKEN."},
    {"login", "A hub's token is the variable HF_TOKEN."},
};

const Command* find_command(std::string_view name) {
    const auto all = commands();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Command& c) { return c.name == name; });
    return found == all.end() ? nullptr : &*found;
}

bool looks_like_flag(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

std::vector<std::string> flag_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    return names;
}

std::vector<OwnFlag> own_flags(const CLI::App& app) {
    std::vector<OwnFlag> own;
    for (const CLI::Option* option : app.get_options()) {
        const bool takes_value = option->get_items_expected_max() > 0;
        for (const std::string& name : option->get_snames()) own.push_back({"-" + name, takes_value});
        for (const std::string& name : option->get_lnames()) own.push_back({"--" + name, takes_value});
    }
    return own;
}

constexpr size_t k_longest_short_flag = 3;  // "-sq", "-ngl"

// What a flag of another program is here; "" where there is nothing to say.
std::string habit_hint(const Command& command, const CLI::App& app, std::string_view flag) {
    std::vector<std::string> known = flag_names(app);
    for (const CLI::Option* option : app.get_options())
        if (option->get_positional()) known.push_back(option->get_name());
    for (const Habit& habit : k_habits) {
        const bool here =
            habit.flag.empty() || std::find(known.begin(), known.end(), habit.flag) != known.end();
        if (habit.word == flag && here) return fmt::format(fmt::runtime(habit.hint), command.name);
    }
    return "";
}

Error unknown_flag(const Command& command, const CLI::App& app, std::string_view word) {
    const std::string_view flag = word.substr(0, word.find('='));
    const std::string hint = habit_hint(command, app, flag);
    if (!hint.empty())
        return Error{Code::invalid, fmt::format("{}: unknown flag {}", command.name, flag), hint};
    // One dash before a long name is a common slip; a short flag is no slip of a long one.
    const size_t dashes = std::min(flag.find_first_not_of('-'), flag.size());
    const bool is_short = dashes < 2 && flag.size() - dashes <= k_longest_short_flag;
    std::vector<std::string> names = flag_names(app);
    for (std::string& name : foreign_flag_names(own_flags(app))) names.push_back(std::move(name));
    const std::string guess = is_short ? "" : did_you_mean("--" + std::string(flag.substr(dashes)), names);
    return Error{Code::invalid, fmt::format("{}: unknown flag {}", command.name, flag),
                 guess.empty() ? see_help(command.name) : guess};
}

// What the parser left over: the first unknown flag, else the first argument too many.
Status check_leftovers(const Command& command, const CLI::App& app) {
    const std::vector<std::string> rest = app.remaining();
    const auto flag = std::find_if(rest.begin(), rest.end(), looks_like_flag);
    if (flag != rest.end()) return unknown_flag(command, app, *flag);
    if (rest.empty()) return {};
    return Error{Code::invalid, fmt::format("{}: unexpected argument \"{}\"", command.name, rest.front()),
                 see_help(command.name)};
}

// `--name=` is an empty value; the parser would take the next word for it.
std::vector<std::string> split_empty_values(const std::vector<std::string>& words) {
    std::vector<std::string> out;
    for (const std::string& word : words) {
        const bool empty_value = word.starts_with("--") && word.find('=') == word.size() - 1;
        out.push_back(empty_value ? word.substr(0, word.size() - 1) : word);
        if (empty_value) out.emplace_back();
    }
    return out;
}

// A sentence that begins with a flag of ours names the one that was typed for it too.
Error as_typed(Error error, const Translated& translated) {
    for (const auto& [ours, typed] : translated.renamed) {
        if (!error.what.starts_with(ours) || ours == typed || ours.size() == error.what.size()) continue;
        const char next = error.what[ours.size()];
        if (next != ':' && next != ' ') continue;
        error.what.replace(0, ours.size(), fmt::format("{} (here {})", typed, ours));
        break;
    }
    return error;
}

// The parser's own message, which names the flag or argument.
Error parse_failure(const Command& command, const CLI::ParseError& failure) {
    std::string text = failure.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return Error{Code::invalid, fmt::format("{}: {}", command.name, text), see_help(command.name)};
}

// A name of "-" means a stream to other programs. Here files are opened by name, and results appear whole. An
// empty name is a variable of the shell that is not set: what the flag asks for must not go missing silently.
Status check_file_names(const Command& command, const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
        const std::string value = option_value(*option);
        const bool names_file = value == "FILE" || value.ends_with(".gguf") || value.ends_with(".jsonl") ||
                                value == "TRACE" || value == "TEMPLATE";
        if (!names_file || option->count() == 0) continue;
        for (const std::string& word : option->results()) {
            if (word.empty())
                return Error{Code::invalid,
                             fmt::format("{}: {} takes the path of a file, not an empty text", command.name,
                                         option_term(*option)),
                             "Name a file, or leave it out."};
            if (word == "-")
                return Error{Code::invalid,
                             fmt::format("{}: {} takes the name of a file, not - for a stream", command.name,
                                         option_term(*option)),
                             "For a file of that name write ./-, for a stream /dev/stdin or /dev/stdout."};
        }
    }
    return {};
}

Expected<int> run_command(const Command& command, const std::vector<std::string>& words) {
    DefinedCommand defined = define_command(command);
    const Translated translated = translate_flags(words, own_flags(*defined.app));
    for (const std::string& note : translated.notes) log_line("flags", note);
    std::vector<std::string> reversed = split_empty_values(translated.words);
    std::reverse(reversed.begin(), reversed.end());  // the parser takes its words from the back
    try {
        defined.app->parse(std::move(reversed));
    } catch (const CLI::CallForHelp&) {
        // -hf is one flag to whoever types it, and -h -f to the parser.
        const auto bundle = std::find_if(words.begin(), words.end(), [](const std::string& word) {
            return word.starts_with("-h") && word.size() > 2;
        });
        if (bundle != words.end()) return unknown_flag(command, *defined.app, *bundle);
        write_out(command_help(command, *defined.app, output_width()));
        return 0;
    } catch (const CLI::ParseError& failure) {
        const Status leftovers = check_leftovers(command, *defined.app);
        return leftovers ? parse_failure(command, failure) : leftovers.error();
    }
    if (const Status leftovers = check_leftovers(command, *defined.app); !leftovers) return leftovers.error();
    if (const Status named = check_file_names(command, *defined.app); !named) return named.error();
    Expected<int> outcome = defined.action();
    if (!outcome) return as_typed(outcome.error(), translated);
    return outcome;
}

Error unknown_command(std::string_view word) {
    if (looks_like_flag(word)) {
        const std::vector<std::string> names = {"--help", "--version"};
        const std::string guess = did_you_mean(word, names);
        return Error{Code::invalid, fmt::format("unknown flag {}", word),
                     guess.empty() ? "A command comes first: see `freetoken --help`." : guess};
    }
    const std::string what = fmt::format("unknown command \"{}\"", word);
    for (const ForeignCommand& foreign : k_foreign_commands)
        if (foreign.word == word) return Error{Code::invalid, what, std::string(foreign.hint)};
    std::vector<std::string> names;
    for (const Command& command : commands()) names.emplace_back(command.name);
    const std::string guess = did_you_mean(word, names);
    return Error{Code::invalid, what, guess.empty() ? "See `freetoken --help`." : guess};
}

}  // namespace

DefinedCommand define_command(const Command& command) {
    DefinedCommand defined;
    defined.app = std::make_unique<CLI::App>(command.summary, fmt::format("freetoken {}", command.name));
    defined.app->allow_extras();  // so that we, not the parser, say what is unknown
    defined.app->set_help_flag("-h,--help", "print this help, and end");
    defined.app->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    defined.action = command.define(*defined.app);
    return defined;
}

std::string version_line() { return fmt::format("freetoken {}", FREETOKEN_VERSION); }

Expected<int> run_program(const std::vector<std::string>& words) {
    const std::string first = words.empty() ? "--help" : words.front();
    if (first == "help" && words.size() > 1) return run_program({words[1], "--help"});
    if (first == "--help" || first == "-h" || first == "help") {
        write_out(program_help(output_width()));
        return 0;
    }
    if (first == "--version") {
        write_out(version_line() + "\n");
        return 0;
    }
    const Command* command = find_command(first);
    if (!command) return unknown_command(first);
    return run_command(*command, {words.begin() + 1, words.end()});
}

}  // namespace ft::cli
