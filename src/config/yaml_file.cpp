#include "config/yaml_file.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "base/read_text.h"

namespace ft {

namespace {

// Whether the quoted scalar that begins at `text[at]` ends before a line that is indented no deeper than its
// key: the parser takes the end of the lines, or of the file, for the missing quote.
bool quote_is_closed(std::string_view text, size_t at, int key_column) {
    const char quote = at < text.size() ? text[at] : '\0';
    if (quote != '"' && quote != '\'') return true;
    for (size_t i = at + 1; i < text.size(); i++) {
        if (quote == '"' && text[i] == '\\') i++;
        else if (text[i] == quote && quote == '\'' && i + 1 < text.size() && text[i + 1] == quote) i++;
        else if (text[i] == quote) return true;
        else if (text[i] == '\n') {
            const size_t next = std::min(text.find_first_not_of(" \r", i + 1), text.size());
            const bool blank = next < text.size() && text[next] == '\n';
            if (!blank && next - i - 1 <= static_cast<size_t>(key_column)) return false;
        }
    }
    return false;
}

// Depth 1 is the file's map of sections, depth 2 a section's map of keys; what lies deeper is only counted.
class Flattener : public YAML::EventHandler {
 public:
    Flattener(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {}

    YamlFile file;
    std::optional<Error> failure;

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        node(mark, anchor, "", YamlEntry::Form::null, "");
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        fail(mark, "aliases (*name) are not allowed in settings");
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        node(mark, anchor, tag, YamlEntry::Form::scalar, value);
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(mark, anchor, tag, YamlEntry::Form::list);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(mark, anchor, tag, YamlEntry::Form::map);
    }
    void OnMapEnd() override { close(); }

 private:
    void fail(const YAML::Mark& mark, std::string_view what) {
        if (!failure)
            failure = Error{Code::invalid, fmt::format("{} line {}: {}", name_, mark.line + 1, what), ""};
    }

    void open(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& tag, YamlEntry::Form form) {
        if (depth_ == 0 && form != YamlEntry::Form::map)
            fail(mark, "sections are expected here (`inference:`)");
        if (depth_ > 0) node(mark, anchor, tag, form, "");
        depth_++;
    }

    void close() {
        depth_--;
        if (depth_ == 1) section_.reset();
    }

    // A key or a value; maps and lists come here as they open.
    void node(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& tag, YamlEntry::Form form,
              const std::string& text) {
        if (anchor != 0) return fail(mark, "anchors (&name) are not allowed in settings");
        if (!tag.empty() && tag != "?" && tag != "!")
            return fail(mark, "tags (!name) are not allowed in settings");
        if (tag == "!" && !quote_is_closed(text_, static_cast<size_t>(mark.pos), key_column_))
            return fail(mark, "not valid YAML: the quotation mark is never closed");
        if (depth_ == 3 && in_list()) return take_item(form, text);
        if (depth_ > 2 || (depth_ == 2 && !in_map_)) return;
        if (depth_ == 0) {
            if (form != YamlEntry::Form::null) fail(mark, "sections are expected here (`inference:`)");
            return;
        }
        std::optional<std::string>& pending = depth_ == 1 ? section_ : key_;
        int& line = depth_ == 1 ? section_line_ : key_line_;
        if (!pending) {
            if (form != YamlEntry::Form::scalar) return fail(mark, "the name of a setting is expected here");
            pending = text;
            key_column_ = mark.column;
            line = mark.line + 1;
        } else if (depth_ == 1 && form == YamlEntry::Form::scalar &&
                   section_->find('.') != std::string::npos) {
            take_dotted(text);
        } else if (depth_ == 1) {
            take_section(form);
        } else {
            file.entries.push_back({*section_, *key_, form, text, line, {}});
            key_.reset();
        }
    }

    // Inside the value of the last key; there is none where the file was refused already.
    bool in_list() const {
        if (!in_map_ || file.entries.empty()) return false;
        const YamlEntry::Form form = file.entries.back().form;
        return form == YamlEntry::Form::list || form == YamlEntry::Form::nested_list;
    }

