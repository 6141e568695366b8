#include "tiers/trace.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/bytes.h"
#include "io/file.h"
#include "io/output_file.h"

namespace ft {

namespace {

constexpr std::string_view k_first_line = "# freetoken-trace 1";
constexpr uint64_t k_most_file_bytes = 4 * k_gib;

// Words of a line, and where it stands for errors.
class Line {
 public:
    Line(std::string_view text, std::string_view name, int64_t number)
        : rest_(text), name_(name), number_(number) {}

    std::string_view word() {
        const size_t begin = rest_.find_first_not_of(" \t\r");
        if (begin == std::string_view::npos) return rest_ = {};
        const size_t end = std::min(rest_.find_first_of(" \t\r", begin), rest_.size());
        const std::string_view found = rest_.substr(begin, end - begin);
        rest_.remove_prefix(end);
        return found;
    }
    bool at_end() const { return rest_.find_first_not_of(" \t\r") == std::string_view::npos; }

    Expected<int64_t> number(std::string_view what, int64_t least, int64_t most) {
        const std::string_view text = word();
        int64_t value = 0;
        const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (text.empty() || status != std::errc() || end != text.data() + text.size())
            return wrong(fmt::format("'{}' is no number where {} stands", printable(text, 40), what));
        if (value < least || value > most)
            return wrong(fmt::format("{} is {}, outside {} to {}", what, value, least, most));
        return value;
    }
    [[nodiscard]] Error wrong(std::string_view sentence) const {
        return Error{Code::invalid, fmt::format("{}: line {}: {}", name_, number_, sentence),
                     "Record a trace by `freetoken trace MODEL -p TEXT -o TRACE`."};
    }

 private:
    std::string_view rest_, name_;
    int64_t number_;
};

class Parser {
 public:
    Parser(std::string_view text, std::string_view name) : text_(text), name_(name) {}

    Expected<Trace> parse() {
        if (text_.substr(0, text_.find('\n')) != k_first_line)
            return Error{Code::invalid,
                         fmt::format("{}: {}", name_,
                                     text_.empty() ? "the file is empty: it holds no trace"
                                                   : "no routing trace: its first line is not "
                                                     "'# freetoken-trace 1'"),
                         "Record a trace by `freetoken trace MODEL -p TEXT -o TRACE`."};
        int64_t number = 0;
        while (!text_.empty()) {
            const size_t end = std::min(text_.find('\n'), text_.size());
            Line line(text_.substr(0, end), name_, ++number);
            if (Status s = text_[0] == '#' ? comment(text_.substr(0, end), line) : row(line); !s)
                return s.error();
            text_.remove_prefix(std::min(end + 1, text_.size()));
        }
        if (trace_.rows.empty())
            return Error{Code::invalid, fmt::format("{}: the trace has no rows", name_),
                         "Record a trace by `freetoken trace MODEL -p TEXT -o TRACE`."};
        return std::move(trace_);
    }

 private:
    Status comment(std::string_view text, Line line) {
        line.word();  // #
        const std::string_view key = line.word();
        if (key == "model:") {
            constexpr std::string_view prefix = "# model: ";
            if (text.starts_with(prefix)) trace_.model = text.substr(prefix.size());
        } else if (key == "layers") return sizes(line);
        else if (key == "expert_bytes") return expert_bytes(line);
        return {};
    }

    // layers L experts E top_k k tokens N prompt_tokens P, the word `layers` read already
    Status sizes(Line line) {
        if (trace_.n_layers) return line.wrong("the sizes stand here a second time");
        struct Field {
            std::string_view name;
            int64_t least, most, value = 0;
        };
        constexpr int64_t k_most_tokens = int64_t{1} << 40;
        Field fields[] = {{"layers", 1, k_most_trace_layers},
                          {"experts", 1, k_most_trace_experts},
                          {"top_k", 1, k_most_trace_experts},
                          {"tokens", 0, k_most_tokens},
                          {"prompt_tokens", 0, k_most_tokens}};
        for (Field& field : fields) {
            if (&field != fields && line.word() != field.name)
                return line.wrong(fmt::format("'{}' is missing among the sizes", field.name));
            const auto value = line.number(field.name, field.least, field.most);
            if (!value) return value.error();
            field.value = *value;
        }
        trace_.n_layers = static_cast<int>(fields[0].value);
        trace_.n_experts = static_cast<int>(fields[1].value);
        trace_.top_k = static_cast<int>(fields[2].value);
        trace_.n_tokens = fields[3].value;
        trace_.n_prompt = fields[4].value;
        if (const int64_t all = fields[0].value * fields[1].value; all > k_most_experts_of_trace)
            return line.wrong(fmt::format("layers times experts is {}, and no model has more than {}", all,
                                          k_most_experts_of_trace));
        if (trace_.top_k > trace_.n_experts) return line.wrong("top_k is larger than the number of experts");
        if (trace_.n_prompt > trace_.n_tokens) return line.wrong("more prompt tokens than tokens");
        return {};
    }

