// freetoken bench: speed of prompt and generation on fixed ids, without sampling (docs/verify.md).
#include <sys/resource.h>
#include <xxhash.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/size_text.h"
#include "cli/bench_conversations.h"
#include "cli/bench_parallel.h"
#include "cli/json_text.h"
#include "cli/load_engine.h"
#include "cli/numbers.h"
#include "cli/progress_bar.h"
#include "cli/scheduler_settings.h"
#include "cli/standard_output.h"
#include "cli/timings.h"
#include "device/cgroup.h"
#include "device/foreign_cpu.h"

namespace ft::cli {

namespace {

struct BenchFlags {
    int64_t pp = 128, tg = 32, depth = 0, warm = 0, reps = 3;
    double limit = 0;
    bool json = false;
    std::vector<int> parallel = {};
    int64_t conversations = 0;            // lines of the mix; 0: that part is not asked for
    std::vector<std::string> parts = {};  // of conversations; none: all
};

// The ids of the field's synthetic benchmark: no two neighbours alike, spread over the vocabulary.
std::vector<int32_t> bench_ids(int64_t n, int64_t n_vocab) {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < n; i++) ids.push_back(static_cast<int32_t>((100 + i * 7919 % 20000) % n_vocab));
    return ids;
}

struct Part {
    int64_t n = 0;
    double ms = 0;
    uint64_t hash = 0;        // of the last logits
    CacheStats experts = {};  // of the counted tokens
    double rate() const { return ms > 0 ? static_cast<double>(n) * 1e3 / ms : 0.0; }
};

uint64_t hash_of(std::span<const float> logits, uint64_t seed) {
    return XXH3_64bits_withSeed(logits.data(), logits.size_bytes(), seed);
}

// The counted ids, `step` at a time, until they are done or `limit` seconds have passed (0: no limit).
Expected<Part> timed(Session& session, std::span<const int32_t> ids, size_t step, double limit) {
    Part part;
    const CacheStats before = session.expert_stats();
    const Seconds start = now_seconds();
    for (size_t at = 0; at < ids.size(); at += step) {
        const auto some = ids.subspan(at, std::min(step, ids.size() - at));
        if (Status s = session.feed(some); !s) return s.error();
        part.n += static_cast<int64_t>(some.size());
        if (limit > 0 && now_seconds() - start > limit) break;
    }
    part.ms = (now_seconds() - start) * 1e3;
    part.experts = session.expert_stats() - before;
    if (part.n > 0) part.hash = hash_of(session.logits(), 0);
    return part;
}

Expected<Part> prompt_part(Session& session, const BenchFlags& flags, std::span<const int32_t> ids) {
    session.clear();
    // one feed where nothing limits it: a chunk's logits are worked out for its last id only
    const size_t step = flags.limit > 0 ? static_cast<size_t>(session.step_tokens()) : ids.size();
    return timed(session, ids.first(static_cast<size_t>(flags.pp)), std::max<size_t>(step, 1), flags.limit);
}

Expected<Part> generation_part(Session& session, const BenchFlags& flags, std::span<const int32_t> ids) {
    session.clear();
    const auto uncounted = static_cast<size_t>(flags.depth + 1);
    if (Status s = session.feed(ids.first(uncounted)); !s) return s.error();
    for (int64_t i = 0; i < flags.warm; i++)
        if (Status s = session.feed(ids.subspan(uncounted + static_cast<size_t>(i), 1)); !s) return s.error();
    return timed(session,
                 ids.subspan(uncounted + static_cast<size_t>(flags.warm), static_cast<size_t>(flags.tg)), 1,
                 flags.limit);
}

const Part& median(std::vector<Part>& parts) {
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.rate() < b.rate(); });
    return parts[parts.size() / 2];
}

uint64_t peak_memory_bytes() {
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    return static_cast<uint64_t>(use.ru_maxrss) * 1024;
}

// What of the process lies in RAM now: memory of its own, and pages of files that are mapped, which are those
// of the program and its libraries alone, since models are read and not mapped.
struct Resident {
    uint64_t anonymous = 0, mapped = 0;
};

Resident resident_now() {
    const std::string text = read_system_file("/proc/self/status").value_or("");
    return {number_after(text, "RssAnon:").value_or(0) * k_kib,
            number_after(text, "RssFile:").value_or(0) * k_kib};
}

struct Result {
    Timings timings;
    double fill_ms = 0;  // in which the slots were filled
    uint64_t hash = 0;
    double foreign_cpu = -1;
};

// What is measured is a program that has been up for some seconds. Returns the milliseconds that it took.
double wait_for_full_slots(Engine& engine) {
    constexpr Seconds k_between_marks = 0.1;
    const Seconds start = now_seconds();
    ProgressBar bar("filling slots");
    while (!engine.slots_filled_within(k_between_marks))
        bar.update(engine.expert_stats().bytes_read, engine.slot_bytes());
    return (now_seconds() - start) * 1e3;
}

