#include "cli/modelfile.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/read_text.h"
#include "hub/url.h"

namespace ft::cli {

namespace {

constexpr uint64_t k_largest_modelfile = uint64_t{1} << 20;

struct ModelfileParameter {
    std::string_view name, key;  // key: "" where it has no meaning here
};
constexpr ModelfileParameter k_parameters[] = {
    {"num_ctx", "kv_cache.max_context"},
    {"num_predict", "inference.max_tokens"},
    {"num_thread", "inference.threads"},
    {"num_batch", "inference.step_tokens"},
    {"temperature", "inference.temperature"},
    {"top_k", "inference.top_k"},
    {"top_p", "inference.top_p"},
    {"min_p", "inference.min_p"},
    {"typical_p", "inference.typical_p"},
    {"repeat_penalty", "inference.repetition_penalty"},
    {"repeat_last_n", "inference.repeat_last_n"},
    {"presence_penalty", "inference.presence_penalty"},
    {"frequency_penalty", "inference.frequency_penalty"},
    {"mirostat", "inference.mirostat"},
    {"mirostat_tau", "inference.mirostat_tau"},
    {"mirostat_eta", "inference.mirostat_eta"},
    {"seed", "inference.seed"},
    {"stop", "inference.stop"},
    {"num_gpu", ""},
    {"main_gpu", ""},
    {"num_keep", ""},
    {"use_mmap", ""},
    {"use_mlock", ""},
};

std::string_view without_blanks_before(std::string_view text) {
    return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

std::string_view without_blanks(std::string_view text) {
    text = without_blanks_before(text);
    return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

// Up to the first blank, and what follows the blanks.
std::pair<std::string_view, std::string_view> first_word(std::string_view text) {
    const size_t end = std::min(text.find_first_of(" \t\r"), text.size());
    return {text.substr(0, end), without_blanks_before(text.substr(end))};
}

size_t quote_at_line_end(std::string_view text) {
    for (size_t at = text.find('"'); at != std::string_view::npos; at = text.find('"', at + 1)) {
        const size_t next = text.find_first_not_of(" \t\r", at + 1);
        if (next == std::string_view::npos || text[next] == '\n') return at;
    }
    return std::string_view::npos;
}

// A file of Windows has CR LF where a prompt wants LF.
std::string with_plain_line_ends(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); i++)
        if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') out += text[i];
    return out;
}

std::string in_capitals(std::string_view word) {
    std::string out(word);
    for (char& c : out)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return out;
}

class ModelfileParser {
 public:
    ModelfileParser(std::string_view text, const std::string& path) : rest_(text), path_(path) {}

    Expected<Modelfile> run() {
        while (!rest_.empty()) {
            const std::string_view line = without_blanks_before(next_line());
            if (line.empty() || line.front() == '#') continue;
            const auto [name, value] = first_word(line);
            if (Status taken = take(in_capitals(name), value); !taken) return taken.error();
        }
        if (!stops_.empty())
            out_.presets.push_back(
                {fmt::format("{} PARAMETER stop", path_), "inference.stop", list_text(stops_)});
        return std::move(out_);
    }

 private:
    std::string_view next_line() {
        const size_t end = std::min(rest_.find('\n'), rest_.size());
        const std::string_view line = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        line_++;
        return line;
    }

    std::string origin() const { return fmt::format("{} line {}", path_, line_); }
    Error wrong(std::string what, std::string remedy) const {
        return Error{Code::invalid, fmt::format("{}: {}", origin(), what), std::move(remedy)};
    }

    // A value in quotes, one or three, or as it stands, without the blanks around it. Quotes may be closed
    // lines later: three wherever they stand, one at the end of a line.
    Expected<std::string> text_of(std::string_view value) {
        const std::string_view quotes = value.starts_with("\"\"\"") ? "\"\"\""
                                        : value.starts_with('"')    ? "\""
                                                                    : "";
        if (quotes.empty()) return std::string(without_blanks(value));
        const std::string_view text(value.data() + quotes.size(), rest_.data() + rest_.size());
        const size_t end = quotes.size() > 1 ? text.find(quotes) : quote_at_line_end(text);
        if (end == std::string_view::npos)
            return wrong("its quotes are never closed", fmt::format("Write {} after the text.", quotes));
        while (!rest_.empty() && rest_.data() <= text.data() + end) next_line();
        return with_plain_line_ends(text.substr(0, end));
    }

    Status take(const std::string& name, std::string_view value) {
        const std::string place = origin();
        if (name == "FROM") return take_model(std::string(without_blanks(value)));
        if (name == "PARAMETER") return take_parameter(value);
        const Expected<std::string> text = text_of(value);
        if (!text) return text.error();
        if (name == "SYSTEM") {
            out_.presets.push_back({place, "inference.system", *text});
            return {};
        }
        if (name == "TEMPLATE") {
            out_.presets.push_back({place, "model.template_text", *text});
            return {};
        }
        if (name == "LICENSE" || name == "REQUIRES") return {};
        if (name == "ADAPTER" || name == "MESSAGE")
            return wrong(fmt::format("{} is not offered", name), "Leave it out.");
        return wrong(fmt::format("{} is no instruction of a Modelfile", printable(name)),
                     "There are FROM, PARAMETER, SYSTEM, TEMPLATE and LICENSE.");
    }

    // What is no file beside the Modelfile, and does not look like one, is a name: it stays as it is.
    Status take_model(std::string model) {
        if (model.empty()) return wrong("FROM names no model", "Name a GGUF file, or a name of `list`.");
        const std::string beside =
            (std::filesystem::path(path_).parent_path() / model).lexically_normal().string();
        std::error_code failed;
        const bool is_path = model.front() == '.' || model.ends_with(".gguf") ||
                             std::filesystem::is_regular_file(beside, failed);
        if (is_path && model.front() != '/' && model.front() != '~' && !is_url(model)) model = beside;
        out_.presets.push_back({origin(), "model.path", std::move(model)});
        return {};
    }

    Status take_parameter(std::string_view line) {
        const auto [name, value] = first_word(line);
        const auto known =
            std::find_if(std::begin(k_parameters), std::end(k_parameters),
                         [&, wanted = name](const ModelfileParameter& p) { return p.name == wanted; });
        if (known == std::end(k_parameters))
            return wrong(fmt::format("PARAMETER {} is not known", printable(name)), "");
        if (known->key.empty()) {
            out_.notes.push_back(fmt::format("{}: PARAMETER {} changes nothing here.", origin(), name));
            return {};
        }
        const Expected<std::string> text = text_of(value);
        if (!text) return text.error();
        if (known->key == "inference.stop") stops_.push_back(*text);
        else if (known->key != "inference.max_tokens" ||
                 !text->starts_with('-'))  // -1: what there is room for
            out_.presets.push_back({origin(), std::string(known->key), *text});
        return {};
    }

    std::string_view rest_;
    const std::string& path_;
    int line_ = 0;
    std::vector<std::string> stops_;
    Modelfile out_;
};

}  // namespace

Expected<Modelfile> parse_modelfile(std::string_view text, const std::string& path) {
    return ModelfileParser(text, path).run();
}

Expected<Modelfile> read_modelfile(const std::string& path) {
    const Expected<std::string> text = ft::read_text(path, k_largest_modelfile);
    if (!text) return text.error().within("--modelfile");
    return parse_modelfile(*text, path);
}

}  // namespace ft::cli
