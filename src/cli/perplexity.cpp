// freetoken perplexity: how well a model predicts a text. Method of llama.cpp's tool of that name: chunks of
// --ctx tokens, each in an empty context, the second half of each chunk scored; special tokens are not
// parsed.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/double_math.h"
#include "base/read_text.h"
#include "cli/json_text.h"
#include "cli/load_engine.h"
#include "cli/progress_bar.h"
#include "cli/standard_output.h"
#include "sample/sampler.h"
#include "text/tokenizer.h"

namespace ft::cli {

namespace {

constexpr int64_t k_default_chunk = 512;
constexpr int64_t k_least_chunk = 3;  // one token to begin with, one before and one that is scored
constexpr uint64_t k_largest_text_bytes = 64 * k_mib;

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

// The text as ids, in whole chunks of n.
struct Chunks {
    std::vector<int32_t> ids;
    int64_t n = 0;
    bool adds_bos = false;
    int32_t bos_id = 0;

    int64_t count() const { return static_cast<int64_t>(ids.size()) / n; }
    std::span<const int32_t> chunk(int64_t number) {
        const std::span<int32_t> part(ids.data() + number * n, static_cast<size_t>(n));
        if (adds_bos) part[0] = bos_id;
        return part;
    }
    Status cut(const std::string& text, const std::string& path, const ModelOutline& model) {
        auto tokenizer = Tokenizer::load(model.file);
        if (!tokenizer) return tokenizer.error();
        ids = (*tokenizer)->encode(text, {.special = false, .add_special = true});
        n = model.n_ctx;
        adds_bos = (*tokenizer)->adds_bos();
        bos_id = adds_bos ? (*tokenizer)->bos_id() : 0;
        if (count() > 0) return {};
        return Error{Code::invalid,
                     fmt::format("{}: the text is too short: {} tokens, but one chunk has {}",
                                 path_text(path), ids.size(), n),
                     "Give a longer text, or a smaller --ctx."};
    }
};

Expected<int> print_perplexity(const ModelChoice& model, const std::string& text_path, bool as_json) {
    if (Status s = require_flag(text_path, "perplexity", "--text FILE"); !s) return s.error();
    LoadOptions options = load_options(model);
    if (options.n_ctx == 0) options.n_ctx = k_default_chunk;
    if (options.n_ctx < k_least_chunk)
        return Error{Code::invalid,
                     fmt::format("chunks of {} tokens have none to score: it is the second half that counts",
                                 options.n_ctx),
                     fmt::format("Choose --ctx {} or more.", k_least_chunk)};
    auto text = read_text(text_path, k_largest_text_bytes);
    if (!text) return text.error().within("--text");
    Chunks parts;
    options.before_weights = [&](const ModelOutline& outline) {
        return parts.cut(*text, text_path, outline);
    };
    auto engine = load_engine(options);
    if (!engine) return engine.error();
    const int64_t chunks = parts.count(), n = parts.n;
    auto session = (*engine)->new_session();
    if (!session) return session.error();
    ProgressBar bar("perplexity");
    Score score;
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
        if (Status s = score_chunk(**session, parts.chunk(chunk), score); !s)
            return s.error().within(path_text(model.path));
        bar.update(static_cast<uint64_t>(chunk + 1), static_cast<uint64_t>(chunks));
    }
    if (!std::isfinite(score.perplexity()))
        return Error{
            Code::invalid,
            fmt::format("the perplexity is beyond every number: the mean surprise is {:.1f}", score.mean()),
            "The model does not know this text at all: check that both belong together."};
    if (as_json)
        write_out(json_text({{"perplexity", score.perplexity()},
                             {"standard_error", score.standard_error()},
                             {"tokens", parts.ids.size()},
                             {"chunks", chunks},
                             {"chunk_tokens", n},
                             {"scored", score.n}}));
    else
        write_out(fmt::format("perplexity: {:.5f} +/- {:.5f} ({} tokens, {} chunks of {}, {} scored)\n",
                              score.perplexity(), score.standard_error(), parts.ids.size(), chunks, n,
                              score.n));
    if (Status s = finish_output(); !s) return s.error();
    return 0;
}

}  // namespace

Action define_perplexity(CLI::App& app) {
    const auto flags = add_model_flags(app, Use::loading);
    const auto text = std::make_shared<std::string>();
    app.add_option("--text", *text, "the plain text to predict")->type_name("FILE");
    const auto as_json = std::make_shared<bool>(false);
    app.add_flag("--json", *as_json, "print one JSON object");
    app.get_option("--ctx")->description(
        "tokens of a chunk, of which the second half is scored (default: 512)");
    return [=] {
        return with_model(*flags,
                          [&](const ModelChoice& model) { return print_perplexity(model, *text, *as_json); });
    };
}

}  // namespace ft::cli