Expected<Result> measure(Engine& engine, const BenchFlags& flags) {
    auto session = engine.new_session();
    if (!session) return session.error();
    const auto ids = bench_ids(std::max(flags.pp, flags.depth + 1 + flags.warm + flags.tg), engine.n_vocab());
    Result result;
    result.fill_ms = wait_for_full_slots(engine);
    const ForeignCpu watch;
    std::vector<Part> prompts, generations;
    for (int64_t rep = 0; rep < flags.reps; rep++) {
        if (flags.pp > 0) {
            auto part = prompt_part(**session, flags, ids);
            if (!part) return part.error();
            prompts.push_back(*part);
        }
        if (flags.tg > 0) {
            auto part = generation_part(**session, flags, ids);
            if (!part) return part.error();
            generations.push_back(*part);
        }
    }
    result.foreign_cpu = watch.share();
    CacheStats experts;
    if (!prompts.empty()) {
        const Part& p = median(prompts);
        result.timings.prompt_n = p.n;
        result.timings.prompt_ms = result.timings.ttft_ms = p.ms;
        result.hash = p.hash;
        experts += p.experts;
    }
    if (!generations.empty()) {
        const Part& p = median(generations);
        result.timings.predicted_n = p.n;
        result.timings.predicted_ms = p.ms;
        result.timings.first_is_free = false;
        result.hash = XXH3_64bits_withSeed(&p.hash, sizeof p.hash, result.hash);
        experts += p.experts;
    }
    if (!engine.experts_resident()) result.timings.experts = experts;
    result.timings.load_ms = engine.load_ms();
    result.timings.forecast = forecast_of(engine);
    result.timings.bytes_per_token = engine.bytes_per_token();
    return result;
}

void print(const Engine& engine, const BenchFlags& flags, const Result& r) {
    const Timings& t = r.timings;
    const Resident now = resident_now();
    if (flags.json) {
        nlohmann::ordered_json timings = to_json(t);
        timings["fill_ms"] = rounded(r.fill_ms, 1);
        timings["logits_hash"] = fmt::format("{:016x}", r.hash);
        timings["foreign_cpu"] = rounded(r.foreign_cpu, 4);
        const nlohmann::ordered_json out = {
            {"timings", timings},
            {"threads", engine.threads()},
            {"isa", engine.kernels_name()},
            {"reps", flags.reps},
            {"depth", flags.depth},
            {"peak_memory_bytes", peak_memory_bytes()},
            {"resident_bytes", {{"anonymous", now.anonymous}, {"mapped_files", now.mapped}}}};
        write_out(json_text(out));
        return;
    }
    if (t.prompt_n > 0)
        write_out(fmt::format("prompt      {:8} tokens {:10.2f} tok/s   time to first token {:.1f} ms\n",
                              t.prompt_n, t.prompt_per_second(), t.ttft_ms));
    if (t.predicted_n > 0)
        write_out(fmt::format("generation  {:8} tokens {:10.2f} tok/s   {:.1f} GB/s of weights\n",
                              t.predicted_n, t.predicted_per_second(), t.read_gb_per_second()));
    write_out(
        fmt::format("load {:.0f} ms, peak memory {:.0f} MiB (now {:.0f}, and {:.0f} of mapped files), "
                    "{} threads, {}, logits {:016x}\n",
                    t.load_ms, mib(peak_memory_bytes()), mib(now.anonymous), mib(now.mapped),
                    engine.threads(), engine.kernels_name(), r.hash));
    if (t.experts)
        write_out(fmt::format(
            "experts     {:.1f} % in RAM when asked for, {} read, {:.1f} s waited for the drive\n",
            100 * t.experts->hit_rate(), size_text(t.experts->bytes_read), t.experts->wait_seconds));
    if (const std::string foreseen = forecast_text(t); !foreseen.empty()) write_out(foreseen + "\n");
    if (r.foreign_cpu > 0.03)
        log("warn", "other programs used {:.0f} % of the processors meanwhile: the figures are too low",
            100 * r.foreign_cpu);
}

// The same for several answers at once, instead of one.
Expected<int> bench_widths(LoadOptions options, const BenchFlags& flags) {
    const int64_t pp = std::max<int64_t>(flags.pp, 1), tg = std::max<int64_t>(flags.tg, 2);
    if (options.n_ctx == 0) options.n_ctx_least = pp + tg;
    options.steps.batch_size = *std::ranges::max_element(flags.parallel);
    auto engine = load_engine(options);
    if (!engine) return engine.error();
    const ForeignCpu watch;
    const auto results = bench_parallel(**engine, flags.parallel, pp, tg);
    if (!results) return results.error();
    if (flags.json) {
        const nlohmann::ordered_json out = {{"parallel", to_json(*results)},
                                            {"threads", (*engine)->threads()},
                                            {"isa", (*engine)->kernels_name()},
                                            {"foreign_cpu", watch.share()}};
        write_out(json_text(out));
    } else {
        write_out(to_text(*results));
    }
    if (Status s = finish_output(); !s) return s.error();
    return 0;
}

