#include "cli/chat_loop.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "config/nearest_name.h"

namespace ft::cli {

namespace {

enum class Next { go_on, leave };

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

// The first word, and what follows less the blanks between.
std::pair<std::string, std::string> word_and_rest(const std::string& text) {
    const size_t end = std::min(text.find(' '), text.size());
    const size_t rest = std::min(text.find_first_not_of(' ', end), text.size());
    return {text.substr(0, end), text.substr(rest)};
}

std::string without_quotes(const std::string& text) {
    const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
    return quoted ? text.substr(1, text.size() - 2) : text;
}

// Ollama's forms work too: /set parameter NAME VALUE, /set system TEXT, and words that stand alone.
Next change_settings(const ChatHooks& hooks, const std::string& argument) {
    auto [name, value] = word_and_rest(argument);
    if (name == "parameter") std::tie(name, value) = word_and_rest(value);
    if (name == "system") return change_system(hooks, without_quotes(value));
    constexpr std::array<std::array<const char*, 3>, 4> k_alone = {{{"verbose", "stats", "on"},
                                                                    {"quiet", "stats", "off"},
                                                                    {"nothink", "think", "off"},
                                                                    {"think", "think", "on"}}};
    for (const auto& [word, setting, meaning] : k_alone)
        if (name == word && value.empty()) {
            hooks.say(hooks.set(setting, meaning));
            return Next::go_on;
        }
    hooks.say(hooks.set(name, value));
    return Next::go_on;
}

// Ollama's /show has words for what is asked with other commands here.
Next show_stats(const ChatHooks& hooks, const std::string& what) {
    if (what == "system") return change_system(hooks, "");
    if (what == "parameters") return change_settings(hooks, "");
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
    {"/system", "[TEXT]", "sets what the model is told beforehand, or shows it", &change_system},
    {"/set", "[NAME VALUE]", "changes temperature, seed, max_tokens …; alone shows all", &change_settings},
    {"/reset", "", "forgets the conversation so far", &reset},
    {"/stats", "", "figures of the last answer, seed, room left in the context", &show_stats},
    {"/save", "PATH", "writes the conversation to a file, with what was computed", &save},
    {"/load", "PATH", "goes on with a saved conversation, exactly where it stood", &load},
    {"/exit", "", "ends the chat, as Ctrl-D does",
     [](const ChatHooks&, const std::string&) { return Next::leave; }},
};

Next show_help(const ChatHooks& hooks, const std::string&) {
    for (const ChatCommand& command : k_commands)
        hooks.say(
            fmt::format("  {:<18} {}", fmt::format("{} {}", command.name, command.argument), command.help));
    hooks.say("  Ctrl-C stops an answer. A line that ends with \\ goes on in the next one; lines");
    hooks.say("  between \"\"\" and \"\"\" are one message, and so is what is pasted.");
    return Next::go_on;
}

// "/word" alone or before a blank; a path like /usr/bin is something to talk about.
bool is_command(const std::string& line) {
    const std::string word = line.substr(0, line.find(' '));
    return word.size() > 1 && word[0] == '/' && word.find('/', 1) == std::string::npos;
}

// What other chats call them.
constexpr std::pair<std::string_view, std::string_view> k_names_elsewhere[] = {
    {"/?", "/help"},      {"/h", "/help"},    {"/bye", "/exit"},   {"/quit", "/exit"}, {"/q", "/exit"},
    {"/clear", "/reset"}, {"/new", "/reset"}, {"/show", "/stats"}, {"/info", "/stats"}};

Next run_slash_command(const ChatHooks& hooks, const std::string& line) {
    auto [word, argument] = word_and_rest(line);
    const std::string typed = word;
    for (const auto& [theirs, ours] : k_names_elsewhere)
        if (word == theirs) word = ours;
    std::vector<std::string> names;
    for (const ChatCommand& command : k_commands) {
        if (word == command.name) return command.run(hooks, argument);
        names.emplace_back(command.name);
    }
    const std::string guess = did_you_mean(typed, names);
    hooks.say(fmt::format("{} is no command. {}", typed, guess.empty() ? "/help lists them." : guess));
    return Next::go_on;
}

// What a shell or another chat ends with. A person who wants to say it to the model says more.
bool wants_to_leave(const std::string& text) { return text == "exit" || text == "quit"; }

constexpr std::string_view k_quotes = "\"\"\"";

// Between """ and """: the lines as they are, without the newlines beside the quotes.
LineEditor::Line read_quoted(const ChatHooks& hooks, LineEditor::Line line) {
    line.text.erase(0, k_quotes.size());
    while (!line.text.ends_with(k_quotes)) {
        const LineEditor::Line more = hooks.read_line("… ");
        if (more.kind != LineEditor::Line::Kind::text) return more;
        line.text += (line.text.empty() ? "" : "\n") + more.text;
    }
    line.text.resize(line.text.size() - k_quotes.size());
    if (line.text.ends_with('\n')) line.text.pop_back();
    return line;
}

// A typed text: lines joined while they end with a backslash, or between quotes.
LineEditor::Line read_text(const ChatHooks& hooks) {
    LineEditor::Line line = hooks.read_line("> ");
    if (line.kind == LineEditor::Line::Kind::text && line.text.starts_with(k_quotes))
        return read_quoted(hooks, std::move(line));
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
        const LineEditor::Line line = read_text(hooks);
        if (line.kind != LineEditor::Line::Kind::text)
            hooks.say("");  // the cursor stands behind a half-typed line
        if (line.kind == LineEditor::Line::Kind::end) return 0;
        if (line.kind == LineEditor::Line::Kind::interrupted || wants_to_leave(line.text)) {
            hooks.say("Ctrl-D or /exit ends the chat.");
            continue;
        }
        if (line.text.find_first_not_of(" \t\n") == std::string::npos) continue;
        if (is_command(line.text)) {
            if (run_slash_command(hooks, line.text) == Next::leave) return 0;
        } else if (const Status answered = hooks.answer(line.text); !answered) {
            return answered.error();
        }
    }
}

}  // namespace ft::cli
