// freetoken perplexity: how well a model predicts a text. Method of llama.cpp's tool of that name: chunks of
// --ctx tokens, each in an empty context, the second half of each chunk scored; special tokens are not
// parsed.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/double_math.h"
#include "cli/json_text.h"
#include "cli/load_engine.h"
#include "cli/progress_bar.h"
#include "cli/standard_output.h"
#include "io/file.h"
#include "sample/sampler.h"
#include "text/tokenizer.h"

namespace ft::cli {

namespace {

constexpr int64_t k_default_chunk = 512;

Expected<std::string> read_text(const std::string& path) {
    auto file = File::open(path);
    if (!file) return file.error();
    std::string text((*file)->size(), '\0');
    if (Status s = (*file)->read_at(0, std::as_writable_bytes(std::span(text))); !s) return s.error();
    return text;
}

// -ln p(id) under the softmax of the logits.
double negative_log_likelihood(std::span<const float> logits, int32_t id) {
    const double most = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (float logit : logits) sum += exp_f64(std::max(static_cast<double>(logit) - most, -690.0));
    return log_f64(sum) + most - logits[static_cast<size_t>(id)];
}

struct Score {
    double sum = 0, sum_of_squares = 0;
    int64_t n = 0;
    void add(double value) {
        sum += value;
        sum_of_squares += value * value;
        n++;
    }
    double mean() const { return sum / static_cast<double>(n); }
    double perplexity() const { return exp_f64(mean()); }
    double standard_error() const {
        const double variance = sum_of_squares / static_cast<double>(n) - mean() * mean();
        return n > 1 ? std::sqrt(std::max(0.0, variance) / static_cast<double>(n - 1)) * perplexity() : 0.0;
    }
};

Status score_chunk(Session& session, std::span<const int32_t> ids, Score& score) {
    session.clear();
    int64_t position = 0;
    const auto n = static_cast<int64_t>(ids.size());
    return session.feed_all(ids, [&](std::span<const float> logits) -> Status {
        if (position >= n / 2 && position < n - 1) {
            if (Status finite = check_finite(logits); !finite) return finite;
            score.add(negative_log_likelihood(logits, ids[position + 1]));
        }
        position++;
        return {};
    });
}

Expected<int> measure(const ModelChoice& model, const std::string& text_path, bool as_json) {
    if (Status s = require_flag(text_path, "--text FILE"); !s) return s.error();
    auto text = read_text(text_path);
    if (!text) return text.error();
    LoadOptions options = load_options(model);
    if (options.n_ctx == 0) options.n_ctx = k_default_chunk;
    auto engine = load_engine(options);
    if (!engine) return engine.error();
    auto tokenizer = Tokenizer::load((*engine)->file());
    if (!tokenizer) return tokenizer.error();
    std::vector<int32_t> ids = (*tokenizer)->encode(*text, {.special = false, .add_special = true});
    const int64_t n = (*engine)->n_ctx(), chunks = static_cast<int64_t>(ids.size()) / n;
    if (chunks == 0)
        return Error{Code::invalid,
                     fmt::format("{}: the text is too short: {} tokens, but one chunk has {}", text_path,
                                 ids.size(), n),
                     "Give a longer text, or a smaller --ctx."};
    auto session = (*engine)->new_session();
    if (!session) return session.error();
    ProgressBar bar("perplexity");
    Score score;
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
        const std::span<int32_t> part(ids.data() + chunk * n, static_cast<size_t>(n));
        if ((*tokenizer)->adds_bos()) part[0] = (*tokenizer)->bos_id();
        if (Status s = score_chunk(**session, part, score); !s) return s.error().within(model.path);
        bar.update(static_cast<uint64_t>(chunk + 1), static_cast<uint64_t>(chunks));
    }
    if (as_json)
        write_out(json_text({{"perplexity", score.perplexity()},
                             {"standard_error", score.standard_error()},
                             {"tokens", ids.size()},
                             {"chunks", chunks},
                             {"chunk_tokens", n},
                             {"scored", score.n}}));
    else
        write_out(fmt::format("perplexity: {:.5f} +/- {:.5f} ({} tokens, {} chunks of {}, {} scored)\n",
                              score.perplexity(), score.standard_error(), ids.size(), chunks, n, score.n));
    if (Status s = finish_output(); !s) return s.error();
    return 0;
}

}  // namespace

Action define_perplexity(CLI::App& app) {
    const auto flags = add_model_flags(app, Use::loading);
    const auto text = std::make_shared<std::string>();
    app.add_option("--text", *text, "plain text to predict; --ctx is the length of a chunk (default 512)")
        ->type_name("FILE");
    const auto as_json = std::make_shared<bool>(false);
    app.add_flag("--json", *as_json, "one JSON object");
    return [=] {
        return with_model(*flags, [&](const ModelChoice& model) { return measure(model, *text, *as_json); });
    };
}

}  // namespace ft::cli