    Status expert_bytes(Line line) {
        if (!trace_.n_layers) return line.wrong("expert_bytes stand before the sizes");
        if (!trace_.expert_bytes.empty()) return line.wrong("expert_bytes stand here a second time");
        for (int il = 0; il < trace_.n_layers; ++il) {
            const auto bytes = line.number("the bytes of an expert", 1, int64_t{1} << 40);
            if (!bytes) return bytes.error();
            trace_.expert_bytes.push_back(static_cast<uint64_t>(*bytes));
        }
        if (!line.at_end()) return line.wrong("more expert_bytes than layers");
        return {};
    }

    Status row(Line line) {
        if (line.at_end()) return {};
        if (!trace_.n_layers) return line.wrong("a row stands before the sizes (# layers …)");
        const auto layer = line.number("the layer", 0, trace_.n_layers - 1);
        if (!layer) return layer.error();
        const auto token = line.number("the token", 0, trace_.n_tokens - 1);
        if (!token) return token.error();
        Trace::Row row{static_cast<int>(*layer), *token, trace_.experts.size(), 0};
        if (!trace_.rows.empty()) {
            const Trace::Row& before = trace_.rows.back();
            if (row.token < before.token || (row.token == before.token && row.layer <= before.layer))
                return line.wrong("rows must stand token by token, layers rising");
        }
        for (; !line.at_end(); ++row.n_experts) {
            if (row.n_experts == trace_.top_k) return line.wrong("more experts than top_k");
            const auto expert = line.number("an expert", 0, trace_.n_experts - 1);
            if (!expert) return expert.error();
            const auto first = trace_.experts.begin() + static_cast<ptrdiff_t>(row.first);
            if (std::find(first, trace_.experts.end(), *expert) != trace_.experts.end())
                return line.wrong(fmt::format("expert {} stands twice", *expert));
            trace_.experts.push_back(static_cast<uint16_t>(*expert));
        }
        if (!row.n_experts) return line.wrong("a row without experts");
        trace_.rows.push_back(row);
        return {};
    }

    std::string_view text_, name_;
    Trace trace_;
};

Status read_whole(const File& file, std::string& text) {
    text.resize(file.size());
    return file.read_at(0, std::as_writable_bytes(std::span(text)));
}

}  // namespace

uint64_t Trace::demand_bytes() const {
    uint64_t bytes = 0;
    for (const uint64_t expert : expert_bytes) bytes += expert * static_cast<uint64_t>(top_k);
    return bytes;
}

Expected<Trace> parse_trace(std::string_view text, std::string_view name) {
    return Parser(text, name).parse();
}

Expected<Trace> read_trace(const std::string& path) {
    const auto file = File::open(path);
    if (!file) return file.error();
    if ((*file)->size() > k_most_file_bytes)
        return Error{Code::too_large,
                     fmt::format("{}: {} bytes, more than 4 GiB", path_text(path), (*file)->size()),
                     "Record a shorter trace."};
    // A large file of another kind is told by its beginning, not by reading all of it.
    std::string text(std::min<uint64_t>((*file)->size(), k_first_line.size() + 1), '\0');
    if (Status s = (*file)->read_at(0, std::as_writable_bytes(std::span(text))); !s) return s.error();
    if (text.starts_with(k_first_line))
        if (Status s = read_whole(**file, text); !s) return s.error();
    return parse_trace(text, path_text(path));
}

std::string trace_text(const Trace& trace) {
    std::string text = fmt::format(
        "{}\n# model: {}\n# layers {} experts {} top_k {} tokens {} prompt_tokens {}\n", k_first_line,
        printable(trace.model), trace.n_layers, trace.n_experts, trace.top_k, trace.n_tokens, trace.n_prompt);
    if (!trace.expert_bytes.empty()) {
        text += "# expert_bytes";
        for (const uint64_t bytes : trace.expert_bytes)
            fmt::format_to(std::back_inserter(text), " {}", bytes);
        text += '\n';
    }
    text += "# rows: layer token expert ... (by falling router weight)\n";
    for (const Trace::Row& row : trace.rows) {
        fmt::format_to(std::back_inserter(text), "{} {}", row.layer, row.token);
        for (const uint16_t expert : trace.chosen(row))
            fmt::format_to(std::back_inserter(text), " {}", expert);
        text += '\n';
    }
    return text;
}

Status write_trace(const Trace& trace, const std::string& path) {
    auto file = OutputFile::create(path);
    if (!file) return file.error();
    const std::string text = trace_text(trace);
    if (Status s = file->write(std::as_bytes(std::span(text))); !s) return s;
    return file->commit();
}

void TraceRecorder::add(int layer, int64_t token, std::span<const int> experts) {
    trace_.rows.push_back({layer, token, trace_.experts.size(), static_cast<int>(experts.size())});
    for (const int expert : experts) trace_.experts.push_back(static_cast<uint16_t>(expert));
}

Trace TraceRecorder::finish() {
    std::sort(trace_.rows.begin(), trace_.rows.end(), [](const Trace::Row& a, const Trace::Row& b) {
        return a.token != b.token ? a.token < b.token : a.layer < b.layer;
    });
    trace_.n_tokens = trace_.rows.empty() ? 0 : trace_.rows.back().token + 1;
    return std::move(trace_);
}

}  // namespace ft
