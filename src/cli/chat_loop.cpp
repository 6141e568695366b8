#include "cli/chat_loop.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "config/nearest_name.h"

namespace ft::cli {

namespace {

enum class Next { go_on, leave };

constexpr std::string_view k_quotes = "\"\"\"";

struct ChatCommand {
    const char* name;
    const char* argument;
    const char* help;
    Next (*run)(const ChatHooks& hooks, const std::string& argument);
};

Next show_help(const ChatHooks& hooks, const std::string&);

Next change_system(const ChatHooks& hooks, const std::string& text) {
    if (text.empty()) {
        hooks.say(hooks.system().empty() ? "No system prompt is set." : "System prompt: " + hooks.system());
        return Next::go_on;
    }
    hooks.set_system(text);
    hooks.say("The system prompt is set and holds from the next answer on.");
    return Next::go_on;
}

Next reset(const ChatHooks& hooks, const std::string&) {
    hooks.reset();
    hooks.say(hooks.system().empty() ? "A new conversation begins."
                                     : "A new conversation begins. The system prompt stays.");
    return Next::go_on;
}

Next show_stats(const ChatHooks& hooks, const std::string&) {
    hooks.say(hooks.stats());
    return Next::go_on;
}

Next save(const ChatHooks& hooks, const std::string& path) {
    hooks.say(path.empty() ? "/save needs a file: /save PATH" : hooks.save(path));
    return Next::go_on;
}

Next load(const ChatHooks& hooks, const std::string& path) {
    hooks.say(path.empty() ? "/load needs a file: /load PATH" : hooks.load(path));
    return Next::go_on;
}

constexpr ChatCommand k_commands[] = {
    {"/help", "", "this list", &show_help},
    {"/system", "[TEXT]", "sets what the model is told before the conversation, or shows it", &change_system},
    {"/reset", "", "forgets the conversation so far", &reset},
    {"/stats", "", "figures of the last answer, the seed, the room left in the context", &show_stats},
    {"/save", "PATH", "writes the conversation to a file, with what the model remembers of it", &save},
    {"/load", "PATH", "goes on with a saved conversation, exactly where it stood", &load},
    {"/exit", "", "ends the chat, as Ctrl-D does",
     [](const ChatHooks&, const std::string&) { return Next::leave; }},
};

// What other programs call it: a command of ours, which gets what stands behind it, or a hint.
struct ForeignChatCommand {
    const char* typed;
    const char* ours;
    const char* hint;
};
constexpr ForeignChatCommand k_foreign_chat_commands[] = {
    {"/bye", "/exit", nullptr},
    {"/quit", "/exit", nullptr},
    {"/q", "/exit", nullptr},
    {"/?", "/help", nullptr},
    {"/clear", "/reset", nullptr},
    {"/new", "/reset", nullptr},
    {"/set system", "/system", nullptr},
    {"/show", "/stats", nullptr},
    {"/set", nullptr,
     "Sampling is set when the chat is started: `freetoken run --help` lists --temp, --seed and the like. "
     "/system TEXT sets the system prompt."},
    {"/regen", nullptr, "An answer is not written again here. Ask in other words, or begin anew by /reset."},
    {"/retry", nullptr, "An answer is not written again here. Ask in other words, or begin anew by /reset."},
};

// The rest of the line behind `typed`; nothing where the line does not begin with it as whole words.
std::optional<std::string> behind(const std::string& line, std::string_view typed) {
    if (!line.starts_with(typed)) return std::nullopt;
    if (line.size() > typed.size() && line[typed.size()] != ' ') return std::nullopt;
    const size_t rest = line.find_first_not_of(' ', typed.size());
    return rest == std::string::npos ? "" : line.substr(rest);
}

Next show_help(const ChatHooks& hooks, const std::string&) {
    for (const ChatCommand& command : k_commands)
        hooks.say(
            fmt::format("  {:<16} {}", fmt::format("{} {}", command.name, command.argument), command.help));
    hooks.say("  Ctrl-C stops an answer. A line that ends with \\ goes on in the next one, and so does what");
    hooks.say("  begins with \"\"\", until \"\"\" ends it; what is pasted is one message, with its newlines.");
    return Next::go_on;
}

// "/word" alone or before a blank; a path like /usr/bin is something to talk about.
bool is_command(const std::string& line) {
    const std::string word = line.substr(0, line.find(' '));
    return word.size() > 1 && word[0] == '/' && word.find('/', 1) == std::string::npos;
}

Next run_slash_command(const ChatHooks& hooks, const std::string& line) {
    std::vector<std::string> names;
    for (const ChatCommand& command : k_commands) {
        if (const auto argument = behind(line, command.name)) return command.run(hooks, *argument);
        names.emplace_back(command.name);
    }
    for (const ForeignChatCommand& foreign : k_foreign_chat_commands) {
        const auto argument = behind(line, foreign.typed);
        if (!argument) continue;
        if (foreign.ours) return run_slash_command(hooks, fmt::format("{} {}", foreign.ours, *argument));
        hooks.say(foreign.hint);
        return Next::go_on;
    }
    const std::string word = line.substr(0, line.find(' '));
    const std::string guess = did_you_mean(word, names);
    hooks.say(fmt::format("{} is no command. {}", word, guess.empty() ? "/help lists them." : guess));
    return Next::go_on;
}

// Until a line ends with the quotes that it began with.
LineEditor::Line read_quoted(const ChatHooks& hooks, LineEditor::Line line) {
    line.text.erase(0, k_quotes.size());
    while (!line.text.ends_with(k_quotes)) {
        const LineEditor::Line more = hooks.read_line("… ");
        if (more.kind != LineEditor::Line::Kind::text) return more;
        line.text += "\n" + more.text;
    }
    line.text.erase(line.text.size() - k_quotes.size());
    line.text.erase(0, line.text.starts_with('\n') ? 1 : 0);
    return line;
}

// A typed text: lines joined while they end with a backslash, or in quotes, which no command stands in.
LineEditor::Line read_text(const ChatHooks& hooks, bool& quoted) {
    LineEditor::Line line = hooks.read_line("> ");
    quoted = line.kind == LineEditor::Line::Kind::text && line.text.starts_with(k_quotes);
    if (quoted) return read_quoted(hooks, std::move(line));
    while (line.kind == LineEditor::Line::Kind::text && line.text.ends_with('\\')) {
        line.text.pop_back();
        const LineEditor::Line more = hooks.read_line("… ");
        if (more.kind != LineEditor::Line::Kind::text) return more;
        line.text += "\n" + more.text;
    }
    return line;
}

}  // namespace

Expected<int> run_chat(const ChatHooks& hooks) {
    for (;;) {
        bool quoted = false;
        const LineEditor::Line line = read_text(hooks, quoted);
        if (line.kind != LineEditor::Line::Kind::text)
            hooks.say("");  // the cursor stands behind a half-typed line
        if (line.kind == LineEditor::Line::Kind::end) return 0;
        if (line.kind == LineEditor::Line::Kind::interrupted) continue;
        if (line.text.find_first_not_of(" \t\n") == std::string::npos) continue;
        if (!quoted && (line.text == "exit" || line.text == "quit")) {
            hooks.say("/exit or Ctrl-D ends the chat.");
        } else if (!quoted && is_command(line.text)) {
            if (run_slash_command(hooks, line.text) == Next::leave) return 0;
        } else if (const Status answered = hooks.answer(line.text); !answered) {
            return answered.error();
        }
    }
}

}  // namespace ft::cli
