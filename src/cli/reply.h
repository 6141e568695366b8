// One reply of a loaded model to a prompt, with its text, figures and the lines that go with it.
#pragma once

#include <string>

#include "cli/answer.h"
#include "cli/answer_printer.h"
#include "cli/conversation.h"
#include "cli/run_model.h"

namespace ft::cli {

struct Reply {
    Answer answer;
    std::string text;
    std::string thinking;
    int64_t forgotten_tokens = 0;  // the oldest, which the end of the answer no longer saw (auto_evict)
    double foreign_cpu = -1;  // share of the processors that other programs used meanwhile; -1: not known
};

// For a chat, before reply_to(): where the model has recurrent layers, their state is kept where the answer
// begins. The next prompt has the same ids up to there, and then what the template makes of the answer, which
// need not be what was fed: most leave out the thinking.
void keep_beginning(RunModel& model, const Prompt& prompt);

// Streams to stdout as `style` says; Ctrl-C ends it.
Expected<Reply> reply_to(RunModel& model, const Prompt& prompt, const PrintStyle& style);

// "prompt 24 tokens, 120.3 tok/s; first token after 210 ms; answer 31 tokens, 24.1 tok/s; 12.3 GB/s read"
std::string statistics_line(const Timings& timings);

// "; loaded in 41.0 s", for the end of that line; "" where nobody waited for it.
std::string loading_text(double load_ms);

// The line above, with Figures::live the experts of this answer and of all so far by tier, and one line of
// advice where a resource newly became the limit. How long the model was loaded is said once.
void log_statistics(RunModel& model, const Reply& reply, Figures figures);

struct FullContext {
    int64_t n_ctx, n_ctx_model;
    int64_t n_prompt;         // tokens of it
    bool in_chat = false;     // /reset is at hand
    bool never_ends = false;  // nothing that the model writes ends the answer (ignore_eos)
};
// What a full context means, and of what helps that which does here.
std::string context_full_line(const FullContext& full);

// Why nothing of a whole reply was shown: it is all thinking, which `style` hides, or empty. "" where
// something was.
std::string nothing_shown_line(const Reply& reply, const PrintStyle& style);

// {"text", "finish_reason", "timings", …} in one line.
std::string reply_json(const Reply& reply, const RunModel& model);

}  // namespace ft::cli