    void take_item(YamlEntry::Form form, const std::string& text) {
        YamlEntry& list = file.entries.back();
        if (form == YamlEntry::Form::scalar) list.items.push_back(text);
        else list.form = YamlEntry::Form::nested_list;
    }

    // "model.path: FILE" at the top, as `pull` prints it and --set takes it.
    void take_dotted(const std::string& text) {
        const size_t dot = section_->find('.');
        file.entries.push_back({section_->substr(0, dot),
                                section_->substr(dot + 1),
                                YamlEntry::Form::scalar,
                                text,
                                section_line_,
                                {}});
        section_.reset();
    }

    void take_section(YamlEntry::Form form) {
        const bool empty = form == YamlEntry::Form::null;
        in_map_ = form == YamlEntry::Form::map;
        file.sections.push_back({*section_, section_line_, in_map_ || empty});
        if (form == YamlEntry::Form::scalar || empty)
            section_.reset();  // a map or list ends with its own event
    }

    std::string_view text_;
    std::string name_;
    int depth_ = 0;
    std::optional<std::string> section_, key_;
    bool in_map_ = false;  // the open section is one
    int section_line_ = 0, key_line_ = 0, key_column_ = 0;
};

// The line of that number, from 0; "" where there is none.
std::string_view line_of_text(std::string_view text, int number) {
    for (; number > 0; number--) {
        const size_t end = text.find('\n');
        if (end == std::string_view::npos) return {};
        text.remove_prefix(end + 1);
    }
    return text.substr(0, text.find('\n'));
}

constexpr std::string_view k_form =
    "Write `section:` and below it, indented by two spaces, lines of `key: value`.";

bool is_indented_by_tab(std::string_view line) {
    const size_t indent = std::min(line.find_first_not_of(" \t"), line.size());
    return line.substr(0, indent).find('\t') != std::string_view::npos;
}

// The parser's words, and what helps: of its sentences few name what a person would change.
Error no_yaml(std::string_view text, const std::string& name, const YAML::Exception& failure) {
    // a tab may be noticed in the line after it only
    for (const int number : {failure.mark.line - 1, failure.mark.line})
        if (number >= 0 && is_indented_by_tab(line_of_text(text, number)))
            return Error{
                Code::invalid,
                fmt::format("{} line {}: not valid YAML: the line begins with a tab", name, number + 1),
                "Indent it with spaces: YAML takes no tabs there."};
    const std::string place = fmt::format("{} line {}: not valid YAML", name, failure.mark.line + 1);
    if (failure.msg == YAML::ErrorMsg::MAP_VALUE)
        return Error{Code::invalid, fmt::format("{}: a second `: ` in the line", place),
                     "Put a value that has one between quotation marks."};
    return Error{Code::invalid, fmt::format("{}: {}", place, failure.msg), std::string(k_form)};
}

}  // namespace

Expected<YamlFile> parse_yaml(std::string_view text, const std::string& name) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
    if (const size_t nul = text.find('\0'); nul != std::string_view::npos)
        return Error{
            Code::invalid,
            fmt::format("{} line {}: not valid YAML: a NUL byte", name,
                        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(nul), '\n') + 1),
            "Settings are plain text in UTF-8; save the file as such."};
    Flattener flat(text, name);
    try {
        std::istringstream stream{std::string(text)};
        YAML::Parser parser(stream);
        parser.HandleNextDocument(flat);
        if (!flat.failure && parser.HandleNextDocument(flat))
            return Error{Code::invalid, fmt::format("{}: holds more than one YAML document", name),
                         "Keep one, without `---` lines between."};
    } catch (const YAML::Exception& failure) {
        return no_yaml(text, name, failure);
    }
    if (flat.failure) return *flat.failure;
    return std::move(flat.file);
}

Expected<std::string> read_config_file(const std::string& path) {
    Expected<std::string> text = read_text(path, k_largest_config_bytes);
    if (text) return text;
    Error error = text.error().within("configuration file");
    if (error.code == Code::too_large)
        error.remedy = "That is no settings file; check the path given to --config.";
    return error;
}

}  // namespace ft