// The same for conversations that run beside each other.
Expected<int> bench_together(LoadOptions options, const Settings& settings, const BenchFlags& flags) {
    const auto wanted = [&](const char* part) {
        return flags.parts.empty() || std::ranges::find(flags.parts, part) != flags.parts.end();
    };
    ConversationBench bench{
        .options = scheduler_options(settings),
        .prompt_tokens = std::max<int64_t>(flags.pp, 1),
        .lines = flags.conversations,
        .parts = {.beside = wanted("beside"), .reuse = wanted("reuse"), .mix = wanted("mix")}};
    bench.options.interactive_slots = 0;
    bench.options.pool_tokens = 0;
    bench.options.prefix_cache_bytes = 0;
    if (options.n_ctx == 0) options.n_ctx_least = bench.prompt_tokens + k_conversation_room;
    options.steps.batch_size = std::max(bench.options.batch_size, k_beside_answers + 1);
    auto engine = load_engine(options);
    if (!engine) return engine.error();
    const ForeignCpu watch;
    const auto result = bench_conversations(**engine, bench);
    if (!result) return result.error();
    if (flags.json) {
        const nlohmann::ordered_json out = {{"conversations", to_json(*result)},
                                            {"threads", (*engine)->threads()},
                                            {"isa", (*engine)->kernels_name()},
                                            {"foreign_cpu", watch.share()}};
        write_out(json_text(out));
    } else {
        write_out(to_text(*result));
    }
    if (Status s = finish_output(); !s) return s.error();
    return 0;
}

Expected<int> bench(const ModelChoice& model, const BenchFlags& flags) {
    LoadOptions options = load_options(model);
    if (flags.conversations > 0) return bench_together(std::move(options), model.settings, flags);
    if (!flags.parallel.empty()) return bench_widths(std::move(options), flags);
    if (options.n_ctx == 0) options.n_ctx_least = std::max(flags.pp, flags.depth + 1 + flags.warm + flags.tg);
    auto engine = load_engine(options);
    if (!engine) return engine.error();
    auto result = measure(**engine, flags);
    if (!result) return result.error();
    print(**engine, flags, *result);
    if (Status s = finish_output(); !s) return s.error();
    return 0;
}

}  // namespace

Action define_bench(CLI::App& app) {
    const auto model_flags = add_model_flags(app, Use::loading);
    const auto flags = std::make_shared<BenchFlags>();
    const auto count = whole_number(0, int64_t{1} << 24);
    app.add_option("--pp", flags->pp, "tokens of the prompt; 0 leaves it out (default: 128)")
        ->transform(count);
    app.add_option("--tg", flags->tg, "tokens to generate; 0 leaves that out (default: 32)")
        ->transform(count);
    app.add_option("--depth", flags->depth, "tokens in the context before generation begins (default: 0)")
        ->transform(count);
    app.add_option("--warm", flags->warm, "tokens generated before counting begins (default: 0)")
        ->transform(count);
    app.add_option("--reps", flags->reps, "repetitions, of which the medians are printed (default: 3)")
        ->transform(whole_number(1, 1000));
    app.add_option("--limit", flags->limit,
                   "seconds after which a counted part ends; 0 is never (default: 0)")
        ->transform(real_number(0, 1e6, "seconds"));
    app.add_option("--parallel", flags->parallel,
                   "instead: answers written at once, measured for each number of a list such as 1,2,4,8")
        ->delimiter(',')
        ->check(CLI::Range(1, 256))
        ->type_name("N,N,..");
    const auto conversations = app.add_option(
        "--conversations", flags->conversations,
        "instead: what requests do to each other: a prompt of --pp tokens beside answers, a beginning "
        "that is kept, N answers of mixed lengths");
    conversations->transform(whole_number(1, 100000))->type_name("N");
    app.add_option("--parts", flags->parts, "of --conversations, these alone: beside, reuse, mix")
        ->delimiter(',')
        ->check(CLI::IsMember({"beside", "reuse", "mix"}))
        ->needs(conversations)
        ->type_name("PART,PART,..");
    app.add_flag("--json", flags->json, "print one JSON object");
    app.get_option("--ctx")->description(
        "tokens that the context has room for (default: the smaller of the model's and 8192, or what is "
        "measured where that is larger)");
    return [=] {
        return with_model(*model_flags, [&](const ModelChoice& model) { return bench(model, *flags); });
    };
}

}  // namespace ft::cli
