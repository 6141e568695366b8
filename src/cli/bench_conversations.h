// bench --conversations: what requests that run together do to each other.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "engine/scheduler.h"

namespace ft::cli {

// What is measured; a long run that others disturbed need not be made again as a whole.
struct ConversationParts {
    bool beside = true;  // a long prompt, alone and while others are written
    bool reuse = true;   // a prompt whose beginning is kept
    bool mix = true;     // answers of mixed lengths
};

struct ConversationBench {
    SchedulerOptions options;     // of all parts, but for slots and the prefix cache
    int64_t prompt_tokens = 128;  // of the long prompt
    int64_t lines = 200;          // of the mix
    ConversationParts parts = {};
};

constexpr int k_beside_answers = 4;  // that are written while the long prompt is read

struct ConversationResult {
    ConversationParts parts = {};  // that were measured; the figures of the others are 0
    // A long prompt, alone and while others are written. Gaps: between two tokens of one of the others,
    // meanwhile.
    double alone_per_second = 0, beside_per_second = 0;  // of the prompt
    double gap_median_ms = 0, gap_p99_ms = 0, gap_most_ms = 0;
    // A prompt whose beginning is kept: what it takes until its sequence has that, and until its first token.
    int64_t kept_tokens = 0;
    double reuse_ms = 0, reuse_ttft_ms = 0, first_ttft_ms = 0;
    // Answers of mixed lengths: generated tokens a second over all, and as long as there are requests for
    // every slot.
    double mix_per_second = 0, mix_full_per_second = 0;
};

// The engine was loaded for options.batch_size and k_beside_answers + 1 sequences, and a context of
// prompt_tokens + k_conversation_room.
constexpr int64_t k_conversation_room = 512;
Expected<ConversationResult> bench_conversations(Engine& engine, const ConversationBench& bench);

nlohmann::ordered_json to_json(const ConversationResult& result);
std::string to_text(const ConversationResult& result);

}  // namespace ft::cli
