#include "cli/chat_loop.h"

#include <algorithm>
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

Next show_help(const ChatHooks& hooks, const std::string&) {
    for (const ChatCommand& command : k_commands)
        hooks.say(
            fmt::format("  {:<16} {}", fmt::format("{} {}", command.name, command.argument), command.help));
    hooks.say("  Ctrl-C stops an answer. A line that ends with \\ goes on in the next one; what is");
    hooks.say("  pasted is one message, with its newlines.");
    return Next::go_on;
}

// "/word" alone or before a blank; a path like /usr/bin is something to talk about.
bool is_command(const std::string& line) {
    const std::string word = line.substr(0, line.find(' '));
    return word.size() > 1 && word[0] == '/' && word.find('/', 1) == std::string::npos;
}

Next run_slash_command(const ChatHooks& hooks, const std::string& line) {
    const std::string word = line.substr(0, line.find(' '));
    std::string argument = line.substr(std::min(word.size() + 1, line.size()));
    argument.erase(0, std::min(argument.find_first_not_of(' '), argument.size()));
    std::vector<std::string> names;
    for (const ChatCommand& command : k_commands) {
        if (word == command.name) return command.run(hooks, argument);
        names.emplace_back(command.name);
    }
    const std::string guess = did_you_mean(word, names);
    hooks.say(fmt::format("{} is no command. {}", word, guess.empty() ? "/help lists them." : guess));
    return Next::go_on;
}

// A typed text: lines joined while they end with a backslash.
LineEditor::Line read_text(const ChatHooks& hooks) {
    LineEditor::Line line = hooks.read_line("> ");
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
        if (line.kind == LineEditor::Line::Kind::interrupted) continue;
        if (line.text.find_first_not_of(" \t\n") == std::string::npos) continue;
        if (is_command(line.text)) {
            if (run_slash_command(hooks, line.text) == Next::leave) return 0;
        } else if (const Status answered = hooks.answer(line.text); !answered) {
            return answered.error();
        }
    }
}

}  // namespace ft::cli
