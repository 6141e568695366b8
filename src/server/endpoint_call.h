// The routes that answer with what a model writes, in every dialect: a body is read to requests of the
// engine, and the answer's pieces are told in the words of that dialect. Pure functions over memory; sockets
// are not known here.
//
//   body ─parse_endpoint─► EndpointCall{call, shape}      call.requests ─► engine ─► text of tokens
//   text of tokens ─AnswerReader─► AnswerPiece ─AnswerShape─► bytes for the client
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/request.h"
#include "server/api_error.h"
#include "server/openai_request.h"

namespace ft {

enum class Endpoint {
    generate,
    completions,
    chat,
    responses,
    anthropic_messages,
    ollama_chat,
    ollama_generate
};
enum class Dialect { native, openai, anthropic, ollama };
Dialect dialect_of(Endpoint endpoint);

// What stands around an answer.
struct ResponseHead {
    std::string id = {};  // parse_endpoint: letters and digits that no other answer has; "chatcmpl-" or what
                          // the dialect has there is put before them
    int64_t created = 0;  // seconds since 1970
    std::string model = {};        // the name it is served under
    std::string fingerprint = {};  // of program and model
};

// A piece of an answer, as clients see it.
struct AnswerPiece {
    enum class Kind : uint8_t { text, thinking, tool_begin, tool_arguments, tool_end };
    size_t choice = 0;  // numbered across all prompts of the call
    Kind kind = Kind::text;
    std::string text = {};     // tool_begin: the function's name; tool_arguments: a part of the JSON text
    size_t tool = 0;           // number of the call within its choice
    std::string tool_id = {};  // tool_begin: "call_…"
    std::vector<TokenLogprobs> logprobs = {};
    int64_t tokens = 0;  // that were read since the piece before it
};

struct ChoiceOutcome {
    size_t choice = 0;
    FinishReason reason = FinishReason::stop;
    bool called_tools = false;
    std::string stop_text = {};  // that ended it; "" where none did
};

// Turns the raw text of an answer's tokens into pieces: splits thinking from text, finds tool calls, holds
// back what may still become one. Whatever a model writes is some sequence of pieces, never an error; the
// pieces of a text are the same wherever it is cut, but for the cuts in text and arguments. One for each
// call. Not thread-safe; used on the connection's side, not the engine's.
class AnswerReader {
 public:
    explicit AnswerReader(const OpenAiCall& call);
    ~AnswerReader();
    AnswerReader(AnswerReader&&) noexcept;
    AnswerReader& operator=(AnswerReader&&) noexcept;

    std::vector<AnswerPiece> token(size_t choice, std::string_view text, const TokenLogprobs* logprobs);
    std::vector<AnswerPiece> finish(size_t choice, std::string_view text);  // what still waited
    ChoiceOutcome outcome(size_t choice, FinishReason reason, std::string_view stop_text) const;

 private:
    struct Choice;
    std::vector<AnswerPiece> pieces(size_t choice, std::string_view text, bool at_end);

    std::vector<Choice> choices_;
};

// How one answer is told to its client. Every function returns the bytes to send: whole SSE events or NDJSON
// lines; they may be empty. In a stream: begin once, then pieces, each choice's end after its last piece,
// done once. An error may come anywhere instead of what is left. A shape is used for a stream or for one
// whole body, not for both.
class AnswerShape {
 public:
    virtual ~AnswerShape() = default;
    virtual const char* content_type(bool stream) const = 0;
    // Before begin(), where it is known by then: tokens of the prompt that an earlier request left.
    virtual void prompt_read(int64_t /*cached_tokens*/) {}
    virtual std::string begin() = 0;
    virtual std::string piece(const AnswerPiece& piece) = 0;
    virtual std::string end(const ChoiceOutcome& outcome) = 0;
    // usage, timings, terminator. records: one for each of the call's requests.
    virtual std::string done(std::span<const RequestRecord> records) = 0;
    virtual std::string error(const ApiError& error) = 0;  // in mid-stream; ends it, in the dialect's way
    // The whole body when the client did not ask for a stream: pieces and outcomes in the order they came.
    virtual std::string whole(std::span<const AnswerPiece> pieces, std::span<const ChoiceOutcome> outcomes,
                              std::span<const RequestRecord> records) = 0;
};

struct EndpointCall {
    OpenAiCall call;  // call.requests may be empty: nothing is to be computed, begin() and done({}) or
                      // whole() at once
    std::unique_ptr<AnswerShape> shape;
    std::optional<Lane> lane;  // where the body names one; the requests have it already
};
struct ParsedEndpoint {
    std::optional<EndpointCall> call;
    ApiError error;  // where there is no call
};

// Reads a body that has been parsed as JSON. model's tokenizer must outlive the shape.
ParsedEndpoint parse_endpoint(Endpoint endpoint, const nlohmann::ordered_json& body, const ServedModel& model,
                              const ResponseHead& head);

std::string error_body(Dialect dialect, const ApiError& error);  // JSON

}  // namespace ft
